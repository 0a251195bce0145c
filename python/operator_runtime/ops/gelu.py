"""gelu, in two forms that differ by up to 4.7e-4: "none" is x/2 * erfc(-x / sqrt(2)), "tanh" approximates it.

Contract: oprt/ops/gelu/gelu.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, choice, finish, like

__all__ = ["gelu", "gelu_", "prepare_gelu"]

_gelu = _native.operator("gelu")

_FORMS = {"none": 0, "tanh": 1}  # oprt_gelu_t


def gelu(src: T, approximate: str, backend: BackendName = None) -> T:
    """gelu of src; the result has its shape and dtype."""
    return finish(_gelu(backend, like(_gelu, src), src, choice("gelu", "approximate", _FORMS, approximate)))


def gelu_(out: T, src: T, approximate: str, backend: BackendName = None) -> T:
    """gelu of src into out; src broadcasts to it, and out may be src. Returns out."""
    return _gelu(backend, out, src, choice("gelu", "approximate", _FORMS, approximate))


def prepare_gelu(out: T, src: T, approximate: str, backend: BackendName = None) -> PreparedOp:
    """gelu_ checked once, to be run many times."""
    return _gelu.prepare(backend, out, src, choice("gelu", "approximate", _FORMS, approximate))
