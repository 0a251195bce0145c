"""layernorm: (x - mean) / sqrt(var + eps) * gamma + beta along an axis.

Contract: oprt/ops/layernorm/layernorm.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["layernorm", "layernorm_", "prepare_layernorm"]

_layernorm = _native.operator("layernorm")


def layernorm(
    src: T,
    gamma: T | None = None,
    beta: T | None = None,
    dim: int = -1,
    eps: float = 1e-5,
    backend: BackendName = None,
) -> T:
    """The layer norm of src along dim. gamma and beta are 1-D, of the dtype of src or f32; either may be None."""
    return finish(_layernorm(backend, like(_layernorm, src), src, gamma, beta, dim, eps))


def layernorm_(
    out: T,
    src: T,
    gamma: T | None = None,
    beta: T | None = None,
    dim: int = -1,
    eps: float = 1e-5,
    backend: BackendName = None,
) -> T:
    """The layer norm of src along dim into out, which may be src. Returns out."""
    return _layernorm(backend, out, src, gamma, beta, dim, eps)


def prepare_layernorm(
    out: T,
    src: T,
    gamma: T | None = None,
    beta: T | None = None,
    dim: int = -1,
    eps: float = 1e-5,
    backend: BackendName = None,
) -> PreparedOp:
    """layernorm_ checked once, to be run many times."""
    return _layernorm.prepare(backend, out, src, gamma, beta, dim, eps)
