"""Elementwise operators and copy on strides that no layout of the harness gives (docs/cases.md)."""

import itertools

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
    rows = (ort.reduce_sum, ort.softmax, ort.layernorm, ort.rmsnorm)
    for flipped in (x[::-1], x[:, ::-1], x[::-1, ::-1], x[1:0:-1], x[:, 1:0:-1]):
        assert np.array_equal(ort.copy(flipped, backend=backend), flipped)
        assert np.array_equal(ort.vector_add(flipped, x[:1, :1], backend=backend), flipped + x[:1, :1])
        for dim, op in itertools.product((0, 1), rows):
            copied = op(flipped.copy(), dim=dim, backend=backend)
            np.testing.assert_allclose(op(flipped, dim=dim, backend=backend), copied, rtol=1e-6)
        product = ort.matmul(flipped, flipped.T, algorithm="tiled", backend=backend)
        assert np.array_equal(product, flipped @ flipped.T)
        target = np.zeros_like(x)[tuple(slice(n) for n in flipped.shape)][::-1]
        assert np.array_equal(ort.relu_(target, flipped, backend=backend), np.maximum(flipped, 0))


ONE_INPUT = {
    "copy": ort.copy_,
    "cast": ort.cast_,
    "relu": ort.relu_,
    "silu": ort.silu_,
    "gelu": lambda out, x, **more: ort.gelu_(out, x, "tanh", **more),
    "vector_add": lambda out, x, **more: ort.vector_add_(out, x, x, **more),
    "mul": lambda out, x, **more: ort.mul_(out, x, x, **more),
}


@pytest.mark.parametrize("op", ONE_INPUT.values(), ids=ONE_INPUT)
def test_c04_outer_axes_of_more_than_16_bits_count(backend, op):
    """Small rows, very many of them, in order, turned round and from one row: as row by row."""
    few = np.random.default_rng(4).standard_normal((13, 8), np.float32)
    each = np.empty_like(few)
    for row, out in zip(few, each, strict=True):
        op(out, row, backend=backend)
    which = np.resize(np.arange(13), 65_537)
    many, right = few[which], each[which]
    out = np.empty_like(many)
    assert np.array_equal(op(out, many, backend=backend), right)
    assert np.array_equal(op(out, few[5], backend=backend), np.broadcast_to(each[5], out.shape))
    turned, out = np.empty((8, 65_537), np.float32), np.empty((8, 65_537), np.float32)
    turned[...] = many.T
    assert np.array_equal(op(out.T, turned.T, backend=backend), right)
    # Axes in the order 0, 2, 1, 3, the outer two 300 by 301.
    deep = few[np.resize(np.arange(13), 300 * 301)].reshape(300, 301, 2, 4)
    apart = np.empty((300, 2, 301, 4), np.float32).transpose(0, 2, 1, 3)
    apart[...] = deep
    out = np.empty(deep.shape, np.float32)
    right = each[np.resize(np.arange(13), 300 * 301)].reshape(deep.shape)
    assert np.array_equal(op(out, apart, backend=backend), right)


@pytest.mark.parametrize("op", ONE_INPUT.values(), ids=ONE_INPUT)
def test_c29_exactly_the_input_is_in_place(backend, op):
    """Once and no more often, at every length about a vector; an axis of 1 more or less is no other memory."""
    x = np.random.default_rng(29).standard_normal(67).astype(np.float32)
    for n in range(1, 68):
        right = op(np.empty(n, np.float32), x[:n], backend=backend)
        for out_shape, in_shape in (((n,), (n,)), ((1, n), (n,)), ((1, n), (1, n)), ((n, 1), (n, 1))):
            buffer = x[:n].copy()
            op(buffer.reshape(out_shape), buffer.reshape(in_shape), backend=backend)
            assert np.array_equal(buffer, right), (out_shape, in_shape)


def test_c29_the_same_memory_read_otherwise_is_refused(backend):
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
    for out, source in ((x, x[0].T), (x, x[0, 0]), (x[:, :, :2], x[0, :, ::2])):
        with pytest.raises(ValueError, match="exactly the memory of"):
            ort.relu_(out, source, backend=backend)
    with pytest.raises(ValueError, match="overlap"):
        ort.cast_(x.view(np.float16)[..., :4], x, backend=backend)


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
