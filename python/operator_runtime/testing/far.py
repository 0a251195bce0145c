"""C01 to C03, the kind: an offset that 32 bits do not hold, in elements or in bytes, signed or not.

An operand's axis steps 2^31 + 8 elements, in memory that is mapped and, but for a few pages, never touched. Each
operand alone and all together must give the bits that it gives where that axis steps over few.
"""

import mmap

import numpy as np

from operator_runtime.testing.call import build, judge
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.layout import dense_strides

STEP = (1 << 31) + 8  # elements; two steps pass 2^32
LENGTHS = (40, 200)  # of the other axis; row operators take them by different paths
INDICES = (0, 1, 3)  # of the draw; at 2 matmul asks for the library, which refuses such strides


class FarDraw(Draw):
    """Draws three rows of a given length wherever the operator leaves the shape to it."""

    def __init__(self, op, dtype, length, index):
        super().__init__(op, dtype, "contiguous", index, f"far {length}")
        self.length = length

    def shape(self, least=1, most=4, lengths=()):
        return (1,) * (least - 2) + (3, self.length)

    def rows(self, lengths=(), least=1, most=4):
        return self.shape(), -(self.index % 2) - 1

    def sizes(self, count, lengths=()):
        return (3,) * (count - 1) + (33,)

    def broadcastable(self, shape):
        return tuple(shape)


def stepping(view, axis, step):
    """The view's values where this axis steps so many elements."""
    strides = dense_strides(view.shape)
    strides[axis] = step
    count = 1 + sum((length - 1) * stride for length, stride in zip(view.shape, strides, strict=True))
    # Not reserved: the kernel gives pages as they are touched, however much is mapped.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    memory = mmap.mmap(-1, count * view.itemsize, flags=flags)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    stepped = np.ndarray(view.shape, view.dtype, memory, 0, [stride * view.itemsize for stride in strides])
    stepped[...] = view
    return stepped


def check(suite, operator, dtype, length):
    """A sentence if something is wrong, else None."""
    for index in INDICES:
        d = FarDraw(operator.name, dtype, length, index)
        call = suite.draw(d)
        live = build(suite, d, call)
        operands = [*live.outs, *live.ins]
        unwritten = [placed and placed.view.copy() for placed in operands]

        def run(moved, axis, far, live=live, params=call.params, unwritten=unwritten):
            views = [None if view is None else view.copy() for view in unwritten]
            for i in moved:
                views[i] = stepping(unwritten[i], axis, STEP if far else unwritten[i].size)
            outs, ins = views[: len(live.outs)], views[len(live.outs) :]
            with operator.prepare(outs, ins, params) as prepared:
                prepared.run()
            return outs

        present = [i for i, placed in enumerate(operands) if placed and placed.view.ndim and placed.view.size]
        for moved in (*([i] for i in present), present):
            for axis in (0, -1):
                who = ", ".join(operator.operands[i] for i in moved)
                near, far = run(moved, axis, False), run(moved, axis, True)
                for placed, out in zip(live.outs, near, strict=True):
                    placed.view[...] = out
                complaints = judge(suite, live, operator.operands)
                if complaints:
                    return f"already where axis {axis} of {who} steps as many elements as there are: {complaints[0]}"
                if [out.tobytes() for out in far] != [out.tobytes() for out in near]:
                    return f"other bits where axis {axis} of {who} steps {STEP} elements than where it steps few"
    return None
