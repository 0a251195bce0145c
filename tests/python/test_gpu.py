"""What a GPU does otherwise than the CPU: `pytest --backend nvidia`, on a GPU or on the virtual one."""

import ctypes
import functools
import os
import subprocess
import sys
import types

import ml_dtypes
import numpy as np
import operator_runtime as ort
import pytest
from binding_tools import Device, Managed, ManagedVersioned, Producer, liboprt, managed_of
from operator_runtime import _native
from operator_runtime.testing.device import OnDevice
from operator_runtime.testing.dtypes import name_of
from operator_runtime.testing.layout import filled


@pytest.fixture(autouse=True)
def gpu(backend):
    if backend != "nvidia":
        pytest.skip("needs --backend nvidia")
    _native.take_device_errors()


def run(op, outs, ins, **params):
    prepare = functools.partial(getattr(ort, f"prepare_{op}"), backend="nvidia", **params)
    with OnDevice(prepare, [*outs, *ins]) as prepared:
        prepared.run()
        return prepared.kernel


BAD_IDS = {np.int32: (10, -1, -1923, 2**31 - 1), np.int64: (10, -1, -1923, -(2**63), 2**32 + 3)}


@pytest.mark.parametrize("kind", BAD_IDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
def test_c32_rows_of_bad_ids(kind, dtype):
    """NaN, 0 for integers; the others are right, the count is told, and once."""
    table = np.arange(80).reshape(10, 8).astype(dtype)
    for bad in BAD_IDS[kind]:
        ids = np.array([[0, 9, bad], [2, bad, 5]], kind)
        out = np.full((2, 3, 8), 7, dtype)
        run("embedding", [out], [table, ids])
        right = np.where(
            (ids == bad)[..., None], np.nan if out.dtype.kind == "f" else 0, table[np.where(ids == bad, 0, ids)]
        )
        np.testing.assert_array_equal(out, right.astype(dtype))
        assert _native.take_device_errors() == 2
        assert _native.take_device_errors() == 0


@pytest.mark.parametrize("mode", ["half", "interleaved"])
def test_c32_tokens_of_bad_positions(mode):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 3, 24)).astype(np.float32)
    cos, sin = ort.rope_table(5, 16)
    positions = np.array([1, 5, -1, 4])
    good = [0, 3]
    right = ort.rope(x[good], cos, sin, positions[good], mode)
    out = np.zeros_like(x)
    run("rope", [out], [x, cos, sin, positions], mode=mode)
    np.testing.assert_allclose(out[good], right, rtol=1e-6, atol=1e-6)
    assert np.isnan(out[[1, 2]]).all()
    assert _native.take_device_errors() == 2


class Memory(Producer):
    """A DLPack producer of GPU memory that tells no stream."""

    def __init__(self, array, kind=ManagedVersioned):
        super().__init__(array, kind, device=(2, 0))
        pointer = ctypes.c_void_p()
        assert liboprt().oprt_memory_alloc(GPU, ctypes.c_size_t(array.nbytes), ctypes.byref(pointer)) == 0
        self.pointer = pointer.value
        self.move(self.pointer, GPU, array.ctypes.data, HOST)

    def move(self, to, to_device, source, source_device):
        size = ctypes.c_size_t(self.array.nbytes)
        assert (
            liboprt().oprt_memory_copy(ctypes.c_void_p(to), to_device, ctypes.c_void_p(source), source_device, size)
            == 0
        )

    def fetch(self):
        self.move(self.array.ctypes.data, HOST, self.pointer, GPU)
        return self.array


HOST, GPU = Device(3, 0), Device(1, 0)  # oprt_device_t: backend, index


@pytest.mark.parametrize("kind", [Managed, ManagedVersioned])
def test_c41_a_producer_is_told_the_stream_and_its_export_is_kept(kind):
    src, out = Memory(np.array([-1, 2], np.float32), kind), Memory(np.zeros(2, np.float32), kind)
    assert ort.relu_(out, src) is out
    assert (src.deleted, out.deleted) == (0, 0)  # the kernel may still run
    np.testing.assert_array_equal(out.fetch(), [0, 2])
    legacy = 1
    version = {"max_version": (1, 3)} if kind is ManagedVersioned else {}
    assert src.requests == out.requests == [{"stream": legacy, **version}]
    ort.relu_(Memory(np.zeros(2, np.float32)), Memory(np.zeros(2, np.float32)))
    assert (src.deleted, out.deleted) == (1, 1)  # that kernel was done


