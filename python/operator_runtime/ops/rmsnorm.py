"""rmsnorm: x / sqrt(mean(x^2) + eps) * gamma along an axis.

Contract: oprt/ops/rmsnorm/rmsnorm.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["prepare_rmsnorm", "rmsnorm", "rmsnorm_"]

_rmsnorm = _native.operator("rmsnorm")


def rmsnorm(src: T, gamma: T | None = None, dim: int = -1, eps: float = 1e-6, backend: BackendName = None) -> T:
    """The RMS norm of src along dim. gamma is 1-D, of the dtype of src or f32, or None."""
    return finish(_rmsnorm(backend, like(_rmsnorm, src), src, gamma, dim, eps))


def rmsnorm_(
    out: T, src: T, gamma: T | None = None, dim: int = -1, eps: float = 1e-6, backend: BackendName = None
) -> T:
    """The RMS norm of src along dim into out, which may be src. Returns out."""
    return _rmsnorm(backend, out, src, gamma, dim, eps)


def prepare_rmsnorm(
    out: T, src: T, gamma: T | None = None, dim: int = -1, eps: float = 1e-6, backend: BackendName = None
) -> PreparedOp:
    """rmsnorm_ checked once, to be run many times."""
    return _rmsnorm.prepare(backend, out, src, gamma, dim, eps)
