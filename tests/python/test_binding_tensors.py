"""Tensors of every framework go in and come out without a copy, and what cannot go in is refused by name."""

import numpy as np
import operator_runtime as oprt
import pytest
from binding_tools import DTYPES, Managed, ManagedVersioned, Producer, numpy_dtype, peek, poke
from numpy.lib.stride_tricks import as_strided

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jnp = jax.numpy

BEFORE = np.array([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]])
AFTER = np.array([[7.0, -8.0, 9.0], [-10.0, 11.0, -12.0]])


def to_numpy(values, dtype):
    return np.array(values).astype(numpy_dtype(dtype))


def to_torch(values, dtype):
    names = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    return torch.tensor(np.array(values), dtype=names[dtype])


def to_jax(values, dtype):
    return jnp.array(np.array(values).astype(numpy_dtype(dtype)))


def address(tensor):
    if isinstance(tensor, np.ndarray):
        return tensor.ctypes.data
    return tensor.data_ptr() if isinstance(tensor, torch.Tensor) else tensor.unsafe_buffer_pointer()


MAKERS = [to_numpy, to_torch, to_jax]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make_out", [to_numpy, to_torch])
@pytest.mark.parametrize("make_in", MAKERS)
def test_no_copy_in_or_out(make_in, make_out, dtype):
    src, out = make_in(BEFORE, dtype), make_out(np.zeros((2, 3)), dtype)
    right = to_numpy(AFTER, dtype)
    where_in, where_out = address(src), address(out)
    with oprt.prepare_relu(out, src) as prepared:
        poke(where_in, right)  # a copy made by now would not see this
        assert prepared.run() is out
    np.testing.assert_array_equal(peek(where_out, right), np.maximum(right, 0))
    assert address(out) == where_out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", MAKERS)
def test_results_are_the_callers_framework(make, dtype):
    src = make(BEFORE, dtype)
    out = oprt.relu(src, 0.5)
    assert type(out) is type(src) and out.dtype == src.dtype and out.shape == src.shape
    expected = np.where(BEFORE > 0, BEFORE, BEFORE / 2)
    np.testing.assert_array_equal(np.asarray(out.float() if make is to_torch else out, np.float32), expected)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (2, 0, 4)])
def test_rank_0_and_empty(make, shape):
    out = oprt.relu(make(np.full(shape, -2.0), "f32"))
    assert tuple(out.shape) == shape
    np.testing.assert_array_equal(np.asarray(out), np.zeros(shape))


@pytest.mark.parametrize("make", [to_numpy, to_torch])
def test_views_are_taken_as_they_are(make):
    base = make(np.arange(-12.0, 12.0).reshape(4, 6), "f32")
    for view in (base[:, 1::2], base[1:3, ::3], base.T, base[2], base[:, 3]):
        out = oprt.relu(view)
        np.testing.assert_array_equal(np.asarray(out), np.maximum(np.asarray(view), 0))
        oprt.relu_(view, view)  # in place through the same strides
        np.testing.assert_array_equal(np.asarray(view), np.asarray(out))


def test_numpy_negative_and_zero_strides():
    x = np.arange(-6.0, 6.0, dtype=np.float32).reshape(3, 4)
    for view in (x[::-1], x[:, ::-1], x[1:0:-1], np.broadcast_to(x[0], (5, 4))):
        np.testing.assert_array_equal(oprt.relu(view), np.maximum(view, 0))
    # The stride of an axis of length 1 says nothing, even where it is no whole number of elements.
    odd = np.lib.stride_tricks.as_strided(x, shape=(1, 4), strides=(7, 4))
    np.testing.assert_array_equal(oprt.relu(odd), np.maximum(x[:1], 0))


def test_a_result_keeps_a_dense_layout():
    transposed = np.zeros((3, 5), np.float32).T
    assert oprt.relu(transposed).strides == transposed.strides
    assert oprt.relu(torch.zeros(3, 5).T).stride() == (1, 5)