def test_cupy_tells_its_stream(monkeypatch):
    """By a module of that name, so that this runs without CuPy. Nobody is told to wait, and no export is kept."""
    stream, asked = ctypes.c_void_p(), []
    assert liboprt().oprt_stream_create(GPU, ctypes.byref(stream)) == 0

    def get_current_stream(device):
        asked.append(device)
        return types.SimpleNamespace(ptr=stream.value)

    cuda = types.SimpleNamespace(get_current_stream=get_current_stream)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    ndarray = type("ndarray", (Memory,), {"__module__": "cupy"})
    src, out = ndarray(np.array([-1, 2], np.float32)), ndarray(np.zeros(2, np.float32))
    other = Memory(np.array([5, -5], np.float32))
    ort.relu_(out, src)
    assert liboprt().oprt_stream_synchronize(GPU, stream) == 0
    np.testing.assert_array_equal(out.fetch(), [0, 2])
    ort.vector_add_(out, other, src)  # another framework's tensor is made ready for that stream
    assert liboprt().oprt_stream_synchronize(GPU, stream) == 0
    np.testing.assert_array_equal(out.fetch(), [4, -3])
    assert asked and {*asked} == {0}
    assert [request["stream"] for request in src.requests + other.requests] == [-1, -1, stream.value]
    assert (src.deleted, out.deleted, other.deleted) == (2, 2, 0)
    assert liboprt().oprt_stream_destroy(GPU, stream) == 0


def test_a_prepared_operator_keeps_exports_past_its_end():
    src, other = (Memory(np.array([x, -x], np.float32)) for x in (1, 2))
    out = Memory(np.zeros(2, np.float32))
    prepared = ort.prepare_relu(out, src)
    prepared.run()
    np.testing.assert_array_equal(out.fetch(), [1, 0])
    prepared.run_inputs(other)
    np.testing.assert_array_equal(out.fetch(), [2, 0])
    prepared.destroy()
    assert src.deleted == 0
    ort.relu_(Memory(np.zeros(2, np.float32)), Memory(np.zeros(2, np.float32)))
    assert (src.deleted, other.deleted, out.deleted) == (1, 1, 1)


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_c42_a_result_on_the_gpu_is_handed_over(stream):
    src = Memory(np.array([-1, 2, 3], np.float32))
    allocation = _native.empty("relu", (3,), "f32", 0)
    _native.operator("relu")(None, allocation, src, 0.0)
    assert allocation.__dlpack_device__() == (2, 0)
    for wrong in ({"stream": 0}, {"stream": -2}, {"dl_device": (1, 0)}, {"copy": True}):
        with pytest.raises(BufferError):
            allocation.__dlpack__(**wrong)
    capsule = allocation.__dlpack__(stream=stream, dl_device=(2, 0))
    tensor = managed_of(capsule, Managed).tensor
    assert (tensor.device.type, tensor.device.id, tensor.ndim, tensor.data % 256) == (2, 0, 1, 0)
    src.move(src.array.ctypes.data, HOST, tensor.data, GPU)
    np.testing.assert_array_equal(src.array, [0, 2, 3])


def test_mixed_places_are_refused():
    host = np.zeros(4, np.float32)
    device = _native.DeviceBuffer(16)
    with pytest.raises(ort.OperatorRuntimeError, match=r"data on (cpu|nvidia):0"):
        ort.relu_(host, device.view("f32", [4], [1], 0))


def test_the_cpu_does_not_take_a_gpus_memory():
    view = _native.DeviceBuffer(16).view("f32", [4], [1], 0)
    with pytest.raises(ValueError, match="where the data lives"):
        ort.relu_(view, view, backend="cpu")


