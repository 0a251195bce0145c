"""Cases of cases.md on elementwise operators and copy about strides that no layout of the harness gives."""

import numpy as np
import operator_runtime as ort
import pytest
from numpy.lib.stride_tricks import as_strided


def view(values, shape, strides, start=0):
    """A view with strides in elements."""
    return as_strided(values[start:], shape, [s * values.itemsize for s in strides])


def random_view(rng, shape, output=False):
    """A view of random axis order, gaps and direction; as an input also with strides 0. Axes of 1 have any stride."""
    strides, reach = [0] * len(shape), 1
    for axis in rng.permutation(len(shape)):
        if shape[axis] <= 1:
            strides[axis] = int(rng.integers(-999, 999))
            continue
        strides[axis] = reach * int(rng.choice([1, 1, 1, 2, 3]))
        reach = strides[axis] * shape[axis]
        strides[axis] *= int(rng.choice([1, 1, -1]))
        if not output and rng.random() < 0.15:
            strides[axis] = 0
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True) if n > 1]
    start = -sum(step for step in steps if step < 0)
    values = rng.standard_normal(start + sum(step for step in steps if step > 0) + 1).astype(np.float32)
    return view(values, shape, strides, start)


def test_c27_random_strides(backend):
    """10,000 sums and copies of rank 0 to 6, any strides, against NumPy's own loops."""
    rng = np.random.default_rng(27)
    for _ in range(10_000):
        shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 5], rng.integers(0, 7)))
        out, a, b = random_view(rng, shape, output=True), random_view(rng, shape), random_view(rng, shape)
        ort.vector_add_(out, a, b, backend=backend)
        layouts = f"shape {shape}, strides {out.strides} {a.strides} {b.strides}"
        assert np.array_equal(out, a + b), layouts
        ort.copy_(out, a, backend=backend)
        assert np.array_equal(out, a), layouts


def test_c27_strided_and_broadcast(backend):
    values = np.arange(9000, dtype=np.float32)
    a = np.arange(12, dtype=np.float32).reshape(3, 4).T
    column, row = view(values, (4, 1), (7, 999)), view(values, (1, 3), (999, 2))
    assert np.array_equal(ort.vector_add(a, column, backend=backend), a + column)
    assert np.array_equal(ort.vector_add(a, row, backend=backend), a + row)


def test_c27_an_axis_of_one_does_not_stop_merging(backend):
    values = np.arange(99, dtype=np.float32)
    a, out = view(values, (2, 1, 3), (3, 77, 1)), np.empty((2, 1, 3), np.float32)
    with ort.prepare_copy(out, a, backend=backend) as prepared:
        prepared.run()
        assert prepared.kernel == "copy_contiguous"
    assert np.array_equal(out, a)


@pytest.mark.parametrize(
    "x", [np.arange(24.0).reshape(4, 6), np.minimum(np.arange(24), np.arange(24)[::-1]).reshape(4, 6)]
)
def test_c28_negative_strides(backend, x):
    x = x.astype(np.float32)
    for flipped in (x[::-1], x[:, ::-1], x[::-1, ::-1], x[1:0:-1], x[:, 1:0:-1]):
        assert np.array_equal(ort.copy(flipped, backend=backend), flipped)
        assert np.array_equal(ort.vector_add(flipped, x[:1, :1], backend=backend), flipped + x[:1, :1])
        target = np.zeros_like(x)[tuple(slice(n) for n in flipped.shape)][::-1]
        assert np.array_equal(ort.relu_(target, flipped, backend=backend), np.maximum(flipped, 0))


@pytest.mark.parametrize("op", [ort.relu_, ort.silu_, ort.copy_, ort.cast_])
def test_c29_a_partial_overlap_is_refused(backend, op):
    buffer = np.arange(68, dtype=np.float32)
    square = np.arange(25, dtype=np.float32).reshape(5, 5)
    for out, x in ((buffer[1:], buffer[:-1]), (buffer[:-1], buffer[1:]), (square, square.T), (square[:, ::-1], square)):
        before = x.copy()
        with pytest.raises(ValueError, match="overlap"):
            op(out, x, backend=backend)
        assert np.array_equal(x, before)


def test_c29_adding_the_transpose_in_place_is_refused(backend):
    a = np.arange(25, dtype=np.float32).reshape(5, 5)
    with pytest.raises(ValueError, match="overlap"):
        ort.vector_add_(a, a, a.T, backend=backend)


def test_c29_two_halves_of_one_buffer_are_apart(backend):
    both = np.arange(40, dtype=np.float32).reshape(4, 10)
    right = both[:, 5:].copy()
    assert np.array_equal(ort.copy_(both[:, :5], both[:, 5:], backend=backend), right)
