"""oprt for Python: the operators that transformers are made of, on any framework's tensors, without a copy.

    op(x, ...)                allocates the result with the framework of x
    op_(out, x, ...)          writes into out and returns it
    prepare_op(out, x, ...)   checks once and returns a PreparedOp to run many times

Tensors are NumPy's (with ml_dtypes for bfloat16), PyTorch's, CuPy's, JAX's (inputs only; results are new arrays), or
any that speak DLPack. Nothing is recorded for automatic differentiation. `backend` is a name, a Backend, or None: where
the data lives. On a GPU the work goes to the stream that is current in the tensors' framework; no call waits for it.
`operator_runtime.torch_ops` registers every operator with PyTorch, for torch.compile.
"""

import importlib
import pkgutil

from operator_runtime import ops as _ops
from operator_runtime._native import DeviceBuffer, PreparedOp
from operator_runtime.backend import Backend, normalize_backend
from operator_runtime.errors import InvalidArgumentError, OperatorRuntimeError, UnsupportedDtypeError

__all__ = [
    "Backend",
    "DeviceBuffer",
    "InvalidArgumentError",
    "OperatorRuntimeError",
    "PreparedOp",
    "UnsupportedDtypeError",
    "normalize_backend",
]

# Every module of ops/ is an operator; its public names are the package's.
for _module_info in pkgutil.iter_modules(_ops.__path__):
    _module = importlib.import_module(f"{_ops.__name__}.{_module_info.name}")
    globals().update({name: getattr(_module, name) for name in _module.__all__})
    __all__ += _module.__all__
