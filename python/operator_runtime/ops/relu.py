"""relu: max(x, 0), or negative_slope * x below 0.

Contract: oprt/ops/relu/relu.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, finish, like

__all__ = ["prepare_relu", "relu", "relu_"]

_relu = _native.operator("relu")


def relu(src: T, negative_slope: float = 0.0, backend: BackendName = None) -> T:
    """relu of src; the result has its shape and dtype."""
    return finish(_relu(backend, like(_relu, src), src, negative_slope))


def relu_(out: T, src: T, negative_slope: float = 0.0, backend: BackendName = None) -> T:
    """relu of src into out; src broadcasts to it, and out may be src. Returns out."""
    return _relu(backend, out, src, negative_slope)


def prepare_relu(out: T, src: T, negative_slope: float = 0.0, backend: BackendName = None) -> PreparedOp:
    """relu_ checked once, to be run many times."""
    return _relu.prepare(backend, out, src, negative_slope)
