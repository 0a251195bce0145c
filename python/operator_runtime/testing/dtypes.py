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
BLOCK = 1 << 15  # elements taken at a time: the temporaries stay in the cache
LARGEST = {"f32": float(np.finfo(np.float32).max), "f16": 65504.0, "bf16": float(ml_dtypes.finfo("bfloat16").max)}


def name_of(dtype):
    """The name of a NumPy dtype."""
    return next(name for name, known in NUMPY.items() if known == dtype)


def rounded(values, dtype):
    """The values as an array of the dtype, each rounded once, to nearest even."""
    values = np.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype != "bf16":
            return values.astype(NUMPY[dtype])
        result = np.empty(values.shape, NUMPY["bf16"])
        flat, wide = result.reshape(-1), values.astype(np.float64, copy=False).reshape(-1)
        for begin in range(0, wide.size, BLOCK):
            flat[begin : begin + BLOCK] = to_odd(wide[begin : begin + BLOCK]).astype(NUMPY["bf16"])
    return result


def to_odd(wide):
    """float64 as float32, inexact values to the odd one of their neighbours.

    ml_dtypes goes from float64 to bfloat16 through float32, which rounds twice; like this the second rounding sees on
    which side of a tie the value was.
    """
    single = wide.astype(np.float32)
    back = single.astype(np.float64)
    bits = single.view(np.uint32)
    bits -= abs(back) > abs(wide)  # one step toward zero, infinity to the largest
    bits |= (back != wide) & np.isfinite(wide)
    return single


def round_to(values, dtype):
    """Float64 values rounded to the dtype, as float64 again."""
    return rounded(values, dtype).astype(np.float64)


def half_ulp(values, dtype):
    """Half the distance between the dtype's neighbours at each float64 value (of infinity and NaN: some number)."""
    digits, lowest = _FORMAT[dtype]
    biased = np.asarray(values, np.float64).view(np.int64) >> 52 & 0x7FF  # the exponent, plus 1023; 0 for 0
    return ((np.maximum(biased, lowest + 1023) - digits) << 52).view(np.float64)


def overflow_threshold(dtype):
    """The smallest magnitude that rounds to infinity."""
    return LARGEST[dtype] + float(half_ulp(np.float64(LARGEST[dtype]), dtype))
