"""silu: x / (1 + exp(-x)).

Contract: oprt/ops/silu/silu.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["prepare_silu", "silu", "silu_"]

_silu = _native.operator("silu")


def silu(src: T, backend: BackendName = None) -> T:
    """silu of src; the result has its shape and dtype."""
    return finish(_silu(backend, like(_silu, src), src))


def silu_(out: T, src: T, backend: BackendName = None) -> T:
    """silu of src into out; src broadcasts to it, and out may be src. Returns out."""
    return _silu(backend, out, src)


def prepare_silu(out: T, src: T, backend: BackendName = None) -> PreparedOp:
    """silu_ checked once, to be run many times."""
    return _silu.prepare(backend, out, src)
