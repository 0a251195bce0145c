"""Backends by name, the classes of exceptions, and what importing the package needs."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import operator_runtime as oprt
import pytest
from binding_tools import liboprt
from operator_runtime import Backend, _native, normalize_backend


def pair():
    return np.empty(3, np.float32), np.ones(3, np.float32)


CALLS = [
    lambda backend: oprt.relu(pair()[1], backend=backend),
    lambda backend: oprt.relu_(*pair(), backend=backend),
    lambda backend: oprt.prepare_relu(*pair(), backend=backend),
]


def test_backends_are_strings():
    assert {b.value for b in Backend} == {"nvidia", "tilelang", "metax", "cpu"}
    assert Backend.CPU == "cpu" and str(Backend.METAX) == "metax" and isinstance(Backend.CPU, str)


@pytest.mark.parametrize("name", ["cpu", "CPU", "Cpu", Backend.CPU])
def test_normalize_backend_takes_names_in_any_case(name):
    assert normalize_backend(name) is Backend.CPU
    for call in CALLS:
        call(name)


@pytest.mark.parametrize("name", ["gpu", "", "cpu ", "auto", 5, 3.5, b"cpu"])
def test_an_unknown_backend_is_a_value_error(name):
    with pytest.raises(ValueError, match="expected one of nvidia, tilelang, metax, cpu, got"):
        normalize_backend(name)
    for call in CALLS:
        with pytest.raises(oprt.InvalidArgumentError, match="relu: backend: expected one of"):
            call(name)


@pytest.mark.parametrize("name", ["tilelang", "TileLang", Backend.TILELANG, "metax"])
def test_a_backend_that_this_build_lacks(name):
    for call in CALLS:
        with pytest.raises(oprt.OperatorRuntimeError, match="relu: backend: expected a backend that this build has"):
            call(name)


def thread_backend():
    value = ctypes.c_int(-1)
    assert liboprt().oprt_get_backend(ctypes.byref(value)) == 0
    return value.value


def test_a_calls_backend_leaves_the_threads_alone():
    def check():
        cpu = 3
        before = thread_backend()
        for call in CALLS:
            call("cpu")
            with pytest.raises(oprt.OperatorRuntimeError):
                call("metax")
            assert thread_backend() == before
        assert liboprt().oprt_set_backend(cpu) == 0
        for call in CALLS:
            with pytest.raises(oprt.OperatorRuntimeError):
                call("metax")
            call(None)
        assert thread_backend() == cpu
        assert liboprt().oprt_set_backend(0) == 0
        passed.append(True)

    passed = []
    thread = threading.Thread(target=check)  # a thread of its own: the setting is the thread's
    thread.start()
    thread.join()
    assert passed


def test_exception_classes():
    assert issubclass(oprt.OperatorRuntimeError, RuntimeError)
    assert issubclass(oprt.InvalidArgumentError, (oprt.OperatorRuntimeError, ValueError))
    assert issubclass(oprt.InvalidArgumentError, ValueError)
    assert issubclass(oprt.UnsupportedDtypeError, oprt.OperatorRuntimeError)
    assert issubclass(oprt.UnsupportedDtypeError, TypeError)


@pytest.mark.parametrize(
    "call, status",
    [
        (lambda out, src: oprt.relu_(out[:2], src), 1),
        (lambda out, src: oprt.relu_(out, src.astype(np.float16)), 2),
        (lambda out, src: oprt.relu_(out, out[::-1]), 1),
        (lambda out, src: oprt.relu_(out, src, backend="metax"), 5),
        (lambda out, src: oprt.prepare_relu(out[:2], src), 1),
    ],
    ids=["shape", "dtype", "overlap", "backend", "prepare"],
)
def test_exceptions_carry_the_c_layers_message(call, status):
    out, src = pair()
    with pytest.raises(oprt.OperatorRuntimeError) as caught:
        call(out, src)
    assert caught.value.status == status
    assert str(caught.value) == liboprt().oprt_last_error_message().decode()
    assert str(caught.value).startswith("relu: ")


@pytest.mark.parametrize(
    "slope, says",
    [("x", "a number, got str"), (None, "a number, got NoneType"), ([1], "a number, got list")],
)
def test_a_scalar_that_is_no_number(slope, says):
    with pytest.raises(oprt.InvalidArgumentError, match=f"relu: negative_slope: expected {says}"):
        oprt.relu(pair()[1], slope)


@pytest.mark.parametrize("dim, says", [(1.5, "an integer, got float"), (1 << 70, "an integer of 64 bits, got 11805")])
def test_an_axis_that_is_no_integer(dim, says):
    for call in (
        lambda: oprt.softmax(np.ones((2, 2), np.float32), dim),
        lambda: oprt.reduce_sum(np.eye(2, dtype="f"), dim),
    ):
        with pytest.raises(oprt.InvalidArgumentError, match=f"axis: expected {says}"):
            call()


@pytest.mark.parametrize("slope", [1, True, np.float32(1), np.float64(1), np.int64(1), np.array(1.0)])
def test_scalars_of_every_kind(slope):
    np.testing.assert_array_equal(oprt.relu(-pair()[1], slope), -1)


def test_the_operators_arguments_are_counted():
    relu = _native.operator("relu")
    for call in (relu, relu.prepare):
        with pytest.raises(oprt.InvalidArgumentError, match="relu: arguments: expected 4, got 3"):
            call(None, *pair())
    with pytest.raises(oprt.InvalidArgumentError, match="relu: arguments are positional"):
        relu(None, *pair(), negative_slope=0.0)
    with pytest.raises(oprt.InvalidArgumentError, match="operator: name: expected an operator of this build, got nope"):
        _native.operator("nope")


def test_import_needs_no_framework():
    program = """
import sys
import operator_runtime as oprt
print(sorted({"torch", "jax", "cupy", "tilelang"} & set(sys.modules)))
import numpy as np
print(oprt.relu(np.array([-1.0, 2.0], np.float32)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[0.0, 2.0]"]


def test_import_works_where_no_framework_is_installed():
    program = """
import sys
for name in ("torch", "jax", "jaxlib", "cupy"):
    sys.modules[name] = None  # importing it raises
import numpy as np, operator_runtime as oprt
print(oprt.relu(np.array([-1.0, 2.0], np.float32)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0.0, 2.0]"
