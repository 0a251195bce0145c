"""vector_add: a + b with broadcasting.

Contract: oprt/ops/vector_add/vector_add.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, broadcast_shape, empty, finish

__all__ = ["prepare_vector_add", "vector_add", "vector_add_"]

_vector_add = _native.operator("vector_add")


def vector_add(a: T, b: T, backend: BackendName = None) -> T:
    """a + b, broadcast as NumPy does; both have the result's dtype."""
    return finish(_vector_add(backend, empty(_vector_add, broadcast_shape, a, b), a, b))


def vector_add_(out: T, a: T, b: T, backend: BackendName = None) -> T:
    """a + b into out, to which both broadcast; out may be a or b. Returns out."""
    return _vector_add(backend, out, a, b)


def prepare_vector_add(out: T, a: T, b: T, backend: BackendName = None) -> PreparedOp:
    """vector_add_ checked once, to be run many times."""
    return _vector_add.prepare(backend, out, a, b)
