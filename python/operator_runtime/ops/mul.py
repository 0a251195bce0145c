"""mul: a * b with broadcasting.

Contract: oprt/ops/mul/mul.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, broadcast_shape, empty, finish

__all__ = ["mul", "mul_", "prepare_mul"]

_mul = _native.operator("mul")


def mul(a: T, b: T, backend: BackendName = None) -> T:
    """a * b, broadcast as NumPy does; both have the result's dtype."""
    return finish(_mul(backend, empty(_mul, broadcast_shape, a, b), a, b))


def mul_(out: T, a: T, b: T, backend: BackendName = None) -> T:
    """a * b into out, to which both broadcast; out may be a or b. Returns out."""
    return _mul(backend, out, a, b)


def prepare_mul(out: T, a: T, b: T, backend: BackendName = None) -> PreparedOp:
    """mul_ checked once, to be run many times."""
    return _mul.prepare(backend, out, a, b)
