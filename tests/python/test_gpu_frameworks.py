"""PyTorch's, CuPy's and JAX's tensors on a GPU: `pytest --backend nvidia`, where PyTorch has one."""

import ctypes
import os
import subprocess
import sys
import time

import numpy as np
import operator_runtime as oprt
import pytest
from operator_runtime.testing.load import suites

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch sees no GPU", allow_module_level=True)

import operator_runtime.torch_ops as ops  # noqa: E402
from torch_calls import OPERATORS, TorchCall, as_list  # noqa: E402

LONG = 400_000_000  # cycles of a kernel that is still running when the host goes on: 0.2 s


@pytest.fixture(autouse=True)
def gpu(backend):
    if backend != "nvidia":
        pytest.skip("needs --backend nvidia")


two_gpus = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")


def run(program, *arguments):
    """A program in a process of its own, which finds the modules that are found here."""
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=os.environ | path, capture_output=True, text=True)


def check_values(call):
    """Every way to make the call, judged; False where this machine may refuse it."""
    op, outs, ins, params = call.op, call.outs, call.ins, call.params
    try:
        assert as_list(getattr(oprt, f"{op}_")(*outs, *ins, **params)) == outs
    except oprt.OperatorRuntimeError as refusal:
        if not call.may_refuse(refusal):
            raise
        return False
    assert not call.complaints(outs)
    results = as_list(getattr(oprt, op)(*ins, **call.allocating_params))
    assert all(result.device == ins[0].device for result in results)
    assert not call.complaints(results)
    for out in outs:
        out.fill_(0 if out.dtype in (torch.int32, torch.int64) else torch.nan)
    with getattr(oprt, f"prepare_{op}")(*outs, *ins, **params) as prepared:
        prepared.run()
        assert not call.complaints(outs)
    return True


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "rank 0", "empty"])
@pytest.mark.parametrize("op", OPERATORS)
def test_torch_values(op, layout):
    if layout not in suites()[op].layouts:
        pytest.skip("the operator has no such layout")
    made = [
        check_values(TorchCall(op, dtype, index, layout, "cuda")) for dtype in suites()[op].dtypes for index in range(4)
    ]
    assert any(made)


@two_gpus
@pytest.mark.parametrize("op", OPERATORS)
def test_the_datas_device_need_not_be_current(op):
    for index in range(4):
        check_values(TorchCall(op, index=index, device="cuda:1"))
        assert torch.cuda.current_device() == 0


def test_mixed_places_are_refused():
    x = torch.ones(4, device="cuda")
    for other in (torch.ones(4), np.ones(4, np.float32)):
        with pytest.raises(oprt.InvalidArgumentError, match=r"vector_add: b: expected data on nvidia:0 as out, got"):
            oprt.vector_add(x, other)
        with pytest.raises(oprt.InvalidArgumentError, match="data on cpu:0"):
            oprt.relu_(other, x)
    with pytest.raises(oprt.InvalidArgumentError, match="relu: backend: expected where the data lives, nvidia"):
        oprt.relu(x, backend="cpu")


@two_gpus
def test_two_gpus_in_one_call_are_refused():
    a, b = torch.ones(4, device="cuda:0"), torch.ones(4, device="cuda:1")
    with pytest.raises(oprt.InvalidArgumentError, match="expected data on nvidia:0 as out, got data on nvidia:1"):
        oprt.vector_add(a, b)


def a_prepared_run(x):
    return oprt.prepare_relu(torch.empty_like(x), x).run()


def a_run_on_other_inputs(x):
    return oprt.prepare_relu(torch.empty_like(x), torch.zeros_like(x)).run_inputs(x)


WAYS = [oprt.relu, lambda x: oprt.relu_(torch.empty_like(x), x), a_prepared_run, a_run_on_other_inputs, ops.relu]