@pytest.mark.parametrize("make", [to_numpy, to_torch])
def test_a_call_unlike_the_one_before_is_not_taken_for_it(make):
    """Calls keep descriptors for their like: each of these differs from those before it in one thing alone."""
    x, gamma = np.linspace(-2, 3, 24).reshape(4, 6), np.linspace(1, 2, 6)

    def softmax(dtype="f32", view=lambda a: a, dim=1):
        a = view(make(x, dtype))
        got, want = oprt.softmax(a, dim), np.exp(view(x)) / np.exp(view(x)).sum(dim, keepdims=True)
        np.testing.assert_allclose(np.asarray(got, np.float32), want, rtol=1e-2)

    for _ in range(2):
        softmax()
        softmax("f16")
        softmax(dim=0)
        softmax(view=lambda a: a[:2])
        softmax(view=lambda a: a.T)
        softmax(view=lambda a: a[::2])
    for slope in (0.0, 0.5, 0.25, 0.5):
        np.testing.assert_allclose(
            np.asarray(oprt.relu(make(x, "f32"), slope)), np.where(x > 0, x, slope * x), rtol=1e-6
        )
    root = np.sqrt((x**2).mean(1, keepdims=True))
    for weight in (None, gamma, None):
        got = oprt.rmsnorm(make(x, "f32"), weight if weight is None else make(weight, "f32"), eps=0.0)
        np.testing.assert_allclose(np.asarray(got), x / root * (1 if weight is None else weight), rtol=1e-5)
    a = make(np.arange(8.0), "f32")
    oprt.relu_(a[:4], a[4:])
    with pytest.raises(oprt.InvalidArgumentError, match="relu: out: .* overlap"):
        oprt.relu_(a[1:5], a[:4])  # the same layout
    with pytest.raises(oprt.OperatorRuntimeError, match="metax"):
        oprt.relu_(a[:4], a[4:], backend="metax")


def test_more_layouts_than_are_kept():
    for n in [*range(1, 700), *range(1, 700)]:
        assert oprt.relu(np.full(n, 2, np.float32)).sum() == 2 * n


def test_frameworks_mix_in_one_call():
    out = torch.empty(2, 3)
    oprt.relu_(out, BEFORE.astype(np.float32))
    np.testing.assert_array_equal(out.numpy(), np.maximum(BEFORE, 0))
    assert isinstance(oprt.relu(jnp.ones(3)), jax.Array)


@pytest.mark.parametrize("kind", [Managed, ManagedVersioned])
def test_any_dlpack_producer(kind):
    src, out = Producer(np.array([-1.0, 2.0], np.float32), kind), Producer(np.zeros(2, np.float32), kind)
    assert oprt.relu_(out, src) is out
    np.testing.assert_array_equal(out.array, [0.0, 2.0])


def test_strides_may_be_absent_before_dlpack_1_2():
    producer = Producer(np.array([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], np.float32), Managed)
    make = producer.__dlpack__

    def without_strides():
        capsule = make()
        Producer._alive[-1][0].tensor.strides = None
        return capsule

    producer.__class__ = type("Old", (Producer,), {"__dlpack__": lambda self: without_strides()})
    np.testing.assert_array_equal(oprt.relu_(np.empty((2, 3), np.float32), producer), np.maximum(producer.array, 0))


def test_requires_grad_is_taken_and_records_nothing():
    weight = torch.nn.Parameter(torch.tensor([-1.0, 2.0]))
    out = oprt.relu(weight)
    assert not out.requires_grad and out.tolist() == [0.0, 2.0]


def read_only_numpy():
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "make",
    [
        read_only_numpy,
        lambda: np.broadcast_to(np.float32(1), (3,)),
        lambda: jnp.zeros(3),
        lambda: Producer(np.zeros(3, np.float32), flags=1),
    ],
    ids=["numpy", "broadcast", "jax", "dlpack flag"],
)
def test_read_only_is_an_input_only(make):
    tensor = make()
    np.testing.assert_array_equal(oprt.relu_(np.empty(3, np.float32), tensor) >= 0, True)
    with pytest.raises(
        oprt.InvalidArgumentError, match="relu: out: expected a tensor that may be written, got a read-"
    ):
        oprt.relu_(tensor, np.ones(3, np.float32))
    with pytest.raises(oprt.InvalidArgumentError, match="relu: out: .* read-only"):
        oprt.prepare_relu(tensor, np.ones(3, np.float32))


def good():
    return np.zeros(3, np.float32)


