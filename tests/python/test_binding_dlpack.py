"""DLPack in and out: what is asked of producers, who frees what, and that nothing leaks."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import operator_runtime as oprt
import pytest
from binding_tools import Managed, ManagedVersioned, Producer, consume, managed_of, resident_bytes
from operator_runtime import _native

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")

KINDS = [Managed, ManagedVersioned]


def ones(n=3):
    return np.ones(n, np.float32)


def export(allocation, kind):
    return allocation.__dlpack__(max_version=(1, 0) if kind is ManagedVersioned else None)


class Capsule:
    """Hands over one capsule as often as it is asked."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **request):
        return self.capsule


# In


def test_c41_host_memory_is_asked_for_without_a_stream():
    producer = Producer(ones())
    oprt.relu_(np.empty(3, np.float32), producer)
    assert producer.requests == [{"max_version": (1, 3)}]


@pytest.mark.parametrize("kind", KINDS)
def test_c42_a_producers_deleter_runs_once(kind):
    src, out = Producer(ones(), kind), Producer(np.zeros(3, np.float32), kind)
    oprt.relu_(out, src)
    assert (src.deleted, out.deleted) == (1, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_c42_a_prepared_operator_holds_the_export(kind):
    src, other = Producer(ones(), kind), Producer(ones(), kind)
    prepared = oprt.prepare_relu(np.empty(3, np.float32), src)
    prepared.run()
    assert src.deleted == 0
    prepared.run_inputs(other)
    assert (src.deleted, other.deleted) == (0, 1)
    prepared.destroy()
    prepared.destroy()
    assert src.deleted == 1


@pytest.mark.parametrize(
    "wrong",
    [{"major": 2}, {"dtype": (2, 64, 1)}, {"flags": 1}],
    ids=["version", "dtype", "read-only"],
)
def test_c42_a_refused_export_is_given_back_once(wrong):
    producer = Producer(ones(), **wrong)
    with pytest.raises(oprt.OperatorRuntimeError):
        oprt.relu_(producer, ones())
    assert producer.deleted == 1


def test_a_producer_that_raises_is_the_cause():
    class Raises:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **request):
            raise BufferError("no")

    with pytest.raises(oprt.InvalidArgumentError, match="relu: in: expected a tensor that exports") as caught:
        oprt.relu_(ones(), Raises())
    assert isinstance(caught.value.__cause__, BufferError)


@pytest.mark.parametrize("capsule", [None, 5, "x"])
def test_a_producer_without_a_capsule(capsule):
    with pytest.raises(oprt.InvalidArgumentError, match="relu: in: expected a DLPack capsule"):
        oprt.relu_(ones(), Capsule(capsule))


def test_a_consumed_capsule_is_refused():
    producer = Producer(ones())
    capsule = producer.__dlpack__()
    consume(capsule, ManagedVersioned)
    with pytest.raises(oprt.InvalidArgumentError, match="relu: in: expected a DLPack capsule"):
        oprt.relu_(np.empty(3, np.float32), Capsule(capsule))
    assert producer.deleted == 0


# Out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "dtype, code", [("f32", (2, 32)), ("f16", (2, 16)), ("bf16", (4, 16)), ("i32", (0, 32)), ("i64", (0, 64))]
)
def test_what_an_export_says(kind, dtype, code):
    allocation = _native.empty("relu", (2, 0, 3), dtype)
    assert allocation.__dlpack_device__() == (1, 0)
    capsule = export(allocation, kind)
    tensor = managed_of(capsule, kind).tensor
    assert (tensor.device.type, tensor.device.id) == (1, 0)
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (*code, 1)
    assert tensor.shape[:3] == [2, 0, 3] and tensor.strides[:3] == [0, 3, 1] and tensor.byte_offset == 0
    assert tensor.data is None  # empty