@pytest.mark.parametrize("way", WAYS, ids=["op", "op_", "prepared", "run_inputs", "torch_ops"])
@pytest.mark.parametrize("side", [False, True], ids=["default stream", "side stream"])
def test_work_goes_to_torchs_current_stream(way, side):
    """It sees what the stream does before it, is seen by what comes after, and the host waits for none of it."""
    x = torch.zeros(1 << 16, device="cuda")
    stream = torch.cuda.Stream() if side else torch.cuda.current_stream()
    for cycles in (1, LONG):  # the first round loads kernels, which takes time
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(cycles)
            x.fill_(3)
            z = way(x) + 1
            x.fill_(-1)
            running = not stream.query()
        stream.synchronize()
        assert z.eq(4).all()
    assert running


def submitted(call):
    """What a call puts into its stream, as the driver's kinds of graph nodes."""
    kinds = {0: "kernel", 1: "copy", 2: "memset", 10: "alloc", 11: "free"}
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        call()
    cuda, raw, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(graph.raw_cuda_graph()), ctypes.c_size_t()
    assert cuda.cuGraphGetNodes(raw, None, ctypes.byref(count)) == 0
    nodes = (ctypes.c_void_p * count.value)()
    assert cuda.cuGraphGetNodes(raw, nodes, ctypes.byref(count)) == 0
    found = set()
    for node in nodes:
        kind = ctypes.c_int()
        assert cuda.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind)) == 0
        found.add(kinds.get(kind.value, kind.value))
    return found


def test_nothing_is_hidden_in_a_call():
    """Kernels alone; the workspace of a single call comes and goes in the order of the stream."""
    x = torch.randn(4, 300_000, device="cuda")
    out = torch.empty_like(x)
    assert submitted(lambda: out.copy_(x)) == {"copy"}  # what is looked at can be seen
    for op, params in (("softmax", {"dim": 1}), ("layernorm", {}), ("relu", {}), ("vector_add", {})):
        ins = (x, x) if op == "vector_add" else (x,)
        with getattr(oprt, f"prepare_{op}")(out, *ins, **params) as prepared:
            allocated = []  # by PyTorch, before and after: a capture's beginning allocates too

            def run(prepared=prepared, allocated=allocated):
                allocated.append(torch.cuda.memory_stats()["allocation.all.allocated"])
                prepared.run()
                allocated.append(torch.cuda.memory_stats()["allocation.all.allocated"])

            assert submitted(run) == {"kernel"}
            assert allocated[0] == allocated[1]
            workspace = {"alloc", "free"} if prepared.workspace_bytes else set()
        assert submitted(lambda: getattr(oprt, f"{op}_")(out, *ins, **params)) == {"kernel"} | workspace  # noqa: B023


@pytest.mark.parametrize("op", OPERATORS)
def test_torchs_own_checks(op):
    call = TorchCall(op, index=1, device="cuda")
    torch.library.opcheck(*call.torch_op())
    torch.library.opcheck(*call.torch_op(in_place=True))


def block(x, gamma, w_in, w_out):
    h, residual = ops.add_rmsnorm(x, x, gamma)
    y = torch.empty_like(x)
    ops.matmul_(y, ops.silu_and_mul(ops.matmul(h, w_in)), w_out)
    ops.vector_add_(y, y, residual)
    return ops.softmax(y * 2, dim=-1)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_block(mode):
    torch.compiler.reset()
    weights = torch.rand(64, device="cuda"), torch.randn(64, 256, device="cuda"), torch.randn(128, 64, device="cuda")
    compiled = torch.compile(block, fullgraph=True, mode=mode)
    for _ in range(4):  # the later ones replay a CUDA graph, where the mode makes one
        x = torch.randn(33, 64, device="cuda")
        torch.testing.assert_close(compiled(x, *weights), block(x, *weights), rtol=1e-4, atol=1e-5)


