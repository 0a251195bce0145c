"""The dtypes by name, as NumPy types, and the arithmetic of rounding to them."""

import ml_dtypes
import numpy as np

NUMPY = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}
FLOATS = ("f32", "f16", "bf16")

# Of each float: bits of the significand with the hidden one, smallest normal exponent, largest finite value.
_FORMAT = {"f32": (24, -126), "f16": (11, -14), "bf16": (8, -126)}
LARGEST = {"f32": float(np.finfo(np.float32).max), "f16": 65504.0, "bf16": float(ml_dtypes.finfo("bfloat16").max)}


def name_of(dtype):
    """The name of a NumPy dtype."""
    return next(name for name, known in NUMPY.items() if known == dtype)


def rounded(values, dtype):
    """The values as an array of the dtype, each rounded once, to nearest even."""
    values = np.asarray(values)
    if dtype != "bf16":
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(NUMPY[dtype])
    # ml_dtypes goes from float64 through float32, which rounds twice: the first step here rounds to odd, so that the
    # second sees on which side of a tie the value was.
    wide = np.asarray(values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        single = wide.astype(np.float32)
        back = single.astype(np.float64)
        toward_zero = np.where(abs(back) > abs(wide), np.nextafter(single, np.float32(0)), single)
    bits = toward_zero.view(np.uint32) | ((back != wide) & np.isfinite(wide)).astype(np.uint32)
    return np.asarray(bits.view(np.float32).astype(NUMPY["bf16"])).reshape(values.shape)


def round_to(values, dtype):
    """Float64 values rounded to the dtype, as float64 again."""
    return rounded(values, dtype).astype(np.float64)


def half_ulp(values, dtype):
    """Half the distance between the dtype's neighbours at each float64 value."""
    digits, lowest = _FORMAT[dtype]
    with np.errstate(invalid="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))
        exponent = np.where(values == 0, lowest, exponent)
    return np.ldexp(0.5, np.maximum(exponent - 1, lowest) - (digits - 1))


def overflow_threshold(dtype):
    """The smallest magnitude that rounds to infinity."""
    return LARGEST[dtype] + float(half_ulp(np.float64(LARGEST[dtype]), dtype))
