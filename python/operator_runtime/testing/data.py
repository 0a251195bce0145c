"""What generated tensors hold. Each is a function (rng, shape) -> float64 values; the harness rounds to the dtype."""

import numpy as np


def normal(rng, shape):
    """N(0, 1)."""
    return rng.standard_normal(shape)


def uniform(rng, shape):
    """U(0, 1): one-signed, so that sums grow and a chain of adds shows."""
    return rng.random(shape)


def constant(value):
    """The same everywhere. 0.1 over 4096 elements shows a mean or variance that drifts."""

    def same(rng, shape):
        return np.full(shape, float(value))

    same.__name__ = f"constant_{value}"
    return same


def around(mean):
    """mean + N(0, 1). 1000 shows E[x^2] - E[x]^2."""

    def shifted(rng, shape):
        return mean + rng.standard_normal(shape)

    shifted.__name__ = f"around_{mean}"
    return shifted


def dense(reach):
    """Evenly spread over +-reach, shuffled. 14 covers the tails of gelu and silu, where 1 + erf cancels."""

    def spread(rng, shape):
        count = int(np.prod(shape, dtype=np.int64))
        values = rng.uniform(-reach, reach, 1) if count == 1 else np.linspace(-reach, reach, count)
        rng.shuffle(values)
        return values.reshape(shape)

    spread.__name__ = f"dense_{reach}"
    return spread


def integers(low, high):
    """Whole numbers from low to high - 1: small ones make sums and products exact."""

    def whole(rng, shape):
        return rng.integers(low, high, shape).astype(np.float64)

    whole.__name__ = f"integers_{low}_{high}"
    return whole


def signed_log(rng, shape):
    """Of either sign, magnitudes spread evenly over 2^-20 to 2^6."""
    return rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.uniform(-20, 6, shape)
