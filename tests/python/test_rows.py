"""Row operators: what does not fit a cases.py. Many rows at once, both shapes of a sum, fused against composed."""

import ml_dtypes
import numpy as np
import operator_runtime as ort
import pytest

F32, F16, BF16 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
DTYPES = pytest.mark.parametrize("dtype", [F32, F16, BF16], ids=["f32", "f16", "bf16"])


def normal(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def row_operator(op, n, dtype):
    """A function of x and the axis that gives a list of outputs."""
    gamma, beta = normal(n, dtype, 1), normal(n, dtype, 2)
    return {
        "reduce_sum": lambda x, dim: [ort.reduce_sum(x, dim=dim)],
        "softmax": lambda x, dim: [ort.softmax(x, dim=dim)],
        "layernorm": lambda x, dim: [ort.layernorm(x, gamma, beta, dim=dim)],
        "rmsnorm": lambda x, dim: [ort.rmsnorm(x, gamma, dim=dim)],
        "add_rmsnorm": lambda x, dim: ort.add_rmsnorm(x, x, gamma, dim=dim),
    }[op]


@pytest.mark.parametrize("op", ["reduce_sum", "softmax", "layernorm", "rmsnorm", "add_rmsnorm"])
@pytest.mark.parametrize("rows, width", [(65535, 8), (65536, 8), (65537, 8), (131072, 8), (65537, 768)])
def test_C05_more_rows_than_16_bits_count(op, rows, width):
    """The rows repeat every 97, so that each must have the bits of one of 97 that were computed alone."""
    run = row_operator(op, width, BF16)
    few = normal((97, width), BF16)
    alone = [run(few[r : r + 1], 1) for r in range(97)]
    first_seen = np.resize(np.arange(97), rows)
    x = few[first_seen]
    shapes = [(rows, width)] if width > 8 else [(rows, width), (1, rows, width), (rows, 1, width)]
    for shape in shapes:
        for i, got in enumerate(run(x.reshape(shape), len(shape) - 1)):
            right = np.concatenate([outs[i].reshape(1, -1) for outs in alone])
            assert got.reshape(rows, -1).tobytes() == right[first_seen].tobytes()


ROW_OPERATORS = ("reduce_sum", "softmax", "layernorm", "rmsnorm", "add_rmsnorm")


@DTYPES
@pytest.mark.parametrize("op", ROW_OPERATORS)
@pytest.mark.parametrize("n", [385, 513, 1023, 4097, 50_257])
def test_C08_rows_after_the_first_are_not_aligned(op, n, dtype):
    """Each has the bits of the same row alone at an aligned address."""
    run, x = row_operator(op, n, dtype), normal((4, n), dtype)
    together = run(x, 1)
    for r in range(4):
        for i, alone in enumerate(run(x[r : r + 1].copy(), 1)):
            assert alone.tobytes() == together[i][r : r + 1].tobytes()


@DTYPES
@pytest.mark.parametrize("op", ROW_OPERATORS)
def test_C09_narrow_rows_are_whole(op, dtype):
    """Rows of few elements, far below 0: the same in any company, and what their mean, norm or sum says."""
    for n in (1, 2, 3, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129):
        run, x = row_operator(op, n, dtype), normal((257, n), dtype) - dtype.type(1000)
        for rows in (1, 3, 257):
            for many, few in zip(run(x, 1), run(x[:rows].copy(), 1), strict=True):
                assert not np.isnan(few.astype(np.float32)).any()
                assert few.tobytes() == many[:rows].tobytes()
        if op == "softmax":
            assert np.all(abs(run(x, 1)[0].astype(np.float64).sum(1) - 1) < (1e-6 if dtype == F32 else n * 2.0**-8))


@DTYPES
@pytest.mark.parametrize("n", [300, 40])
@pytest.mark.parametrize("op", ROW_OPERATORS)
def test_C25_a_column_has_its_bits_in_every_batch_and_place(op, n, dtype):
    """As rows do (the items named "rows"): along an axis that is not contiguous. One column would be."""
    run = row_operator(op, n, dtype)
    column, others = normal((n, 1), dtype), normal((n, 1024), dtype, 5)
    right = None
    for batch in (2, 17, 33, 128, 255, 256, 257, 1023, 1024):
        for place in sorted({0, batch // 2, batch - 1}):
            x = others[:, :batch].copy()
            x[:, place : place + 1] = column
            got = [out.reshape(-1, batch)[:, place].tobytes() for out in run(x, 0)]
            right = right or got
            assert got == right, (batch, place)


@DTYPES
@pytest.mark.parametrize("op", ["softmax", "layernorm", "rmsnorm", "add_rmsnorm"])
def test_C29_in_place_at_every_length_about_a_vector(op, dtype):
    """What is done twice to the last elements shows."""
    prepare = getattr(ort, f"prepare_{op}")
    for n in range(1, 68):
        x, gamma = normal((3, n), dtype), normal(n, dtype, 1)
        fused = op == "add_rmsnorm"
        inputs = [x, x] if fused else [x]
        weights = [] if op == "softmax" else [gamma]
        apart = [np.empty_like(x) for _ in inputs]
        prepare(*apart, *inputs, *weights, dim=1).run()
        same = [x.copy() for _ in inputs]
        prepare(*same, *same, *weights, dim=1).run()
        assert [out.tobytes() for out in same] == [out.tobytes() for out in apart], n


@pytest.mark.parametrize("width", [512, 513, 2048, 3072, 4096, 5120, 6144, 7168, 8192])
def test_C11_rmsnorm_of_many_rows(width):
    """Within the bound, and the same bits five times over."""
    gamma = normal(width, F32, 1)
    for rows in (256, 512, 2048):
        x = normal((rows, width), F32, rows)
        got = ort.rmsnorm(x, gamma, eps=1e-6)
        for _ in range(4):
            assert ort.rmsnorm(x, gamma, eps=1e-6).tobytes() == got.tobytes()
        some = slice(None, None, max(1, rows // 64))  # float64 of all would take longer than all the kernels
        wide = x[some].astype(np.float64)
        reference = wide / np.sqrt((wide**2).mean(1, keepdims=True) + np.float64(np.float32(1e-6))) * gamma
        allowed = (0.5 + 4 * (np.log2(width) + 4)) * 2.0**-23 * abs(reference) + 2.0**-118
        assert np.all(abs(got[some] - reference) <= allowed)
        assert np.isfinite(got).all()


@DTYPES
@pytest.mark.parametrize("dim", [-3, -2, -1, 0, 1, 2, np.int64(-1)])
def test_a_sum_with_and_without_its_axis(dtype, dim):
    x = normal((3, 70, 5), dtype)
    without = ort.reduce_sum(x, dim=dim)
    kept = np.full([1 if d == dim % 3 else n for d, n in enumerate(x.shape)], np.nan, np.float32).astype(dtype)
    ort.reduce_sum_(kept, x, dim=dim)
    assert kept.reshape(without.shape).tobytes() == without.tobytes()


@DTYPES
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_C31_the_sum_over_an_empty_axis_is_zero(dtype, shape):
    x = np.zeros(shape, dtype)
    for dim in range(len(shape)):
        for kept in (False, True):
            out = np.full(np.sum(x.astype(np.float32), axis=dim, keepdims=kept).shape, np.nan, np.float32).astype(dtype)
            ort.reduce_sum_(out, x, dim=dim)
            assert np.all(out.astype(np.float32) == 0)
    for function in (ort.softmax, ort.layernorm, ort.rmsnorm):
        assert function(x, dim=0).shape == shape
    assert [out.shape for out in ort.add_rmsnorm(x, x, dim=0)] == [shape, shape]
    assert ort.copy(x).shape == shape and ort.relu(x).shape == shape and ort.vector_add(x, x).shape == shape
    assert ort.embedding(np.zeros((4, 3), dtype), np.zeros(shape, np.int64)).shape == (*shape, 3)
    assert np.all(ort.softmax(np.zeros((2, 2), np.float32), dim=1) == 0.5)  # and the next call is clean


@DTYPES
@pytest.mark.parametrize("shape, dim", [((5, 768), 1), ((3, 20000), 1), ((70, 33), 0), ((600, 65), 0), ((9, 40), 1)])
def test_fused_has_the_bits_of_composed(dtype, shape, dim):
    x, residual, gamma = normal(shape, dtype), normal(shape, dtype, 3), normal(shape[dim], dtype, 1)
    out, total = ort.add_rmsnorm(x, residual, gamma, dim=dim)
    assert total.tobytes() == ort.vector_add(x, residual).tobytes()
    assert out.tobytes() == ort.rmsnorm(total, gamma, dim=dim).tobytes()
    apart = np.repeat(x, 2, axis=dim)[(slice(None),) * dim + (slice(None, None, 2),)]  # the same values, strided
    again, _ = ort.add_rmsnorm(apart, residual, gamma, dim=dim)
    assert again.tobytes() == out.tobytes()


@DTYPES
@pytest.mark.parametrize("shape, dim", [((5, 768), 1), ((2, 20000), 1), ((600, 65), 0), ((9, 40), 1)])
def test_both_outputs_in_place_either_way_round(dtype, shape, dim):
    gamma = normal(shape[dim], dtype, 1)
    x, residual = normal(shape, dtype), normal(shape, dtype, 3)
    out, total = ort.add_rmsnorm(x, residual, gamma, dim=dim)
    for crossed in (False, True):
        a, b = x.copy(), residual.copy()
        outs = [b, a] if crossed else [a, b]
        ort.add_rmsnorm_(*outs, a, b, gamma, dim=dim)
        assert outs[0].tobytes() == out.tobytes() and outs[1].tobytes() == total.tobytes()


@DTYPES
@pytest.mark.parametrize("stride", [1, 2, 0, -1, -3])
@pytest.mark.parametrize("length, dim", [(40, 1), (5000, 1), (300, 0)])
def test_weights_of_any_stride(dtype, stride, length, dim):
    """gamma and beta are what they are element by element, however they lie."""
    x = normal((3, length) if dim else (length, 3), dtype)
    for weight_dtype in {dtype, F32}:
        base = normal(3 * length, weight_dtype, 1)
        weight = np.lib.stride_tricks.as_strided(
            base[-1:] if stride < 0 else base, (length,), (stride * base.itemsize,)
        )
        plain = weight.copy()
        got = ort.layernorm(x, weight, weight, dim=dim)
        assert got.tobytes() == ort.layernorm(x, plain, plain, dim=dim).tobytes()
        assert ort.rmsnorm(x, weight, dim=dim).tobytes() == ort.rmsnorm(x, plain, dim=dim).tobytes()


@DTYPES
@pytest.mark.parametrize("length", [300, 600, 4100])
def test_a_row_has_its_bits_whatever_lies_beside_it(dtype, length):
    """Columns and gathered columns add in one order: rows that are neighbours in memory, and rows that are not."""
    x = normal((length, 64), dtype)
    apart = np.zeros((length, 128), dtype)
    apart[:, ::2] = x
    for op in ("reduce_sum", "softmax", "layernorm", "rmsnorm", "add_rmsnorm"):
        run = row_operator(op, length, dtype)
        for together, separate in zip(run(x, 0), run(apart[:, ::2], 0), strict=True):
            assert together.tobytes() == separate.tobytes(), op
