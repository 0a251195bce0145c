"""Every operator as one of PyTorch's: torch.ops.oprt.<op> and torch.ops.oprt.<op>_, and here under the same names.

    import operator_runtime.torch_ops as ops

    ops.rmsnorm(x, gamma, dim=-1, eps=1e-6)    as operator_runtime.rmsnorm, on CPU and CUDA tensors
    ops.rmsnorm_(out, x, gamma)                into out; returns None, as PyTorch wants it of an operator that writes

torch.compile keeps them as single nodes of its graph, fullgraph=True included, and torch.cuda.graph captures them. They
have no derivatives: PyTorch warns where one is asked for. A signature is the Python function's without its backend,
which is where the tensors live, and with rope's mode called pairs; shapes of results come from the same function, run
without its kernel.
"""

import inspect
import types

import torch

import operator_runtime
from operator_runtime import _native

_SCHEMA_TYPES = {
    "T": "Tensor",
    "T | None": "Tensor?",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "str | None": "str?",
    "Any": "ScalarType",  # a dtype
}


# PyTorch's own code calls operators with a keyword of this name beside theirs.
_RENAMED = {"mode": "pairs"}


def _argument(parameter, written=""):
    default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
    name = _RENAMED.get(parameter.name, parameter.name)
    return f"{_SCHEMA_TYPES[parameter.annotation]}{written} {name}{default}"


def _default(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _schema(function, outputs, in_place):
    """The function's signature as PyTorch writes it; in_place: its first arguments are the outputs."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "backend"]
    written = [f"(out{i}!)" if in_place and i < outputs else "" for i in range(len(parameters))]
    returned = "()" if in_place else f"({', '.join(['Tensor'] * outputs)})"
    return f"{function.__name__}({', '.join(map(_argument, parameters, written))}) -> {returned}"


class _WithoutKernel:
    """Stands in for a native operator: returns the outputs that it is given, and has nothing written to them."""

    def __init__(self, operator):
        self.name, self.inputs, self.outputs = operator.name, operator.inputs, operator.outputs

    def __call__(self, backend, *arguments):
        return arguments[: len(self.outputs)] if len(self.outputs) > 1 else arguments[0]


def _shapes_alone(function):
    """The function with its module's native operator replaced: it allocates its results, and that is all."""
    names = {
        name: _WithoutKernel(value) if isinstance(value, _native.Operator) else value
        for name, value in function.__globals__.items()
    }
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def _returning_none(function):
    def run(*arguments):
        function(*arguments)

    return run


_library = torch.library.Library("oprt", "DEF")


def _register(function, outputs, in_place):
    name = function.__name__
    _library.define(_schema(function, outputs, in_place))
    kernel = _returning_none(function) if in_place else function
    shapes = (lambda *arguments: None) if in_place else _shapes_alone(function)
    for device in ("CPU", "CUDA"):
        _library.impl(name, kernel, device)
    torch.library.register_fake(f"oprt::{name}", shapes, lib=_library)
    globals()[name] = getattr(torch.ops.oprt, name).default
    return name


__all__ = [
    _register(getattr(operator_runtime, name), len(_native.operator(operator).outputs), in_place=name.endswith("_"))
    for operator in _native.operators()
    for name in (operator, f"{operator}_")
]