@pytest.mark.parametrize(
    "make, got",
    [
        (lambda: np.zeros(3), "float64"),
        (lambda: np.zeros(3, np.uint16), "uint16"),
        (lambda: np.zeros(3, bool), "bool"),
        (lambda: np.zeros(3, ">f4"), ">f4"),
        (lambda: np.zeros(3, object), "object"),
        (lambda: np.zeros(3, np.longdouble), "float128"),
        (lambda: np.zeros(3, "m8[s]"), "timedelta64"),
        (lambda: np.zeros(3, "U1"), "<U1"),
        (lambda: torch.complex(torch.ones(3), torch.ones(3)).conj(), "complex64"),
        (lambda: np.zeros(3, [("a", "f2")]), "a"),
        (lambda: np.zeros(3, "V2"), "V2"),
        (lambda: torch.zeros(3, dtype=torch.float64), "float64"),
        (lambda: torch.zeros(3, dtype=torch.bool), "bool"),
        (lambda: torch.zeros(3, dtype=torch.complex64), "complex64"),
        (lambda: torch.zeros(3, dtype=torch.int8), "int8"),
        (lambda: torch.zeros(3).to(torch.float8_e4m3fn), "8"),
        (lambda: jnp.zeros(3, jnp.uint32), "uint32"),
        (lambda: Producer(good(), dtype=(2, 32, 4)), "float32x4"),
    ],
)
def test_dtypes_that_oprt_lacks(make, got):
    for call in (lambda: oprt.relu_(good(), make()), lambda: oprt.prepare_relu(good(), make())):
        with pytest.raises(TypeError) as caught:
            call()
        assert isinstance(caught.value, oprt.UnsupportedDtypeError) and caught.value.status == 2
        message = str(caught.value)
        assert (
            message.startswith("relu: in: expected a dtype of oprt (f32, f16, bf16, i32, i64), got ") and got in message
        )


class NoStruct(np.ndarray):
    """A subclass that hides its memory."""

    __array_struct__ = 3


def emptied():
    tensor = torch.zeros(3)
    tensor.untyped_storage().resize_(0)
    return tensor


def deleted():
    array = jnp.zeros(3)
    array.delete()
    return array


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: [1.0, 2.0], "got list"),
        (lambda: 1.0, "got float"),
        (lambda: "x", "got str"),
        (lambda: np.float32(1), "got numpy.float32"),
        (lambda: None, "got a null pointer"),
        (lambda: np.zeros(3, [("a", "f4"), ("b", "i1")])["a"], "got a stride of 5 bytes on axis 0"),
        (lambda: torch.zeros(3, device="meta"), "got Tensor"),
        (lambda: torch.zeros(3).to_sparse(), "got Tensor"),
        (lambda: torch.tensor([1j, 2j, 3j]).conj().imag, "negative bit"),
        (lambda: torch.zeros((1,) * 9), "got rank 9"),
        (lambda: torch.zeros(3).to_mkldnn(), "got Tensor"),
        (emptied, "got a null pointer"),
        (lambda: memoryview(good()), "got memoryview"),
        (lambda: b"12 bytes her", "got bytes"),
        (lambda: jax.ShapeDtypeStruct((3,), jnp.float32), "got ShapeDtypeStruct"),
        (deleted, "got jaxlib"),
        (lambda: np.zeros((1,) * 9, np.float32), "got rank 9"),
        (lambda: np.frombuffer(bytes(13), np.float32, 3, 1), "an address that is a multiple of 4 bytes"),
        (lambda: as_strided(good(), (3,), (1 << 62,)), "strides that reach less than 2^63 bytes"),
        (lambda: as_strided(good(), (3,), (-(1 << 62),)), "strides that reach less than 2^63 bytes"),
        (lambda: good().view(NoStruct), "a capsule as __array_struct__, got int"),
        (lambda: Producer(good(), major=2), "got version 2"),
    ],
)
def test_what_is_no_tensor_is_refused_by_name(make, says):
    with pytest.raises(oprt.InvalidArgumentError) as caught:
        oprt.relu_(good(), make())
    assert isinstance(caught.value, ValueError) and caught.value.status == 1
    message = str(caught.value)
    assert message.startswith("relu: in: expected ") and says in message


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_jax_tracer_has_no_memory(transform):
    with pytest.raises(oprt.InvalidArgumentError, match="relu: in: expected a tensor: .*, got .*Tracer"):
        transform(oprt.relu)(jnp.ones((2, 3)))


@pytest.mark.parametrize("transform", [torch.func.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())])
def test_a_torch_transform_has_no_memory(transform):
    with pytest.raises(oprt.InvalidArgumentError, match="relu: in: expected a tensor with strided memory, got Tensor"):
        transform(oprt.relu)(torch.ones(2, 3))


