"""Where a case's tensors lie: memory with guard bands around it, and a view into it for each layout.

A Placed tensor owns one flat buffer. Everything that its view does not address, the guards at both ends, the gaps of
padded rows, is filled with a NaN whose bits no kernel makes, so that a read outside poisons the result and a write
outside shows. Outputs start as that NaN throughout.
"""

from dataclasses import dataclass

import numpy as np

from operator_runtime.testing.dtypes import NUMPY, name_of, rounded
from operator_runtime.testing.suite import Tensor

GUARD = 64  # elements before and after, at least
ALIGNMENT = 64  # bytes; a view without offset starts at a multiple


def filled(count, dtype):
    """An aligned array of untouched memory: all bits set (a NaN), for integers a value that no case holds."""
    array = unfilled(count, dtype)
    array.view(np.uint8).fill(untouched_byte(array.dtype))
    return array


def unfilled(count, dtype):
    """The same for calls that nobody runs: however large, it takes no memory before it is written."""
    dtype = NUMPY[dtype]
    raw = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype)


def untouched_byte(dtype):
    return 0x5A if dtype.kind == "i" else 0xFF


@dataclass
class Placed:
    buffer: np.ndarray  # flat, guards included
    view: np.ndarray  # the tensor, as the operator sees it

    @property
    def dtype(self):
        return name_of(self.view.dtype)

    def snapshot(self):
        return self.buffer.copy()

    def restore(self, snapshot):
        self.buffer[...] = snapshot

    def within(self, buffer):
        """The same view into another copy of the buffer."""
        first = self.view.ctypes.data - self.buffer.ctypes.data
        return np.ndarray(self.view.shape, self.view.dtype, buffer, first, self.view.strides)

    def changed_outside(self, before):
        """Flat indices, relative to the view's first element, of what changed around the view since the snapshot."""
        after = self.snapshot()
        if self.view.size:
            self.within(after)[...] = self.within(before)
        kind = np.dtype(f"u{self.view.itemsize}")
        where = np.flatnonzero(after.view(kind) != before.view(kind))
        return where - (self.view.ctypes.data - self.buffer.ctypes.data) // self.view.itemsize


def dense_strides(shape, order=None):
    """Strides in elements of a tensor without gaps whose axes lie in memory in this order, outermost first."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order if order is not None else range(len(shape))):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return strides


def place(tensor, strides, offset=0):
    """The tensor in memory of its own with these strides (in elements), `offset` elements past an aligned address."""
    reach = [(max(length, 1) - 1) * stride for length, stride in zip(tensor.shape, strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    high = sum(r for r in reach if r > 0)
    before = -(low - GUARD) // GUARD * GUARD  # the first address is aligned where nothing lies before element 0
    buffer = filled(before + offset + high + 1 + GUARD, tensor.dtype)
    first, step = (before + offset) * buffer.itemsize, buffer.itemsize
    view = np.ndarray(tensor.shape, buffer.dtype, buffer, first, [stride * step for stride in strides])
    if tensor.values is not None:
        values = tensor.values if tensor.values.shape == tensor.shape else np.broadcast_to(tensor.values, tensor.shape)
        for axis, stride in enumerate(strides):
            if stride == 0 and tensor.shape[axis] > 1:  # one address, one value
                values = np.broadcast_to(values.take([0], axis), tensor.shape)
        view[...] = values if values.dtype == view.dtype else rounded(values, tensor.dtype)
    return Placed(buffer, view)


class Layout:
    """Chooses strides and offsets for the operands of one call, and keeps to it."""

    def __init__(self, name, rng, index, operands):
        self.name = name
        self.rng = rng
        self.index = index
        self.operands = operands  # how many move on their own
        self.position = -1
        self.order = None  # of the axes, shared by operands of one rank every other time

    def strides_of(self, shape, is_output):
        rank = len(shape)
        # Every third case leaves the outputs contiguous, every third the inputs.
        plain = self.index % 3 == (1 if is_output else 2)
        if self.name == "padded" and not plain and rank:
            if rank == 1:
                return [int(self.rng.integers(2, 4))]
            padded = [*shape[:-1], shape[-1] + int(self.rng.integers(1, 9))]
            return dense_strides(padded)
        if self.name == "transposed" and not plain and rank > 1:
            if self.order is None or len(self.order) != rank or self.index % 2:
                self.order = list(self.rng.permutation(rank))
                if self.order == sorted(self.order):
                    self.order.reverse()
            return dense_strides(shape, self.order)
        strides = dense_strides(shape)
        if self.name == "broadcast" and not is_output and rank:
            wide = [axis for axis in range(rank) if shape[axis] > 1] or [0]
            strides[int(self.rng.choice(wide))] = 0
        if self.name == "negative" and not plain:
            for axis in range(rank):
                if axis == rank - 1 - self.index % max(rank, 1) or self.rng.integers(3) == 0:
                    strides[axis] = -strides[axis]
        return strides

    def offset(self):
        """Each operand alone in its turn, then all together. The outputs come last, and count as one."""
        if self.name != "offset":
            return 0
        turn = self.index % (self.operands + 1)
        alone = turn == min(self.position, self.operands - 1)
        return 2 * int(self.rng.integers(8)) + 1 if alone or turn == self.operands else 0

    def place(self, tensor, is_output):
        self.position += 1
        return place(tensor, self.strides_of(tensor.shape, is_output), self.offset())


def telling_index(layout, inputs):
    """The index at which one case alone shows a layout best.

    Transposed: inputs against a contiguous output, since all operands alike would be contiguous again. Offset: all.
    """
    return {"transposed": 1, "offset": operands_of(inputs)}.get(layout, 0)


def operands_of(inputs):
    """The inputs that are there, and the outputs, which keep together."""
    return sum(value is not None for value in inputs) + 1


def shows(name, outs, ins):
    """Does a call lie as the layout's name says? An axis of length 1 is neither padded nor turned round."""
    views = [placed.view for placed in [*outs, *ins] if placed]

    def axes(view):
        """(length, stride in elements) where the stride matters."""
        steps = [stride // view.itemsize for stride in view.strides]
        return [(length, step) for length, step in zip(view.shape, steps, strict=True) if length > 1]

    def is_dense(view):
        return axes(view) == [(n, s) for n, s in zip(view.shape, dense_strides(view.shape), strict=True) if n > 1]

    match name:
        case "padded" | "transposed":
            return not all(is_dense(view) for view in views)
        case "broadcast":
            return any(step == 0 for placed in ins if placed for _, step in axes(placed.view))
        case "negative":
            return any(step < 0 for view in views for _, step in axes(view))
        case "offset":
            return any(view.ctypes.data % ALIGNMENT for view in views)
        case "in place":
            return any(out is placed for out in outs for placed in ins)
        case "empty":
            return any(view.size == 0 for view in views)
        case "rank 0":
            return any(view.ndim == 0 for view in views)
    return all(is_dense(view) for view in views)


def output(shape, dtype):
    return Tensor(tuple(shape), None, dtype)