def test_other_inputs_of_a_prepared_operator_lie_where_the_first_did():
    memory = _native.DeviceBuffer(32)
    prepared = ort.prepare_relu(memory.view("f32", [4], [1], 0), memory.view("f32", [4], [1], 16))
    with pytest.raises(ort.InvalidArgumentError, match="relu: in: expected data on nvidia:0, got data on cpu:0"):
        prepared.run_inputs(np.zeros(4, np.float32))


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("shape", [(128, 256), (65, 131), (16, 300), (3, 40, 72)], ids=str)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_axes_in_different_orders_go_by_tiles(dtype, shape, start):
    """Whole tiles, their edges and less than one, at 16-byte addresses and between: the other input turned as well,
    lying as out does, being out, or one element for a row, a column or all of them."""
    rng = np.random.default_rng(7)

    def lying_as(*lengths):
        values = rng.standard_normal(start + np.prod(lengths)).astype(dtype)
        return values[start:].reshape(lengths)

    *outer, k, i = shape
    turned = lying_as(*outer, i, k).swapaxes(-1, -2)
    others = (lying_as(*outer, i, k).swapaxes(-1, -2), lying_as(*shape), lying_as(k, 1), lying_as(i), lying_as(1))
    for other in others:
        out = lying_as(*shape)
        right = turned + other
        assert run("vector_add", [out], [turned, other]) == "vector_add_transpose"
        np.testing.assert_array_equal(out, right)
    in_place = lying_as(*shape)
    right = in_place + turned
    run("vector_add", [in_place], [in_place, turned])
    np.testing.assert_array_equal(in_place, right)
    out = lying_as(*shape)
    assert run("relu", [out], [turned], negative_slope=0.0) == "relu_transpose"
    np.testing.assert_array_equal(out, np.maximum(turned, 0))


def test_add_rmsnorm_is_vector_add_then_rmsnorm():
    rng = np.random.default_rng(4)
    for n in (7, 300, 5000, 40_000):
        x, r = rng.standard_normal((2, 3, n)).astype(np.float16)
        gamma = rng.standard_normal(n).astype(np.float16)
        total, composed, out, residual = (np.zeros_like(x) for _ in range(4))
        run("vector_add", [total], [x, r])
        run("rmsnorm", [composed], [total, gamma])
        run("add_rmsnorm", [out, residual], [x, r, gamma])
        assert residual.tobytes() == total.tobytes()
        assert out.tobytes() == composed.tobytes()


def placed(values, dtype, offset):
    """The values so many elements past an aligned address."""
    memory = filled(values.size + offset, name_of(dtype))
    view = memory[offset:].reshape(values.shape)
    view[...] = values
    return view


