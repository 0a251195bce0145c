"""Tensors past 2^31 and 2^32 elements and bytes: C01 to C03 of docs/cases.md and the same on every operator.

`./dev test --large tests/python/test_large.py`. Inputs are zeros that nobody has written, which take no memory, but for
the few rows that tell. The kind at little cost, on every operator, dtype and operand: the items named "far".
"""

import ml_dtypes
import numpy as np
import operator_runtime as ort
import pytest

F32, F16, BF16 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
WRITTEN = 2  # last rows that hold something


def telling(shape, dtype):
    """Zeros, but for the last rows."""
    x = np.zeros(shape, dtype)
    last = x[-WRITTEN:]
    last[...] = (np.arange(last.size) % 7).reshape(last.shape)
    return x


def same_rows(got, right):
    """The last rows, the first and one at the middle (of zeros) have the bits of the small call's."""
    n = len(got)
    return (
        got[-WRITTEN:].tobytes() == right[1:].tobytes()
        and got[:1].tobytes() == right[:1].tobytes()
        and got[n // 2 : n // 2 + 1].tobytes() == right[:1].tobytes()
    )


def few_rows(x):
    """A row of zeros and the last ones."""
    return np.concatenate([x[:1], x[-WRITTEN:]])


IN_PLACE = {
    "softmax": lambda x: [ort.softmax_(x, x, dim=-1)],
    "layernorm": lambda x: [ort.layernorm_(x, x, dim=-1)],
    "rmsnorm": lambda x: [ort.rmsnorm_(x, x, dim=-1)],
}


@pytest.mark.large(5)
@pytest.mark.parametrize("op", IN_PLACE)
def test_C01_a_row_past_2_to_the_31_elements(op):
    """Row 2,097,152 of 1024 is the first whose offset 31 bits do not hold."""
    x = telling((2_097_153, 1024), F16)
    (right,) = IN_PLACE[op](few_rows(x))
    (got,) = IN_PLACE[op](x)
    assert same_rows(got, right)


@pytest.mark.large(9)
def test_C01_add_rmsnorm_past_2_to_the_31_elements():
    x, residual = telling((2_097_153, 1024), F16), telling((2_097_153, 1024), F16)
    right = ort.add_rmsnorm(few_rows(x), few_rows(residual))
    ort.add_rmsnorm_(x, residual, x, residual)
    assert same_rows(x, right[0]) and same_rows(residual, right[1])


@pytest.mark.large(1)
@pytest.mark.parametrize("shape", [(2_097_153, 1024), (4_194_305, 1024)])
def test_C01_reduce_sum_past_2_to_the_31_and_32_elements(shape):
    x = telling(shape, F16)
    assert same_rows(ort.reduce_sum(x, dim=1), ort.reduce_sum(few_rows(x), dim=1))
    columns = ort.reduce_sum(x, dim=0)
    assert columns.tobytes() == x[-WRITTEN:].astype(np.float32).sum(0).astype(F16).tobytes()


@pytest.mark.parametrize(
    "width, tokens",
    [
        pytest.param(17_408, 61_682, marks=pytest.mark.large(3), id="signed"),
        pytest.param(14_336, 149_798, marks=pytest.mark.large(5), id="unsigned"),
    ],
)
@pytest.mark.parametrize("op", ["silu_and_mul", "gelu_and_mul"])
def test_C02_the_last_token_times_the_width(op, width, tokens):
    """tokens * 2 * width just passes 2^31, and 2^32."""
    run = ort.silu_and_mul if op == "silu_and_mul" else lambda x: ort.gelu_and_mul(x, "tanh")
    x = telling((tokens, 2 * width), BF16)
    assert same_rows(run(x), run(few_rows(x)))


FLAT = {
    "copy": lambda out, x: ort.copy_(out, x),
    "cast": lambda out, x: ort.cast_(out, x),
    "relu": lambda out, x: ort.relu_(out, x),
    "silu": lambda out, x: ort.silu_(out, x),
    "gelu": lambda out, x: ort.gelu_(out, x, "none"),
    "vector_add": lambda out, x: ort.vector_add_(out, x, x),
    "mul": lambda out, x: ort.mul_(out, x, x),
}


@pytest.mark.large(5)
@pytest.mark.parametrize("n", [2**30 - 4096, 2**30 + 4096])
@pytest.mark.parametrize("op", FLAT)
def test_C03_bytes_past_2_to_the_32(op, n):
    """As many elements fit 31 bits."""
    x = np.zeros(n, F32)
    x[-8192:] = np.resize([-1, 2], 8192)
    out = np.empty_like(x) if op == "copy" else x  # onto itself a copy has nothing to do
    right = FLAT[op](np.empty(8192, F32), x[-8192:].copy())
    FLAT[op](out, x)
    assert out[-8192:].tobytes() == right.tobytes()
    assert not out[0] and not out[n // 2]


@pytest.mark.large(5)
@pytest.mark.parametrize("op", FLAT)
def test_C03_2_to_the_31_elements(op):
    x = telling((262_144, 8192), F16)
    out = np.empty_like(x) if op == "copy" else x
    right = FLAT[op](np.empty((3, 8192), F16), few_rows(x))
    FLAT[op](out, x)
    assert same_rows(out, right)


@pytest.mark.large(5)
def test_C01_embedding_past_2_to_the_31_elements():
    """Of the table and of the result."""
    table = telling((2_097_153, 1024), F16)
    ids = np.full(2_097_153, 2_097_152, np.int32)
    ids[:-WRITTEN] = 7
    got = ort.embedding(table, ids)
    assert got[-1].tobytes() == table[-1].tobytes() and not got[0].any() and not got[-WRITTEN - 1].any()


@pytest.mark.large(5)
@pytest.mark.parametrize("mode", ["interleaved", "half"])
def test_C01_rope_past_2_to_the_31_elements(mode):
    x, positions = telling((2_097_153, 8, 128), F16), np.arange(2_097_153, dtype=np.int32) % 512
    cos, sin = ort.rope_table(512, 128)
    few = np.concatenate([positions[:1], positions[-WRITTEN:]])
    right = ort.rope(few_rows(x), cos, sin, few, mode)
    ort.rope_(x, x, cos, sin, positions, mode)
    assert same_rows(x, right)


@pytest.mark.large(14)
@pytest.mark.parametrize("algorithm", ["naive", "tiled", "auto"])
def test_C01_matmul_past_2_to_the_31_elements(algorithm):
    """Of the result, by an outer product."""
    a, b = telling((65_537, 1), F16), np.ones((1, 32_768), F16)
    got = ort.matmul(a, b, algorithm=algorithm)
    assert same_rows(got, ort.matmul(few_rows(a), b, algorithm=algorithm))