CAPTURE = """
import sys, torch, operator_runtime as oprt
from torch_calls import TorchCall, as_list

op, way, row = sys.argv[1], sys.argv[2], int(sys.argv[3]) or None
call = TorchCall(op, index=1, row=row, device="cuda")
real = call.ins
ins = call.ins = [x if x is None else torch.zeros_like(x) for x in real]
outs = call.outs
torch.cuda.synchronize()

def run():
    if way == "op_":
        return getattr(oprt, f"{op}_")(*outs, *ins, **call.params)
    operator, tensors, params = call.torch_op()
    return operator(*tensors, **params)

prepared = getattr(oprt, f"prepare_{op}")(*outs, *ins, **call.params) if way == "prepared" else None
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    results = as_list(prepared.run() if prepared else run())
if prepared and not prepared.workspace_bytes:
    prepared.destroy()  # a workspace is the graph's too

for i in range(1000):  # what the graph needs and does not hold is written over
    torch.full((1 + i * 97 % 50_000,), torch.nan, device="cuda")
    if i % 100 == 0:
        torch.cuda.empty_cache()
    if i % 10 == 0:
        oprt.softmax(torch.full((2, 300_000), torch.nan, device="cuda"), dim=1)
for mine, theirs in zip(ins, real, strict=True):
    if mine is not None:
        mine.copy_(theirs)
for _ in range(100):
    for result in results:
        result.zero_()
    graph.replay()
    complaints = call.complaints(results)
    assert not complaints, complaints
print("captured")
"""


@pytest.mark.parametrize("way", ["op_", "prepared", "torch_ops"])
@pytest.mark.parametrize("op", OPERATORS)
def test_a_first_call_is_captured(op, way):
    """In a fresh process. The descriptor is gone, or the operator destroyed, when the graph is replayed."""
    row = 300_000 if suites()[op].row and way != "torch_ops" else 0  # spread over several blocks: there is a workspace
    done = run(CAPTURE, op, way, str(row))
    assert done.stdout == "captured\n", done.stderr[-3000:]


# CuPy


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy")


def test_cupy_values(cupy):
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float16):
        host = rng.standard_normal((37, 130)).astype(dtype)
        x = cupy.asarray(host)
        close = {"rtol": 1e-4, "atol": 1e-5} if dtype is np.float32 else {"rtol": 2e-3, "atol": 1e-3}
        for call in (
            lambda x: oprt.relu(x, 0.5),
            lambda x: oprt.softmax(x, dim=0),
            lambda x: oprt.softmax(x.T, dim=0),
            lambda x: oprt.add_rmsnorm(x, x)[0],
            lambda x: oprt.matmul(x, x.T),
            lambda x: oprt.cast(x, "f32"),
            lambda x: oprt.copy(x[::2, 1::3]),
            lambda x: oprt.reduce_sum(x[:0], dim=1),
        ):
            got, want = call(x), call(host)
            assert type(got) is cupy.ndarray and got.dtype == want.dtype
            np.testing.assert_allclose(cupy.asnumpy(got), want, **close)
    out = cupy.empty((2, 3), np.float32)
    assert oprt.relu_(out, cupy.ones((2, 3), np.float32)) is out


@pytest.mark.parametrize("non_blocking", [False, True])
def test_work_goes_to_cupys_current_stream(cupy, non_blocking):
    x = cupy.zeros(1 << 16, np.float32)
    stream = cupy.cuda.Stream(non_blocking=non_blocking)
    for cycles in (1, LONG):  # the first round compiles CuPy's kernels
        torch.cuda.synchronize()
        with stream:
            with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
                torch.cuda._sleep(cycles)
            x.fill(3)
            y = oprt.relu(x)
            with oprt.prepare_relu(cupy.empty_like(x), x) as prepared:
                z = prepared.run() + y
            x.fill(-1)
            running = not stream.done
        stream.synchronize()
        assert (z == 6).all()
    assert running


