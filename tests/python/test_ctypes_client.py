"""A client that knows nothing but the C interface: it lays the tensor view out itself, in ctypes, and runs the five
operators of the earlier runtime."""

import ctypes

import numpy as np
import pytest

F16, F32 = 0, 1
SUCCESS, INVALID_ARG = 0, 1


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),  # elements
    ]


def view(array):
    dtype = {"float16": F16, "float32": F32}[array.dtype.name]
    strides = [stride // array.itemsize for stride in array.strides]
    return View(
        array.ctypes.data, dtype, array.ndim, (ctypes.c_int64 * 8)(*array.shape), (ctypes.c_int64 * 8)(*strides)
    )


class Client:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.oprt_last_error_message.restype = ctypes.c_char_p
        self.library.oprt_status_string.restype = ctypes.c_char_p

    def message(self):
        return self.library.oprt_last_error_message().decode()

    def run(self, op, arrays, *scalars):
        """Create, ask for the workspace, execute, destroy; the first status that is not success, or success."""
        desc = ctypes.c_void_p()
        views = [view(array) for array in arrays]
        create = getattr(self.library, f"oprt_create_{op}_descriptor")
        status = create(ctypes.byref(desc), *map(ctypes.byref, views), *scalars)
        if status != SUCCESS:
            assert not desc
            return status
        size = ctypes.c_size_t(1 << 40)
        assert getattr(self.library, f"oprt_get_{op}_workspace_size")(desc, ctypes.byref(size)) == SUCCESS
        workspace = ctypes.create_string_buffer(max(size.value, 1))
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        status = getattr(self.library, f"oprt_execute_{op}")(desc, workspace, size, *pointers, None)
        assert getattr(self.library, f"oprt_destroy_{op}_descriptor")(desc) == SUCCESS
        return status


@pytest.fixture(scope="module", params=["liboprt.so.1", "libcamp_ops.so"])
def client(request, build):
    return Client(build / request.param)


@pytest.fixture(params=["float16", "float32"])
def x(request):
    return np.random.default_rng(0).normal(size=(5, 7)).astype(request.param)


def close(got, right):
    unit = 2.0**-10 if got.dtype == np.float16 else 2.0**-23
    return np.allclose(got, right, rtol=4 * unit, atol=4 * unit)


def test_view_layout():
    offsets = [getattr(View, name).offset for name, _ in View._fields_]
    assert (ctypes.sizeof(View), offsets) == (144, [0, 8, 12, 16, 80])


def test_copy_of_a_transposed_view(client, x):
    out = np.full((7, 5), np.nan, x.dtype)
    assert client.run("copy", [out, x.T]) == SUCCESS, client.message()
    assert np.array_equal(out, x.T)


def test_vector_add_with_broadcasting(client, x):
    row = np.arange(7, dtype=x.dtype)
    out = np.full_like(x, np.nan)
    assert client.run("vector_add", [out, x, row]) == SUCCESS, client.message()
    assert np.array_equal(out, x + row)


def test_relu_with_a_slope(client, x):
    out = np.full_like(x, np.nan)
    assert client.run("relu", [out, x], ctypes.c_float(0.25)) == SUCCESS, client.message()
    assert np.array_equal(out, np.where(x > 0, x, x * x.dtype.type(0.25)))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("keeps", [False, True])
def test_reduce_sum_of_both_ranks(client, x, axis, keeps):
    right = x.astype(np.float64).sum(axis=axis, keepdims=keeps)
    out = np.full(right.shape, np.nan, x.dtype)
    assert client.run("reduce_sum", [out, x], ctypes.c_int64(axis)) == SUCCESS, client.message()
    assert close(out, right)


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_softmax(client, x, axis):
    out = np.full_like(x, np.nan)
    assert client.run("softmax", [out, x], ctypes.c_int64(axis)) == SUCCESS, client.message()
    e = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    assert close(out, e / e.sum(axis=axis, keepdims=True))


def test_a_wrong_call_is_answered(client, x):
    out = np.zeros((5, 8), x.dtype)
    assert client.run("softmax", [out, x], ctypes.c_int64(1)) == INVALID_ARG
    assert client.message() == "softmax: in: expected shape [5, 8] as out, got shape [5, 7]"
    assert client.library.oprt_status_string(INVALID_ARG) == b"invalid argument"
    assert not out.any()
