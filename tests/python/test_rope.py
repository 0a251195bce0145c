"""rope: the table builder's numbers, and tables and positions used together."""

import ml_dtypes
import numpy as np
import operator_runtime as ort
import pytest

F32, BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)


def frequencies(rotary_dim, theta):
    return np.float64(theta) ** (-np.arange(0, rotary_dim, 2) / rotary_dim)


def within_bound(table, exact, angles):
    half_ulp = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64) / 2
    return np.all(np.abs(table - exact) <= half_ulp + 2.0**-48 * np.abs(angles))


@pytest.mark.parametrize("rotary_dim, theta", [(32, 10000.0), (128, 10000.0), (128, 500000.0), (2, 10000.0)])
def test_C22_tables_are_float64_angles_rounded_once(rotary_dim, theta):
    cos, sin = ort.rope_table(131_072, rotary_dim, theta)
    positions = np.array([0, 1, 257, 2000, 2049, 65_537, 131_071])
    angles = positions[:, None] * frequencies(rotary_dim, theta)
    assert within_bound(cos[positions], np.cos(angles), angles)
    assert within_bound(sin[positions], np.sin(angles), angles)


def test_C22_the_angle_as_reported():
    cos, sin = ort.rope_table(2000, 32)
    angle = np.arctan2(np.float64(sin[1857, 1]), np.float64(cos[1857, 1]))
    assert abs((angle - 1044.2678 + np.pi) % (2 * np.pi) - np.pi) < 1e-4


@pytest.mark.parametrize("dtype", [F32, BF16], ids=["f32", "bf16"])
@pytest.mark.parametrize("mode", ["interleaved", "half"])
def test_C22_far_positions_stay_apart(mode, dtype):
    """Half-precision positions or angles would turn these by radians too much, or alike."""
    cos, sin = ort.rope_table(131_072, 32)
    positions = np.array([0, 256, 257, 2048, 2049, 65_537, 131_071])
    x = np.random.default_rng(0).standard_normal((len(positions), 2, 32)).astype(dtype)
    got = ort.rope(x, cos, sin, positions, mode).astype(np.float64)
    wide, angles = x.astype(np.float64), positions[:, None, None] * frequencies(32, 10000.0)
    j0, j1 = (np.arange(0, 32, 2), np.arange(1, 32, 2)) if mode == "interleaved" else (np.arange(16), np.arange(16, 32))
    right = np.empty_like(wide)
    right[..., j0] = wide[..., j0] * np.cos(angles) - wide[..., j1] * np.sin(angles)
    right[..., j1] = wide[..., j1] * np.cos(angles) + wide[..., j0] * np.sin(angles)
    np.testing.assert_allclose(got, right, rtol=2.0**-8 if dtype == BF16 else 0, atol=1e-6)


@pytest.mark.parametrize("mode", ["interleaved", "half"])
@pytest.mark.parametrize("tokens", [65_535, 65_536, 65_537])
def test_C05_more_tokens_than_16_bits_count(mode, tokens):
    """Tokens repeat every 97, each with the bits that it has alone."""
    cos, sin = ort.rope_table(97, 8)
    few = np.random.default_rng(0).standard_normal((97, 2, 8)).astype(np.float32)
    alone = np.concatenate([ort.rope(few[t : t + 1], cos, sin, np.array([t]), mode) for t in range(97)])
    which = np.resize(np.arange(97), tokens)
    assert ort.rope(few[which], cos, sin, which, mode).tobytes() == alone[which].tobytes()


def test_llama3_scaling_by_its_published_formula():
    scaling = dict(kind="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position=8192)
    right = []
    for f in frequencies(128, 500000.0):
        wavelength = 2 * np.pi / f
        if wavelength < 8192 / 4.0:
            right.append(f)
        elif wavelength > 8192 / 1.0:
            right.append(f / 8.0)
        else:
            smooth = (8192 / wavelength - 1.0) / (4.0 - 1.0)
            right.append((1 - smooth) * f / 8.0 + smooth * f)
    angles = np.arange(0, 4000, 37)[:, None] * np.array(right)
    cos, sin = ort.rope_table(4000, 128, 500000.0, scaling)
    assert within_bound(cos[::37][: len(angles)], np.cos(angles), angles)
    assert within_bound(sin[::37][: len(angles)], np.sin(angles), angles)


def test_q_and_k_of_a_fused_projection_in_one_call():
    """[tokens, q, k and v heads, head_dim]: the first two parts turn in place, v stays."""
    cos, sin = ort.rope_table(64, 16)
    fused = np.random.default_rng(0).standard_normal((10, 4 + 2 + 2, 16)).astype(np.float32)
    before, positions = fused.copy(), np.arange(10)[::-1]
    turned = fused[:, :6]
    ort.rope_(turned, turned, cos, sin, positions, "half")
    np.testing.assert_array_equal(fused[:, :6], ort.rope(before[:, :6].copy(), cos, sin, positions, "half"))
    np.testing.assert_array_equal(fused[:, 6:], before[:, 6:])
