"""@op@: FILL IN in a few words.

Contract: oprt/ops/@op@/@op@.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["@op@", "@op@_", "prepare_@op@"]

_@op@ = _native.operator("@op@")


def @op@(src: T, backend: BackendName = None) -> T:
    """@op@ of src; the result has its shape and dtype."""
    return finish(_@op@(backend, like(_@op@, src), src))


def @op@_(out: T, src: T, backend: BackendName = None) -> T:
    """@op@ of src into out; src broadcasts to it, and out may be src. Returns out."""
    return _@op@(backend, out, src)


def prepare_@op@(out: T, src: T, backend: BackendName = None) -> PreparedOp:
    """@op@_ checked once, to be run many times."""
    return _@op@.prepare(backend, out, src)
