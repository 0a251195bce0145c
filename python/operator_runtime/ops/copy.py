"""copy: any strides to any strides, any dtype, bits unchanged.

Contract: oprt/ops/copy/copy.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, empty, finish

__all__ = ["copy", "copy_", "prepare_copy"]

_copy = _native.operator("copy")


def copy(src: T, backend: BackendName = None) -> T:
    """A dense row-major copy of src."""
    return finish(_copy(backend, empty(_copy, lambda shape: shape, src), src))


def copy_(out: T, src: T, backend: BackendName = None) -> T:
    """src, which broadcasts to out, into out. Returns out."""
    return _copy(backend, out, src)


def prepare_copy(out: T, src: T, backend: BackendName = None) -> PreparedOp:
    """copy_ checked once, to be run many times."""
    return _copy.prepare(backend, out, src)