def test_an_export_is_aligned_and_is_the_memory_that_was_written():
    for n in (1, 5, 1000):
        allocation = _native.empty("relu", (n,), "f32")
        _native.operator("relu")(None, allocation, ones(n), 0.0)
        capsule = export(allocation, ManagedVersioned)
        pointer = managed_of(capsule, ManagedVersioned).tensor.data
        assert pointer % 64 == 0
        array = np.from_dlpack(Capsule(capsule))
        assert array.ctypes.data == pointer and array.flags.writeable
        np.testing.assert_array_equal(array, ones(n))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_jax_takes_the_memory_itself(dtype):
    allocation = _native.empty("relu", (64, 3), dtype)
    capsule = export(allocation, Managed)
    pointer = managed_of(capsule, Managed).tensor.data
    assert jax.dlpack.from_dlpack(Capsule(capsule)).unsafe_buffer_pointer() == pointer


@pytest.mark.parametrize("take", [np.from_dlpack, torch.from_dlpack, jax.dlpack.from_dlpack])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), ()])
def test_c42_empty_exports(take, shape):
    taken = take(_native.empty("relu", shape, "f32"))
    assert tuple(taken.shape) == shape


def test_c42_the_second_export_raises():
    allocation = _native.empty("relu", (3,), "f32")
    capsule = allocation.__dlpack__()
    with pytest.raises(BufferError, match="given away"):
        allocation.__dlpack__()
    with pytest.raises(oprt.InvalidArgumentError, match="given away"):
        _native.operator("relu")(None, allocation, ones(), 0.0)
    torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError):
        torch.from_dlpack(capsule)


@pytest.mark.parametrize("kind", KINDS)
def test_c42_dropped_exports_free_their_memory(kind):
    size = (16 << 10,)  # 64 KiB of f32, so that 1e5 leaks would be 6.5 GB

    def drop(count):
        for _ in range(count):
            export(_native.empty("relu", size, "f32"), kind)
            _native.empty("relu", size, "f32")  # never exported

    drop(1000)
    before = resident_bytes()
    drop(100_000)
    assert resident_bytes() - before < 16 << 20


@pytest.mark.parametrize("kind", KINDS)
def test_c42_a_consumer_frees_on_a_thread_that_is_not_pythons(kind):
    libc = ctypes.CDLL(None)

    def give_away(count):
        for _ in range(count):
            managed = consume(export(_native.empty("relu", (16 << 10,), "f32"), kind), kind)
            ctypes.memset(managed.tensor.data, 1, 64 << 10)  # memory counts once it is touched
            deleter = ctypes.cast(managed.deleter, ctypes.c_void_p)
            thread = ctypes.c_ulong()
            assert libc.pthread_create(ctypes.byref(thread), None, deleter, ctypes.byref(managed)) == 0
            assert libc.pthread_join(thread, None) == 0

    give_away(100)
    before = resident_bytes()
    give_away(2000)  # 130 MB
    assert resident_bytes() - before < 16 << 20


def test_c42_results_freed_on_another_thread():
    results = [oprt.relu(jax.numpy.ones(1000)) for _ in range(20)]
    thread = threading.Thread(target=results.clear)
    thread.start()
    thread.join()
    assert not results


def test_c42_exports_alive_when_the_interpreter_ends():
    program = """
import numpy as np, operator_runtime as oprt
from operator_runtime import _native
unconsumed = _native.empty("relu", (3,), "f32").__dlpack__()
unexported = _native.empty("relu", (3,), "f32")
consumed = np.from_dlpack(_native.empty("relu", (3,), "f32"))
prepared = oprt.prepare_relu(np.empty(3, np.float32), np.ones(3, np.float32))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "request_",
    [{"stream": 1}, {"stream": -1}, {"stream": 0}, {"dl_device": (2, 0)}, {"copy": True}],
    ids=str,
)
def test_c41_what_an_export_cannot_give(request_):
    allocation = _native.empty("relu", (3,), "f32")
    with pytest.raises(BufferError):
        allocation.__dlpack__(**request_)
    assert allocation.__dlpack__(stream=None, dl_device=(1, 0), copy=False) is not None


@pytest.mark.parametrize("shape", [(-1,), (1 << 40, 1 << 40), (1,) * 9])
def test_shapes_that_cannot_be_allocated(shape):
    with pytest.raises(oprt.InvalidArgumentError, match="relu: out: expected"):
        _native.empty("relu", shape, "f32")


def test_more_memory_than_there_is():
    with pytest.raises(oprt.OperatorRuntimeError, match="relu: host memory ran out") as caught:
        _native.empty("relu", (1 << 60,), "f32")
    assert caught.value.status == 6
