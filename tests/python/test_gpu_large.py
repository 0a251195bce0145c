"""C01 to C03 on a GPU's own memory, with strides, and C05: `pytest --large --backend nvidia`.

testing/far.py's calls, whose operands step 2^31 + 8 elements along an axis. Here the memory is there: a small tensor is
spread over gigabytes by copy, which tests/gpu/large_test.cpp checks for itself, and gathered again the same way.
"""

import functools

import numpy as np
import operator_runtime as ort
import pytest
from operator_runtime import _native
from operator_runtime.testing import FLOATS
from operator_runtime.testing.call import Package, build, judge
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.far import INDICES, LENGTHS, STEP, FarDraw
from operator_runtime.testing.layout import dense_strides, filled
from operator_runtime.testing.load import suites
from operator_runtime.testing.rows import batch_of

MOST_BYTES = 60 << 30  # of all operands of one call
OUT_OF_MEMORY = 6  # of oprt_status_t


@pytest.fixture(autouse=True)
def gpu(backend):
    if backend != "nvidia":
        pytest.skip("needs --backend nvidia")


class Placed:
    """An array on the device: its own elements together, and a view of them, far apart where an axis is given."""

    def __init__(self, array, dtype, axis=None):
        self.array = array
        self.strides = dense_strides(array.shape)
        self.dense = _native.DeviceBuffer(max(array.nbytes, 1))
        self.near = self.dense.view(dtype, array.shape, self.strides, 0)
        self.view = self.near
        self.axis = axis
        if axis is not None:
            self.strides[axis] = STEP
            self.far = _native.DeviceBuffer(far_bytes(array, axis))
            self.view = self.far.view(dtype, array.shape, self.strides, 0)
        self.dense.copy_from(array)
        if axis is not None:
            ort.copy_(self.view, self.near)

    def fetch(self):
        if self.axis is not None:
            ort.copy_(self.near, self.view)
        self.dense.copy_to(self.array)
        return self.array


def far_bytes(array, axis):
    strides = dense_strides(array.shape)
    strides[axis] = STEP
    last = sum((length - 1) * stride for length, stride in zip(array.shape, strides, strict=True))
    return (last + 1) * array.itemsize


def run(operator, live, moved, axis):
    """The call with some operands far apart; its outputs in `live`."""
    placed = [p and Placed(p.view.copy(), p.dtype, axis if i in moved else None)
              for i, p in enumerate([*live.outs, *live.ins])]  # fmt: skip
    views = [p and p.view for p in placed]
    outs, ins = views[: len(live.outs)], views[len(live.outs) :]
    prepare = functools.partial(getattr(ort, f"prepare_{operator.name}"), backend="nvidia", **live.params)
    with prepare(*outs, *ins) as prepared:
        prepared.run()
    for p, out in zip(placed, live.outs, strict=False):
        out.view[...] = p.fetch()


@pytest.mark.large(8)
@pytest.mark.parametrize(
    "op, dtype", [(op, dtype) for op, s in suites().items() for dtype in s.dtypes if dtype in FLOATS]
)
def test_far_strides(op, dtype):
    suite, operator = suites()[op], Package(op, "nvidia")
    ran = 0
    for length in LENGTHS:
        for index in INDICES:
            d = FarDraw(op, dtype, length, index)
            drawn = suite.draw(d)
            live = build(suite, d, drawn)
            operands = [*live.outs, *live.ins]
            unwritten = [placed.view.copy() for placed in live.outs]
            present = [i for i, p in enumerate(operands) if p and p.view.ndim and p.view.size]
            for moved in (*([i] for i in present), present):
                for axis in (0, -1):
                    bytes_needed = sum(far_bytes(operands[i].view, axis) for i in moved)
                    if all(operands[i].view.shape[axis] == 1 for i in moved) or bytes_needed > MOST_BYTES:
                        continue
                    for placed, before in zip(live.outs, unwritten, strict=True):
                        placed.view[...] = before
                    try:
                        run(operator, live, moved, axis)
                    except ort.OperatorRuntimeError as refusal:
                        if refusal.status == OUT_OF_MEMORY or "expected a library" in str(refusal):
                            continue
                        raise
                    ran += 1
                    who = ", ".join(operator.operands[i] for i in moved)
                    complaints = judge(suite, live, operator.operands)
                    assert not complaints, f"axis {axis} of {who} steps {STEP} elements: {complaints[0]}"
    assert ran


BLOCK = 257  # rows, of which larger batches are made: a prime beyond a byte


@pytest.mark.large(2)
@pytest.mark.parametrize("rows", [65_535, 65_536, 65_537, 131_072])
@pytest.mark.parametrize("width", [8, 768])
@pytest.mark.parametrize("op", [op for op, suite in suites().items() if suite.row])
def test_c05_more_rows_than_16_bits_count(op, width, rows):
    suite, operator = suites()[op], Package(op, "nvidia")
    for dtype in FLOATS:
        d = Draw(op, dtype, "contiguous", 0, f"row {width}")
        alone = build(suite, d, suite.row(d, width), reference=False)
        block = {i: batch_of(alone.ins[i].view, BLOCK, d.rng, dtype) for i in suite.row_inputs if alone.ins[i]}
        results = []
        for count in (BLOCK, rows):
            ins = [np.resize(block[i], (count, *block[i].shape[1:])) if i in block else placed and placed.view
                   for i, placed in enumerate(alone.ins)]  # fmt: skip
            shapes = [(count, *out.view.shape[1:]) for out in alone.outs]
            outs = [filled(int(np.prod(shape)), dtype).reshape(shape) for shape in shapes]
            with operator.prepare(outs, ins, alone.params) as prepared:
                prepared.run()
            results.append(outs)
        for few, many in zip(*results, strict=True):
            assert np.resize(few, many.shape).tobytes() == many.tobytes()
