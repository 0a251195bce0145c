"""What the operators' functions share: results in the caller's framework, shapes of results, names of choices.

A result is allocated by its framework where that framework's arrays may be written, else by oprt and handed over. What
does not fit is left for the C layer to refuse: it says best what it expected.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from operator_runtime import _native
from operator_runtime._native import PreparedOp
from operator_runtime.backend import BackendName
from operator_runtime.errors import InvalidArgumentError, UnsupportedDtypeError

T = TypeVar("T")  # a tensor: NumPy's, PyTorch's, CuPy's, JAX's
Shape = tuple[int, ...]

__all__ = [
    "BackendName",
    "PreparedOp",
    "T",
    "broadcast_shape",
    "choice",
    "empty",
    "finish",
    "like",
]

_LONG_NAMES = {"f16": "float16", "f32": "float32", "bf16": "bfloat16", "i32": "int32", "i64": "int64"}
_SHORT_NAMES = {long: short for short, long in _LONG_NAMES.items()}


def dtype_name(dtype: Any) -> str:
    """oprt's name ("f32") of a dtype: such a name, a long one ("float32"), or any framework's dtype or scalar type.

    What oprt has no name for keeps its own.
    """
    name = getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    return _SHORT_NAMES.get(name, name)


def _long_name(op: _native.Operator, dtype: Any) -> str:
    name = dtype_name(dtype)
    if name not in _LONG_NAMES:
        raise UnsupportedDtypeError(f"{op.name}: dtype: expected {', '.join(_LONG_NAMES)}, got {name}")
    return _LONG_NAMES[name]


class _NumPy:
    """numpy.ndarray, with ml_dtypes for bfloat16."""

    @staticmethod
    def dtype(op, dtype):
        name = _long_name(op, dtype)
        if name == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(name)

    @staticmethod
    def empty(op, x, shape):
        return np.empty(shape, x.dtype)

    @staticmethod
    def like(op, x, dtype):
        return np.empty_like(x, dtype, subok=False)


class _Torch:
    """torch.Tensor. The module is imported already when one of its tensors comes here."""

    @staticmethod
    def dtype(op, dtype):
        return getattr(sys.modules["torch"], _long_name(op, dtype))

    @staticmethod
    def empty(op, x, shape):
        return sys.modules["torch"].empty(shape, dtype=x.dtype, device=x.device)

    @staticmethod
    def like(op, x, dtype):
        return sys.modules["torch"].empty_like(x, dtype=dtype)


class _CuPy:
    """cupy.ndarray: memory of the array's own device, from CuPy's pool, in the order of its current stream."""

    dtype = _NumPy.dtype

    @staticmethod
    def empty(op, x, shape):
        with x.device:
            return sys.modules["cupy"].empty(shape, x.dtype)

    @staticmethod
    def like(op, x, dtype):
        with x.device:
            return sys.modules["cupy"].empty_like(x, dtype)


class _Jax:
    """jax.Array, which is immutable: oprt allocates, writes, and gives the memory away by DLPack."""

    @staticmethod
    def dtype(op, dtype):
        return dtype_name(_long_name(op, dtype))

    @staticmethod
    def empty(op, x, shape):
        return _native.empty(op.name, shape, dtype_name(x.dtype), _Jax.gpu(x))

    @staticmethod
    def like(op, x, dtype):
        return _native.empty(op.name, x.shape, dtype or dtype_name(x.dtype), _Jax.gpu(x))

    @staticmethod
    def gpu(x):
        """The index of the GPU that x lies on; -1 for the host. A tracer lies nowhere: the operator refuses it."""
        if not hasattr(x, "__dlpack_device__"):
            return -1
        kind, index = x.__dlpack_device__()
        return index if kind == _CUDA else -1


_CUDA = 2  # of DLPack's device types

_FRAMEWORKS = {"numpy": _NumPy, "torch": _Torch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax}
_framework_of_type: dict[type, Any] = {np.ndarray: _NumPy}


def _framework(op: _native.Operator, position: int, x: Any) -> Any:
    found = _framework_of_type.get(type(x))
    if found:
        return found
    for base in type(x).__mro__:
        found = _FRAMEWORKS.get(base.__module__.partition(".")[0])
        if found and hasattr(x, "shape"):
            _framework_of_type[type(x)] = found
            return found
    raise InvalidArgumentError(
        f"{op.name}: {op.inputs[position]}: expected a tensor of NumPy, PyTorch, CuPy or JAX, got {type(x).__name__}"
    )


def like(op: _native.Operator, x: T, *dtype: Any) -> T:
    """A result of x's framework, shape and, where x is dense, layout; of x's dtype or the one given."""
    framework = _framework(op, 0, x)
    return framework.like(op, x, framework.dtype(op, *dtype) if dtype else None)


def empty(op: _native.Operator, shape_of: Callable[..., Shape], *inputs: T) -> T:
    """A dense row-major result of the first input's framework and dtype; shape_of makes its shape of the inputs'."""
    frameworks = [_framework(op, i, x) for i, x in enumerate(inputs)]
    return frameworks[0].empty(op, inputs[0], shape_of(*(tuple(x.shape) for x in inputs)))


def finish(out: Any) -> Any:
    """What the caller gets for a result that like() or empty() allocated."""
    if type(out) is _native.Allocation:
        from jax.dlpack import from_dlpack

        return from_dlpack(out)
    return out


def broadcast_shape(a: Shape, b: Shape) -> Shape:
    """NumPy's common shape; a's where there is none."""
    if a == b:
        return a
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    lead = len(longer) - len(shorter)
    pairs = list(zip(longer[lead:], shorter, strict=True))
    if not all(m == n or m == 1 or n == 1 for m, n in pairs):
        return a
    return longer[:lead] + tuple(n if m == 1 else m for m, n in pairs)


def choice(op: str, argument: str, values: dict[Any, int], name: Any) -> int:
    """The C enum's value of a name."""
    try:
        return values[name]
    except (KeyError, TypeError):
        names = ", ".join(map(repr, values))
        raise InvalidArgumentError(f"{op}: {argument}: expected one of {names}, got {name!r}") from None
