"""matmul: act(a @ b + bias), accumulated in f32, rounded once.

Contract: oprt/ops/matmul/matmul.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, broadcast_shape, choice, empty, finish

__all__ = ["matmul", "matmul_", "prepare_matmul"]

_matmul = _native.operator("matmul")

_ALGORITHMS = {"auto": 0, "naive": 1, "tiled": 2, "library": 3}  # oprt_matmul_t
_ACTIVATIONS = {None: 0, "relu": 1, "gelu_erf": 2, "gelu_tanh": 3, "silu": 4}  # oprt_activation_t


def matmul(
    a: T,
    b: T,
    bias: T | None = None,
    activation: str | None = None,
    algorithm: str = "auto",
    allow_tf32: bool = False,
    backend: BackendName = None,
) -> T:
    """act(a @ b + bias): a is [..., M, K], b [..., K, N], the axes before broadcast; bias is [N].

    activation is None, "relu", "gelu_erf", "gelu_tanh" or "silu"; algorithm "auto", "naive", "tiled" or "library".
    """
    out = empty(_matmul, _shape, a, b)
    return finish(_matmul(backend, out, a, b, bias, *_options(algorithm, activation, allow_tf32)))


def matmul_(
    out: T,
    a: T,
    b: T,
    bias: T | None = None,
    activation: str | None = None,
    algorithm: str = "auto",
    allow_tf32: bool = False,
    backend: BackendName = None,
) -> T:
    """matmul into out, which shares no memory with the inputs. Returns out."""
    return _matmul(backend, out, a, b, bias, *_options(algorithm, activation, allow_tf32))


def prepare_matmul(
    out: T,
    a: T,
    b: T,
    bias: T | None = None,
    activation: str | None = None,
    algorithm: str = "auto",
    allow_tf32: bool = False,
    backend: BackendName = None,
) -> PreparedOp:
    """matmul_ checked once, to be run many times."""
    return _matmul.prepare(backend, out, a, b, bias, *_options(algorithm, activation, allow_tf32))


def _options(algorithm, activation, allow_tf32):
    return (
        choice("matmul", "algorithm", _ALGORITHMS, algorithm),
        choice("matmul", "activation", _ACTIVATIONS, activation),
        allow_tf32,
    )


def _shape(a, b):
    if len(a) < 2 or len(b) < 2:
        return a
    return (*broadcast_shape(a[:-2], b[:-2]), a[-2], b[-1])
