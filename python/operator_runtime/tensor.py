"""Results in the caller's framework: allocated by it where its arrays can be written, else by oprt and handed over."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, Union

import numpy as np

from operator_runtime import _native
from operator_runtime._native import PreparedOp
from operator_runtime.backend import Backend
from operator_runtime.errors import InvalidArgumentError

T = TypeVar("T")  # a tensor: NumPy's, PyTorch's, JAX's
BackendName = Union[str, Backend, None]

__all__ = ["BackendName", "PreparedOp", "T", "broadcast_shape", "empty", "finish", "like"]


class _NumPy:
    """ndarray, with ml_dtypes for bfloat16."""

    @staticmethod
    def empty(x, shape, dtype):
        return np.empty(shape, x.dtype if dtype is None else _numpy_dtype(dtype))

    @staticmethod
    def like(x):
        return np.empty_like(x, subok=False)


class _Torch:
    """torch.Tensor. The module is imported already when one of its tensors comes here."""

    @staticmethod
    def empty(x, shape, dtype):
        torch = sys.modules["torch"]
        if dtype is None:
            dtype = x.dtype
        elif not isinstance(dtype, torch.dtype):
            dtype = getattr(torch, _LONG_NAMES[_dtype_name(dtype)])
        return torch.empty(shape, dtype=dtype, device=x.device)

    @staticmethod
    def like(x):
        return sys.modules["torch"].empty_like(x)


class _Jax:
    """jax.Array, which is immutable: oprt allocates, writes, and gives the memory away by DLPack."""

    @staticmethod
    def empty(x, shape, dtype):
        return _native.empty(shape, _dtype_name(x.dtype if dtype is None else dtype))

    @staticmethod
    def like(x):
        return _native.empty(x.shape, _dtype_name(x.dtype))


_FRAMEWORKS = {"numpy": _NumPy, "torch": _Torch, "jax": _Jax, "jaxlib": _Jax}
_framework_of_type: dict[type, type] = {np.ndarray: _NumPy}

_LONG_NAMES = {"f16": "float16", "f32": "float32", "bf16": "bfloat16", "i32": "int32", "i64": "int64"}
_SHORT_NAMES = {long: short for short, long in _LONG_NAMES.items()}


def _dtype_name(dtype: Any) -> str:
    """'f32' and so on, of such a name, a long one, or any framework's dtype; what oprt lacks stays as it is."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    return _SHORT_NAMES.get(name, name)


def _numpy_dtype(dtype: Any) -> np.dtype:
    name = _dtype_name(dtype)
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_LONG_NAMES.get(name, dtype))


def _framework(op: _native.Operator, x: Any) -> type:
    for kind in type(x).__mro__:
        found = _FRAMEWORKS.get(kind.__module__.partition(".")[0])
        if found:
            _framework_of_type[type(x)] = found
            return found
    raise InvalidArgumentError(
        f"{op.name}: src: expected a tensor of NumPy, PyTorch or JAX to allocate the result like, got {type(x).__name__}"
    )


def like(op: _native.Operator, x: T) -> T:
    """A result of x's framework, shape, dtype and, where it is dense, layout."""
    return (_framework_of_type.get(type(x)) or _framework(op, x)).like(x)


def empty(op: _native.Operator, x: T, shape: tuple[int, ...], dtype: Any = None) -> T:
    """A dense row-major result of x's framework, of that shape and of x's dtype or the one given."""
    return (_framework_of_type.get(type(x)) or _framework(op, x)).empty(x, shape, dtype)


def finish(out: Any) -> Any:
    """What the caller gets for a result that like() or empty() allocated."""
    if type(out) is _native.Allocation:
        return sys.modules["jax"].dlpack.from_dlpack(out)
    return out