@pytest.mark.parametrize("op", ["softmax", "rmsnorm", "layernorm", "add_rmsnorm"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_a_row_has_its_bits_however_it_is_held(op, dtype, request):
    """Alone, where a row stays in registers; beside so many that rows lie in shared memory; and at an odd address."""
    rng = np.random.default_rng(6)
    weights_of = {"softmax": 0, "rmsnorm": 1, "layernorm": 2, "add_rmsnorm": 1}[op]
    for n in (64, 511, 512, 768, 1024, 1536, 4095, 4096, 8192, 16_384, 32_768, 40_000, 40_001, 131_072):
        rows = [rng.standard_normal((1, n)).astype(dtype) for _ in range(2 if op == "add_rmsnorm" else 1)]
        for kind in {dtype, np.float32} if weights_of else {dtype}:
            # The sample has many rows of such lengths.
            apart = request.config.getoption("--sample") and kind == dtype and n % 8 == 0
            many = 2 if n > 4096 or apart else (1 << 17) // min(32, n // 8) + 1
            weights = [rng.standard_normal(n).astype(kind) for _ in range(weights_of)]
            found = []
            for count, offset in ((1, 0), (many, 0), (1, 1), (2, 3)):
                ins = [placed(np.repeat(row, count, axis=0), dtype, offset) for row in rows]
                outs = [placed(np.zeros((count, n)), dtype, offset) for _ in rows]
                run(op, outs, [*ins, *weights])
                found += [out[[0, -1]].tobytes() for out in outs]
            assert len(set(found)) == len(rows), n


ROW_OPERATORS = {  # parameters beside the axis, and weights
    "reduce_sum": ({}, 0),
    "softmax": ({}, 0),
    "layernorm": ({"eps": 1e-5}, 2),
    "rmsnorm": ({"eps": 1e-5}, 1),
}


def rows_at(op, x, dim, offset):
    """The operator on x so many elements past an aligned address: the bits of its output, and the kernel."""
    params, weights = ROW_OPERATORS[op]
    gammas = [np.linspace(0.5, 1.5, x.shape[dim]).astype(x.dtype)] * weights
    out = (
        np.zeros(np.delete(x.shape, dim), x.dtype) if op == "reduce_sum" else placed(np.zeros(x.shape), x.dtype, offset)
    )
    kernel = run(op, [out], [placed(x, x.dtype, offset), *gammas], dim=dim, **params)
    return out.tobytes(), kernel


@pytest.mark.parametrize("op", ROW_OPERATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_columns_have_the_same_bits_in_words_and_by_elements(op, dtype):
    rng = np.random.default_rng(6)
    long = "split_columns" if op == "reduce_sum" else "cluster_columns"
    for length, path in ((40, "columns"), (300, "columns"), (600, long), (4100, "split_columns")):
        x = rng.standard_normal((length, 40)).astype(dtype)
        (words, kernel), (elements, _) = (rows_at(op, x, 0, offset) for offset in (0, 1))
        assert kernel == f"{op}_{path}"
        assert words == elements


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    "dim, length, kernels", [(1, 17_000, ("split_row", "long_row")), (0, 600, ("split_columns", "long_columns"))]
)
def test_a_long_sum_has_the_same_bits_beside_few_and_many(dim, length, kernels, dtype):
    few = np.random.default_rng(7).standard_normal((4, length)).astype(dtype)
    many = np.tile(few, (32 if dim else 1024, 1))
    (right, one), (tiled, other) = (rows_at("reduce_sum", x if dim else x.T.copy(), dim, 0) for x in (few, many))
    assert (one, other) == tuple(f"reduce_sum_{kernel}" for kernel in kernels)
    assert tiled == right * (len(many) // len(few))


@pytest.mark.parametrize("algorithm", ["library", "auto", "tiled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("odd", ["out", "a", "b", "bias"])
def test_c07_a_product_with_one_odd_operand(odd, dtype, algorithm):
    """Every operand but one at an aligned address. cuBLASLt refuses a bias that is the odd one."""
    rng = np.random.default_rng(5)
    for m, n, k in ((31, 2, 6), (6, 2, 22), (5, 7, 9), (64, 16, 32), (130, 264, 72)):
        a, b, bias = (rng.integers(-2, 3, shape).astype(dtype) for shape in ((m, k), (k, n), (n,)))
        right = a.astype(np.float32) @ b.astype(np.float32) + bias.astype(np.float32)
        for offset in (1, 2, 3, 7):
            at = {name: offset if name == odd else 0 for name in ("out", "a", "b", "bias")}
            out = placed(np.zeros((m, n)), dtype, at["out"])
            ins = [placed(values, dtype, at[name]) for name, values in (("a", a), ("b", b), ("bias", bias))]
            try:
                run("matmul", [out], ins, algorithm=algorithm)
            except ort.OperatorRuntimeError as refusal:
                if algorithm != "library" or "expected a library" not in str(refusal):
                    raise
                pytest.skip(str(refusal))
            np.testing.assert_array_equal(out.astype(np.float32), right.astype(dtype).astype(np.float32))


COPIES = """
import operator_runtime as ort
import numpy as np
from operator_runtime.testing.device import OnDevice

for count in (1, 7, 16, 4095, 4096, 4097, 16_384, 100_003):
    src, dst = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    with OnDevice(lambda *views: ort.prepare_copy(*views, backend="nvidia"), [dst, src]) as prepared:
        prepared.run()
        assert prepared.kernel == "copy_cute", prepared.kernel
    assert np.array_equal(src, dst), count
"""


def test_copy_by_cute_is_copy():
    """In a process of its own: the choice is made once."""
    if "copy_cute" not in _native.kernels("copy", "nvidia"):
        pytest.skip("built without CuTe")
    done = subprocess.run([sys.executable, "-c", COPIES], env=os.environ | {"OPRT_COPY": "cute"}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
