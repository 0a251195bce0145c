"""Where a case's shapes, choices and data come from: one seeded source that knows the dtype and the layout."""

import zlib

import numpy as np

from operator_runtime.testing.data import normal
from operator_runtime.testing.dtypes import NUMPY
from operator_runtime.testing.suite import LAYOUTS, Tensor

# Lengths of the innermost axis around which the elementwise skeleton changes its ways: whole vectors, kMinRow, kBlock.
ELEMENTWISE_LENGTHS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 511, 512, 513, 1025)

# Row lengths: the widths of C09 and a few odd ones beyond. An operator adds its own kernels' switches.
ROW_LENGTHS = (1, 2, 3, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 385, 513, 1023, 1024, 1025)

_MOST = 20_000  # elements of a drawn tensor, so that ten thousand cases stay quick
_PERIOD = 65_537  # from here on data repeat: big tensors are there for their size


class Draw:
    """d in a cases.py."""

    def __init__(self, op, dtype, layout, index, purpose="draw", dry=False):
        self.dry = dry  # shapes matter, data do not: tensors are zeros
        self.label = dtype
        self.dtype, _, out_dtype = dtype.partition("-")
        self.out_dtype = out_dtype or self.dtype
        self.layout = layout
        self.index = index
        self.rng = np.random.default_rng(zlib.crc32(f"{op} {dtype} {layout} {index} {purpose}".encode()))

    def choice(self, *options):
        """One of them, at random."""
        return options[self.rng.integers(len(options))]

    def turn(self, *options):
        """One of them, each in its turn as the index goes on."""
        return options[self.index % len(options)]

    data = turn

    def _rank(self, least, most):
        if self.layout == "rank 0":
            return 0
        needed = {"padded": 2, "transposed": 2, "contiguous": 0, "in place": 0}.get(self.layout, 1)
        return int(self.rng.integers(max(least, needed), most + 1))

    def shape(self, least=1, most=4, lengths=ELEMENTWISE_LENGTHS):
        """A shape that suits the layout. The innermost length takes its turn in `lengths`, the others are short."""
        rank = self._rank(least, most)
        if rank == 0:
            return ()
        inner = lengths[(self.index + 7 * LAYOUTS.index(self.layout)) % len(lengths)]
        outer = [int(self.rng.choice([1, 2, 3, 4, 5, 7])) for _ in range(rank - 1)]
        while max(outer, default=1) > 1 and inner * int(np.prod(outer)) > _MOST:
            outer[int(np.argmax(outer))] = 1
        shape = [*outer, inner]
        if self.layout == "empty":
            shape[self.rng.integers(rank)] = 0
        if self.layout == "transposed" and rank == 2 and shape[0] == 1:
            shape[0] = 3
        return tuple(shape)

    def rows(self, lengths=ROW_LENGTHS, least=1, most=4):
        """A shape and an axis of it, mostly the last; the axis has one of the lengths. Negative axes occur."""
        shape = self.shape(least, most, lengths)
        rank = max(len(shape), 1)
        axis = rank - 1 if self.index % 4 else int(self.rng.integers(rank))
        if shape and axis != rank - 1:  # the drawn length goes where the axis is
            moved = list(shape)
            moved[axis], moved[-1] = moved[-1], moved[axis]
            shape = tuple(moved)
        return shape, axis if self.rng.integers(2) else axis - rank

    def sizes(self, count, lengths=(1, 2, 3, 5, 8, 16, 17, 31, 33, 64, 65)):
        """`count` lengths; with the layout "empty" one of them, at least, is 0."""
        sizes = [int(self.choice(*lengths)) for _ in range(count)]
        if self.layout == "empty":
            sizes[self.rng.integers(count)] = 0
        return tuple(sizes)

    def at_switch(self, *output_bytes):
        """Lengths around the output sizes at which a kernel changes its way: one element less, as many, one more."""
        counts = [size // NUMPY[self.out_dtype].itemsize for size in output_bytes]
        return [n + step for n in counts for step in (-1, 0, 1)]

    def broadcastable(self, shape):
        """A shape that broadcasts to this one: the same half of the time, else with axes of 1 or leading ones dropped.

        In place it is the shape itself.
        """
        if self.layout in ("in place", "empty") or self.rng.integers(2):
            return tuple(shape)
        narrow = [1 if self.rng.integers(3) == 0 else length for length in shape]
        return tuple(narrow[self.rng.integers(len(narrow) + 1) :]) if self.rng.integers(3) == 0 else tuple(narrow)

    def tensor(self, shape, data=normal, dtype=None):
        """A tensor of the data, of the case's dtype where none is named. A length stands for a shape of rank 1."""
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        seed = self.rng.integers(1 << 62)  # dry or not, what is drawn next is the same
        if self.dry:
            return Tensor(shape, lambda: np.broadcast_to(0.0, shape), dtype or self.dtype)
        return Tensor(shape, lambda: _make(data, seed, shape), dtype or self.dtype, getattr(data, "__name__", "data"))

    def values(self, values, dtype=None):
        """A tensor of these values."""
        values = np.asarray(values)
        return Tensor(values.shape, lambda: values, dtype or self.dtype)


def _make(data, seed, shape):
    rng = np.random.default_rng(seed)
    if int(np.prod(shape, dtype=np.int64)) > 2 * _PERIOD:
        return np.resize(data(rng, (_PERIOD,)), shape)
    return data(rng, shape)
