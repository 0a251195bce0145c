"""gelu_and_mul: gelu(gate) * up, gate and up being the halves of the last axis.

Contract: oprt/ops/gelu_and_mul/gelu_and_mul.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, choice, empty, finish

__all__ = ["gelu_and_mul", "gelu_and_mul_", "prepare_gelu_and_mul"]

_gelu_and_mul = _native.operator("gelu_and_mul")

_FORMS = {"none": 0, "tanh": 1}  # oprt_gelu_t


def gelu_and_mul(src: T, approximate: str, backend: BackendName = None) -> T:
    """The gated product of src, [..., 2 d] with the gate first; the result is [..., d]."""
    out = empty(_gelu_and_mul, _halved, src)
    return finish(_gelu_and_mul(backend, out, src, choice("gelu_and_mul", "approximate", _FORMS, approximate)))


def gelu_and_mul_(out: T, src: T, approximate: str, backend: BackendName = None) -> T:
    """The gated product of src, [..., 2 d], into out, [..., d], which shares no memory with it. Returns out."""
    return _gelu_and_mul(backend, out, src, choice("gelu_and_mul", "approximate", _FORMS, approximate))


def prepare_gelu_and_mul(out: T, src: T, approximate: str, backend: BackendName = None) -> PreparedOp:
    """gelu_and_mul_ checked once, to be run many times."""
    return _gelu_and_mul.prepare(backend, out, src, choice("gelu_and_mul", "approximate", _FORMS, approximate))


def _halved(shape):
    return (*shape[:-1], shape[-1] // 2) if shape else shape