@pytest.mark.parametrize("subclass", [np.matrix, np.recarray, np.ma.MaskedArray])
def test_a_subclass_of_numpys_array_counts_as_its_memory(subclass):
    """As np.asarray would take it: a mask, for one, is not looked at. The result is a plain array."""
    x = BEFORE.astype(np.float32)
    out = oprt.relu(x.view(subclass))
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, np.maximum(x, 0))


def test_fortran_order_and_rank_0():
    x = np.asfortranarray(BEFORE.astype(np.float32))
    for out in (oprt.relu(x), oprt.relu_(np.empty((2, 3), np.float32), x)):
        np.testing.assert_array_equal(out, np.maximum(x, 0))
    assert oprt.relu(x).flags.f_contiguous
    out = np.array(5, np.float32)
    assert oprt.relu_(out, np.array(-2, np.float32)) is out and out == 0 and out.shape == ()


def test_an_output_that_repeats_an_address_is_refused():
    for out in (torch.zeros(1, 3).expand(2, 3), as_strided(good(), (2, 3), (0, 4))):
        with pytest.raises(oprt.InvalidArgumentError, match=r"relu: out: .*address of its own.*\[0, 1\]"):
            oprt.relu_(out, np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda x: oprt.softmax(x, dim="a"), "softmax: axis: expected an integer, got str"),
        (lambda x: oprt.softmax(x, dim=1.0), "softmax: axis: expected an integer, got float"),
        (lambda x: oprt.softmax(x, dim=1 << 70), "softmax: axis: expected an integer of 64 bits"),
        (lambda x: oprt.reduce_sum(x, dim=(0, 1)), "reduce_sum: axis: expected an integer, got tuple"),
        (lambda x: oprt.relu(x, None), "relu: negative_slope: expected a number, got NoneType"),
        (lambda x: oprt.rmsnorm(x, eps="x"), "rmsnorm: eps: expected a number, got str"),
        (lambda x: oprt.rmsnorm(x, eps=-1), "rmsnorm: eps: expected 0 or more, got -1$"),
        (lambda x: oprt.layernorm(x, eps=-1e-9), "layernorm: eps: expected 0 or more, got -1e-09$"),
        (lambda x: oprt.matmul(x, x.T, allow_tf32="no"), "matmul: allow_tf32: expected an integer, got str"),
        (lambda x: oprt.matmul(x[0], x), r"matmul: a: expected rank 2 or more, got shape \[3\]"),
        (lambda x: oprt.gelu(x, []), r"gelu: approximate: expected one of 'none', 'tanh', got \[\]"),
        (lambda x: oprt.relu(x, backend=5), "relu: backend: expected one of .* got 5"),
        (lambda x: oprt.relu_(None, x), "relu: out: expected a tensor view, got a null pointer"),
    ],
)
def test_odd_scalars_are_answered_in_a_sentence(call, says):
    with pytest.raises(oprt.InvalidArgumentError, match=f"^{says}"):
        call(BEFORE.astype(np.float32))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dtype, got", [(None, "None"), ("f64", "f64"), (int, "int"), (np.float64, "float64")])
def test_a_dtype_that_cast_lacks(make, dtype, got):
    with pytest.raises(
        oprt.UnsupportedDtypeError, match=f"^cast: dtype: expected f16, f32, bf16, i32, i64, got {got}$"
    ):
        oprt.cast(make(BEFORE, "f32"), dtype)


@pytest.mark.parametrize("make", [lambda: [1.0], lambda: 2.0, lambda: None, lambda: Producer(good())])
def test_a_result_needs_a_framework(make):
    with pytest.raises(
        oprt.InvalidArgumentError, match="relu: in: expected a tensor of NumPy, PyTorch, CuPy or JAX, got "
    ):
        oprt.relu(make())


@pytest.mark.parametrize(
    "make", [lambda: np.zeros(3), lambda: torch.zeros(3, dtype=torch.int8), lambda: jnp.zeros(3, jnp.int8)]
)
def test_a_result_of_a_dtype_that_oprt_lacks(make):
    with pytest.raises(oprt.UnsupportedDtypeError, match="relu: .*, got (float64|int8)"):
        oprt.relu(make())


@pytest.mark.parametrize("device, name", [((2, 3), "cuda:3"), ((13, 0), "cuda:0"), ((10, 0), "type 10")])
def test_memory_that_this_build_cannot_reach(device, name):
    with pytest.raises(oprt.OperatorRuntimeError, match=f"relu: in: expected data in host memory.*{name}") as caught:
        oprt.relu_(good(), Producer(good(), device=device))
    assert caught.value.status == 5
