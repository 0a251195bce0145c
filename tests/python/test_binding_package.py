"""The package as its users meet it: names and signatures that clients rely on, and stubs that agree with them."""

import ast
import inspect
import pathlib

import operator_runtime as oprt
import pytest

# op: the arguments of op_ and prepare_op after the outputs, as a client may write them. op has the same.
NORM = "src, gamma=None, dim=-1, eps=1e-06"
MATMUL = "a, b, bias=None, activation=None, algorithm='auto', allow_tf32=False"
SIGNATURES = {
    "copy": ("out", "src"),
    "vector_add": ("out", "a, b"),
    "relu": ("out", "src, negative_slope=0.0"),
    "reduce_sum": ("out", "src, dim=1"),
    "softmax": ("out", "src, dim=1"),
    "cast": ("out", "src"),
    "mul": ("out", "a, b"),
    "gelu": ("out", "src, approximate"),
    "gelu_and_mul": ("out", "src, approximate"),
    "silu": ("out", "src"),
    "silu_and_mul": ("out", "src"),
    "layernorm": ("out", "src, gamma=None, beta=None, dim=-1, eps=1e-05"),
    "rmsnorm": ("out", NORM),
    "add_rmsnorm": ("out, residual_out", NORM.replace("src", "src, residual")),
    "embedding": ("out", "table, ids"),
    "rope": ("out", "src, cos, sin, positions, mode"),
    "matmul": ("out", MATMUL),
}


def arguments(function):
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return ", ".join(map(str, bare))


@pytest.mark.parametrize("op", SIGNATURES)
def test_signatures(op):
    outputs, inputs = SIGNATURES[op]
    allocating = "src, dtype" if op == "cast" else inputs
    assert arguments(getattr(oprt, op)) == f"{allocating}, backend=None"
    assert arguments(getattr(oprt, f"{op}_")) == f"{outputs}, {inputs}, backend=None"
    assert arguments(getattr(oprt, f"prepare_{op}")) == f"{outputs}, {inputs}, backend=None"
    for name in (op, f"{op}_", f"prepare_{op}"):
        assert name in oprt.__all__ and getattr(oprt, name).__doc__


@pytest.mark.parametrize("op", oprt._native.operators())
def test_every_operator_of_the_library_has_its_functions(op):
    for name in (op, f"{op}_", f"prepare_{op}"):
        assert arguments(getattr(oprt, name)).endswith("backend=None")


def test_the_stub_names_what_the_package_has():
    stub = ast.parse((pathlib.Path(oprt.__file__).parent / "__init__.pyi").read_text())
    named = {}
    for node in stub.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name  # a re-export
            named[alias.name] = node.module
    assert set(named) == set(oprt.__all__)
    for name, module in named.items():
        if module != "operator_runtime._native":
            assert getattr(oprt, name).__module__ == module


def test_the_native_stub_names_what_the_module_has():
    source = (pathlib.Path(oprt.__file__).parent / "_native.pyi").read_text()
    stubbed = {n.name: n for n in ast.parse(source).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    native = oprt._native
    assert set(stubbed) == {name for name in vars(native) if not name.startswith("__")}
    for name, node in stubbed.items():
        if isinstance(node, ast.ClassDef):
            members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            hidden = {"__init__"} | ({"__call__"} if name == "Operator" else set())  # a type slot
            own = {m for m in vars(getattr(native, name)) if m not in {"__doc__", "__module__", "__new__"}}
            assert members - hidden == own - hidden


def test_the_package_is_typed():
    assert (pathlib.Path(oprt.__file__).parent / "py.typed").exists()


def test_the_versions_agree():
    pyproject = pathlib.Path(__file__).parents[2] / "pyproject.toml"
    assert f'version = "{oprt._native.version()}"' in pyproject.read_text()
    assert oprt._native.abi_version() == 1
