"""cast: between f32, f16 and bf16, to nearest even.

Contract: oprt/ops/cast/cast.h.
"""

from __future__ import annotations

from typing import Any

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["cast", "cast_", "prepare_cast"]

_cast = _native.operator("cast")


def cast(src: T, dtype: Any, backend: BackendName = None) -> T:
    """src in another dtype: a dtype of its framework, or "f32", "f16", "bf16"."""
    return finish(_cast(backend, like(_cast, src, dtype), src))


def cast_(out: T, src: T, backend: BackendName = None) -> T:
    """src, which broadcasts to out, in the dtype of out. Returns out."""
    return _cast(backend, out, src)


def prepare_cast(out: T, src: T, backend: BackendName = None) -> PreparedOp:
    """cast_ checked once, to be run many times."""
    return _cast.prepare(backend, out, src)