def test_frameworks_share_a_call(cupy):
    """The stream is that of the first tensor that tells one, here the output."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.zeros(1 << 16, device="cuda")
        torch.cuda._sleep(LONG)
        x.fill_(3)
        out = oprt.relu_(torch.empty_like(x), cupy.from_dlpack(x))
    stream.synchronize()
    assert out.eq(3).all()


# JAX, in a process of its own: the tests' JAX is the CPU's.

JAX = """
import os, gc
os.environ["JAX_PLATFORMS"] = "cuda"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax, jax.numpy as jnp, numpy as np, torch
import operator_runtime as oprt

assert jax.devices()[0].platform == "gpu"
host = np.random.default_rng(0).standard_normal((37, 128)).astype(np.float32)
x = jnp.asarray(host)
for call in (
    lambda x: oprt.relu(x, 0.5),
    lambda x: oprt.softmax(x, dim=0),
    lambda x: oprt.add_rmsnorm(x, x)[0],
    lambda x: oprt.matmul(x, x.T),
    lambda x: oprt.cast(x, "bf16"),
    lambda x: oprt.reduce_sum(x[:0], dim=1),
):
    got, want = call(x), call(host)
    assert isinstance(got, jax.Array) and got.devices() == x.devices() and got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(got, np.float32), want.astype(np.float32), rtol=1e-4, atol=1e-5)

try:
    oprt.relu_(x, x)
except oprt.InvalidArgumentError as error:
    assert "read-only" in str(error)
else:
    raise AssertionError("a JAX array was written")

# Inputs that are dropped at once, results that are dropped unread: nothing is overwritten under a running kernel.
double = jax.jit(lambda x: x * 2)
results = []
for i in range(200):
    y = oprt.relu(double(jnp.full((1 << 20,), i, jnp.float32)))
    oprt.relu(jnp.full((1 << 20,), -1.0))
    jnp.full((1 << 20,), jnp.nan)  # would lie where the input was
    results.append(double(y)[::4099])
for i, result in enumerate(results):
    assert (np.asarray(result) == 4 * i).all(), i

# On PyTorch's stream where one of its tensors takes part.
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    a = torch.zeros(1 << 16, device="cuda")
    torch.cuda._sleep(100_000_000)
    a.fill_(3)
    out = oprt.vector_add_(torch.empty_like(a), a, double(jnp.ones(1 << 16)))
stream.synchronize()
assert out.eq(5).all()
print("right")
"""


def test_jax():
    pytest.importorskip("jax")
    done = run(JAX)
    assert done.stdout == "right\n", done.stderr[-3000:]


# What a call costs the host


def microseconds(costs, calls=500, rounds=30):
    """Of each call's fastest round, all in turns: a processor that is slow for a while is so for all.

    What was submitted is waited for between rounds, and is less than the queue holds.
    """
    best = dict.fromkeys(costs, float("inf"))
    for _ in range(rounds):
        for name, call in costs.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            best[name] = min(best[name], time.perf_counter() - start)
    torch.cuda.synchronize()
    return {name: seconds / calls * 1e6 for name, seconds in best.items()}


def test_host_cost_of_a_call(capsys):
    a, b, out = (torch.ones(64, 64, device="cuda") for _ in range(3))
    prepared = oprt.prepare_vector_add(out, a, b)
    costs = {
        "torch.add(out=)": lambda: torch.add(a, b, out=out),
        "vector_add_": lambda: oprt.vector_add_(out, a, b),
        "vector_add": lambda: oprt.vector_add(a, b),
        "prepared": prepared.run,
        "softmax_": lambda: oprt.softmax_(out, a, dim=1),
        "torch.softmax": lambda: torch.softmax(a, dim=1, out=out),
        "torch_ops": lambda: ops.vector_add_(out, a, b),
    }
    costs = microseconds(costs)
    with capsys.disabled():
        print("\nhost µs per call:", ", ".join(f"{name} {cost:.2f}" for name, cost in costs.items()))
    assert costs["prepared"] < costs["vector_add_"] < 0.75 * costs["torch.add(out=)"]
