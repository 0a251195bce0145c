"""add_rmsnorm: residual_out = x + residual, out = rmsnorm(residual_out), in one pass.

Contract: oprt/ops/add_rmsnorm/add_rmsnorm.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["add_rmsnorm", "add_rmsnorm_", "prepare_add_rmsnorm"]

_add_rmsnorm = _native.operator("add_rmsnorm")


def add_rmsnorm(
    src: T, residual: T, gamma: T | None = None, dim: int = -1, eps: float = 1e-6, backend: BackendName = None
) -> tuple[T, T]:
    """(out, residual_out): the rounded sum of src and residual is residual_out, its RMS norm along dim is out."""
    out, residual_out = like(_add_rmsnorm, src), like(_add_rmsnorm, src)
    _add_rmsnorm(backend, out, residual_out, src, residual, gamma, dim, eps)
    return finish(out), finish(residual_out)


def add_rmsnorm_(
    out: T,
    residual_out: T,
    src: T,
    residual: T,
    gamma: T | None = None,
    dim: int = -1,
    eps: float = 1e-6,
    backend: BackendName = None,
) -> tuple[T, T]:
    """add_rmsnorm into out and residual_out, either of which may be src or residual. Returns both."""
    return _add_rmsnorm(backend, out, residual_out, src, residual, gamma, dim, eps)


def prepare_add_rmsnorm(
    out: T,
    residual_out: T,
    src: T,
    residual: T,
    gamma: T | None = None,
    dim: int = -1,
    eps: float = 1e-6,
    backend: BackendName = None,
) -> PreparedOp:
    """add_rmsnorm_ checked once, to be run many times."""
    return _add_rmsnorm.prepare(backend, out, residual_out, src, residual, gamma, dim, eps)
