"""reduce_sum: the sum along an axis, accumulated in f32.

Contract: oprt/ops/reduce_sum/reduce_sum.h.
"""

from __future__ import annotations

import operator

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, empty, finish

__all__ = ["prepare_reduce_sum", "reduce_sum", "reduce_sum_"]

_reduce_sum = _native.operator("reduce_sum")


def reduce_sum(src: T, dim: int = 1, backend: BackendName = None) -> T:
    """The sum of src along dim, which the result lacks."""
    return finish(_reduce_sum(backend, empty(_reduce_sum, lambda shape: _without_axis(shape, dim), src), src, dim))


def reduce_sum_(out: T, src: T, dim: int = 1, backend: BackendName = None) -> T:
    """The sum of src along dim into out, which lacks that axis or has length 1 there. Returns out."""
    return _reduce_sum(backend, out, src, dim)


def prepare_reduce_sum(out: T, src: T, dim: int = 1, backend: BackendName = None) -> PreparedOp:
    """reduce_sum_ checked once, to be run many times."""
    return _reduce_sum.prepare(backend, out, src, dim)


def _without_axis(shape, dim):
    try:
        dim = range(len(shape))[operator.index(dim)]
    except (IndexError, TypeError):
        return shape  # the operator says what is wrong with dim
    return shape[:dim] + shape[dim + 1 :]
