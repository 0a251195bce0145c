"""What a call costs the host: from C and from Python, next to a bare launch of a kernel that has as many bytes of
parameters, and next to PyTorch."""

import statistics

import operator_runtime
import torch
from operator_runtime import _native
from operator_runtime.bench.gpu_timing import HOST_CALLS, HOST_ROUNDS, host_seconds
from operator_runtime.bench.points import OWN, Point
from torch.nn import functional as F

from bench.kernels import library

SHAPE = (1, 1024)
PEERS = {
    "vector_add": lambda out, a, b: torch.add(a, b, out=out),
    "silu": lambda out, x: torch._C._nn.silu(x, out=out),
    "softmax": lambda out, x: torch.softmax(x, 1, out=out),
    "rmsnorm": lambda out, x, gamma: F.rms_norm(x, x.shape[1:], gamma, 1e-6),
    "copy": lambda out, x: out.copy_(x),
}
INPUTS = {"vector_add": (SHAPE, SHAPE), "rmsnorm": (SHAPE, SHAPE[1:])}
PARAMS = {"softmax": {"dim": 1}, "rmsnorm": {"dim": 1}}


def median(once):
    """Of loops that each start with an idle GPU."""
    samples = []
    for _ in range(HOST_ROUNDS):
        torch.cuda.synchronize()
        samples.append(once())
    return statistics.median(samples)


def device_view(shape):
    strides = [1] if len(shape) == 1 else [shape[1], 1]
    count = shape[-1]
    return _native.DeviceBuffer(4 * count).view("f32", shape, strides, 0)


def from_c(op):
    """Seconds of one execute, and of a bare launch; the name of the latter."""
    clock = _native.GpuClock()
    prepare = getattr(operator_runtime, f"prepare_{op}")
    views = [device_view(shape) for shape in (SHAPE, *INPUTS.get(op, (SHAPE,)))]
    prepared = prepare(*views, **PARAMS.get(op, {}))
    size = max(clock.record(prepared.run).parameter_bytes)
    execute = median(lambda: prepared.execute_seconds(HOST_CALLS))
    launch = median(lambda: library().launch_seconds(size, HOST_CALLS, None))
    return execute, launch, f"bare launch, {size} bytes"


def from_python(op, clock):
    tensors = [torch.rand(shape, device="cuda") for shape in (SHAPE, *INPUTS.get(op, (SHAPE,)))]
    params = PARAMS.get(op, {})
    prepared = getattr(operator_runtime, f"prepare_{op}")(*tensors, **params)
    call = getattr(operator_runtime, f"{op}_")
    peer = PEERS[op]
    return {
        f"{OWN} prepared": host_seconds(clock, prepared.run),
        f"{OWN} {op}_": host_seconds(clock, lambda: call(*tensors, **params)),
        "torch": host_seconds(clock, lambda: peer(*tensors)),
    }


def points(clock):
    for op in PEERS:
        execute, launch, name = from_c(op)
        host = {f"{OWN} from C": execute, name: launch, **from_python(op, clock)}
        yield Point(f"{op}/f32/host", op, "f32", 0, None, "", [], {}, host=host)
