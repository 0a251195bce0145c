"""The largest absolute errors that an earlier library published for its kernels, on the inputs it published them for.

oprt must be no worse: |got - reference| <= figure + half a unit in the last place of the output. The reference is
float64 NumPy on the inputs as rounded to the dtype.
"""

import math

import ml_dtypes
import numpy as np
import operator_runtime as ort
import pytest

F32, BF16 = np.float32, ml_dtypes.bfloat16
EPS = 1e-5


def sequence(count, period, centre, step, dtype, offset=0.0):
    return (((np.arange(count) % period) - centre) * step + offset).astype(dtype)


def half_ulp(values, dtype):
    bits = 7 if dtype == BF16 else 23
    exponent = np.floor(np.log2(np.maximum(np.abs(values), 2.0**-126)))
    return 2.0 ** (exponent - bits - 1)


def check(got, reference, figure):
    error = np.abs(got.astype(np.float64) - reference)
    assert np.all(error <= figure + half_ulp(reference, got.dtype)), (
        f"largest error {error.max():.3g}, allowed {figure}"
    )


@pytest.mark.parametrize("dtype, figure", [(F32, 7.2e-7), (BF16, 7.0e-3)], ids=["f32", "bf16"])
def test_rmsnorm(dtype, figure):
    x = sequence(4 * 768, 17, 8, 0.1, dtype).reshape(4, 768)
    gamma = (0.5 + (np.arange(768) % 3) * 0.2).astype(dtype)
    wide = x.astype(np.float64)
    reference = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + EPS) * gamma.astype(np.float64)
    check(ort.rmsnorm(x, gamma, eps=EPS), reference, figure)


def test_layernorm():
    x = sequence(4 * 768, 17, 8, 0.1, F32).reshape(4, 768)
    gamma = (0.8 + (np.arange(768) % 5) * 0.1).astype(F32)
    beta = sequence(768, 7, 3, 0.01, F32)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    reference = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPS) * gamma + beta
    check(ort.layernorm(x, gamma, beta, eps=EPS), reference, 1.7e-6)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype, figure", [(F32, 3.0e-8), (BF16, 2.4e-3)], ids=["f32", "bf16"])
def test_gelu(dtype, figure, approximate):
    x = sequence(10_000, 17, 8, 0.1, dtype)
    wide = x.astype(np.float64)
    if approximate == "none":
        reference = np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in wide])
    else:
        reference = wide / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    check(ort.gelu(x, approximate), reference, figure)


def test_silu():
    x = sequence(10_000, 17, 8, 0.1, F32)
    wide = x.astype(np.float64)
    check(ort.silu(x), wide / (1 + np.exp(-wide)), 1.5e-8)


@pytest.mark.parametrize("offset, figure", [(0.0, 1.4e-9), (1000.0, 1.5e-8)])
def test_softmax(offset, figure):
    x = sequence(8 * 256, 17, 8, 0.1, F32, offset).reshape(8, 256)
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    check(ort.softmax(x, dim=-1), e / e.sum(-1, keepdims=True), figure)


@pytest.mark.parametrize("mode", ["interleaved", "half"])
def test_rope(mode):
    x = sequence(4 * 2 * 8, 13, 6, 0.1, F32).reshape(4, 2, 8)
    cos, sin = ort.rope_table(4, 8)
    got = ort.rope(x, cos, sin, np.arange(4), mode)
    angle = np.arange(4)[:, None, None] * 10000.0 ** (-np.arange(0, 8, 2) / 8)
    wide = x.astype(np.float64)
    first, second = (wide[..., 0::2], wide[..., 1::2]) if mode == "interleaved" else (wide[..., :4], wide[..., 4:])
    rotated = first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle)
    reference = np.stack(rotated, -1).reshape(x.shape) if mode == "interleaved" else np.concatenate(rotated, -1)
    check(got, reference, 6.0e-8)
