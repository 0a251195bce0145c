"""softmax along an axis: exp(x - max) / sum(exp(x - max)).

Contract: oprt/ops/softmax/softmax.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["prepare_softmax", "softmax", "softmax_"]

_softmax = _native.operator("softmax")


def softmax(src: T, dim: int = 1, backend: BackendName = None) -> T:
    """softmax along dim of src; the result has its shape and dtype."""
    return finish(_softmax(backend, like(_softmax, src), src, dim))


def softmax_(out: T, src: T, dim: int = 1, backend: BackendName = None) -> T:
    """softmax along dim of src into out; out may be src. Returns out."""
    return _softmax(backend, out, src, dim)


def prepare_softmax(out: T, src: T, dim: int = 1, backend: BackendName = None) -> PreparedOp:
    """softmax_ checked once, to be run many times."""
    return _softmax.prepare(backend, out, src, dim)
