"""silu_and_mul: silu(gate) * up, gate and up being the halves of the last axis.

Contract: oprt/ops/silu_and_mul/silu_and_mul.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, empty, finish

__all__ = ["prepare_silu_and_mul", "silu_and_mul", "silu_and_mul_"]

_silu_and_mul = _native.operator("silu_and_mul")


def silu_and_mul(src: T, backend: BackendName = None) -> T:
    """The gated product of src, [..., 2 d] with the gate first; the result is [..., d]."""
    out = empty(_silu_and_mul, _halved, src)
    return finish(_silu_and_mul(backend, out, src))


def silu_and_mul_(out: T, src: T, backend: BackendName = None) -> T:
    """The gated product of src, [..., 2 d], into out, [..., d], which shares no memory with it. Returns out."""
    return _silu_and_mul(backend, out, src)


def prepare_silu_and_mul(out: T, src: T, backend: BackendName = None) -> PreparedOp:
    """silu_and_mul_ checked once, to be run many times."""
    return _silu_and_mul.prepare(backend, out, src)


def _halved(shape):
    return (*shape[:-1], shape[-1] // 2) if shape else shape
