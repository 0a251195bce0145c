"""rope_table: what Python adds to the C builder, whose numbers tests of rope itself check."""

import numpy as np
import operator_runtime as oprt
import pytest

LLAMA3 = {
    "kind": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position": 8192,
}


def test_the_tables_are_float32_arrays():
    for table in oprt.rope_table(5, 8):
        assert (table.shape, table.dtype) == ((5, 4), np.float32)
    cos, sin = oprt.rope_table(5, 8, 100.0)
    angles = np.arange(5)[:, None] * 100.0 ** (-np.arange(0, 8, 2) / 8)
    np.testing.assert_allclose(cos, np.cos(angles), atol=1e-7)
    np.testing.assert_allclose(sin, np.sin(angles), atol=1e-7)
    assert oprt.rope_table(0, 8)[0].shape == (0, 4)


def test_scaling_reaches_the_builder():
    plain = oprt.rope_table(64, 8)[1]
    half = oprt.rope_table(64, 8, scaling={"kind": "linear", "factor": 2.0})[1]
    np.testing.assert_array_equal(half[::2], plain[:32])
    llama = oprt.rope_table(64, 64, 500000.0, LLAMA3)[1]
    unscaled = oprt.rope_table(64, 64, 500000.0)[1]
    np.testing.assert_array_equal(llama[:, 0], unscaled[:, 0])  # fast pairs stay
    np.testing.assert_allclose(llama[::8, -1], unscaled[:8, -1], rtol=1e-6)  # the slowest turn at an eighth


@pytest.mark.parametrize(
    "arguments, says",
    [
        ((-1, 8), "max_position: expected 0 or more"),
        ((4, 7), "rotary_dim: expected an even"),
        (("x", 8), "max_position: expected an integer, got str"),
        ((4, 8, None), "theta: expected a number, got NoneType"),
        ((4, 8, -1.0), "theta: expected a finite number above 0, got -1$"),
        ((4, 8, -1e-9), "theta: expected a finite number above 0, got -1e-09$"),
        ((4, 8, 1e4, 3), "scaling: expected a mapping or None, got int"),
        ((4, 8, 1e4, {}), "scaling kind: expected one of 'none', 'linear', 'llama3', got None"),
        ((4, 8, 1e4, {"kind": "yarn"}), "scaling kind: .* got 'yarn'"),
        ((4, 8, 1e4, {"kind": "linear"}), "factor: expected"),
        ((4, 8, 1e4, {"kind": "linear", "factor": "x"}), "factor: expected a number, got str"),
        ((4, 8, 1e4, {"kind": "linear", "factor": 2.0, "beta": 1}), "scaling: expected kind, factor, .* got beta"),
    ],
)
def test_wrong_calls(arguments, says):
    with pytest.raises(oprt.InvalidArgumentError, match=f"^rope_table: {says}"):
        oprt.rope_table(*arguments)
