"""The GPU as the comparison sees it: a clock on PyTorch's graphs, ceilings, and points measured with all providers."""

import functools
import gc
import importlib
import importlib.metadata
import warnings

import numpy as np
import operator_runtime
import torch
from operator_runtime.bench import gpu_timing
from operator_runtime.bench.points import OWN, Point

from bench import operands, peers
from bench.sample import TOLERANCE, Sample

VARIANTS = 3  # of each ceiling kernel, in kernels.cu
CHOOSING = 5  # rounds that choose the fastest variant for a size
SMALL = 64 << 10  # bytes: up to here the host's time is taken too
SLOWEST = 0.25  # seconds of a call: a peer that takes longer is not waited for


class TorchClock:
    """GpuClock's face on PyTorch's graphs, whose allocator knows what a capture is. All work goes to its stream."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        self.l2_bytes = torch.cuda.get_device_properties().L2_cache_size
        self._marks = []
        self._used = 0

    def run(self, work):
        return work()

    def record(self, work):
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        finally:
            graph.capture_end()
        return graph

    def mark(self):
        if self._used == len(self._marks):
            self._marks.append(torch.cuda.Event(enable_timing=True))
        self._marks[self._used].record(self.stream)
        self._used += 1

    def gaps(self):
        self.stream.synchronize()
        marks = self._marks[: self._used]
        self._used = 0
        return [a.elapsed_time(b) / 1e3 for a, b in zip(marks, marks[1:], strict=False)]


def result_of(returned, operands_):
    """The first output of a call: what it returned, else what it wrote into."""
    first = returned[0] if isinstance(returned, tuple) else returned
    return first if isinstance(first, torch.Tensor) else operands_.outs[0]


def poison(one):
    """So that what a call does not write shows."""
    for out in one.outs:
        out.fill_(float("nan"))


class Machine:
    """With device and clock of a test's, it measures anything; what only a GPU has is in gpu()."""

    def __init__(self, clock, device, evict, ceiling_calls, peer_names, rounds):
        self.clock, self.device = clock, device
        self.evict = evict
        self.ceiling_calls = ceiling_calls  # (kind, bytes, sets) -> name -> calls
        self.peer_names = peer_names
        self.rounds = rounds
        self._fastest = {}

    def record(self, calls, count):
        return gpu_timing.record(self.clock, calls, count)

    def ceiling(self, kind, size, turns):
        """{name: Recorded} of the fastest plain traffic of so many bytes, chosen once a size."""
        calls = self.ceiling_calls(kind, size, turns.sets)
        key = kind, f"{size:.2g}"
        if key not in self._fastest:
            recorded = {name: self.record(each, turns.calls) for name, each in calls.items()}
            found = gpu_timing.measure(self.clock, recorded, self.evict, turns.evict, CHOOSING)
            self._fastest[key] = min(found, key=lambda name: found[name].median)
        name = self._fastest[key]
        return {name: self.record(calls[name], turns.calls)}

    def provider(self, name, point, sets, sample, turns, host):
        """A peer's calls as a graph. Raises what it raises, and RuntimeError where it is wrong or too slow."""
        module = importlib.import_module(f"bench.peers.{peers.MODULES[name]}")
        calls = [module.make(point, one.outs, one.ins) for one in sets]
        poison(sets[0])
        self.clock.mark()
        returned = self.clock.run(calls[0])
        self.clock.mark()
        (seconds,) = self.clock.gaps()
        distance = sample.distance(result_of(returned, sets[0]))
        del returned
        if not distance <= TOLERANCE[point.out_dtype]:
            raise RuntimeError(f"wrong: off by {distance:.2g} of the reference")
        if seconds > SLOWEST:
            self.clock.mark()
            self.clock.run(calls[0])
            self.clock.mark()
            if self.clock.gaps()[0] > SLOWEST:
                raise RuntimeError(f"a call takes longer than {SLOWEST:g} s")
        recorded = self.record(calls, turns.calls)
        if point.bytes <= SMALL:
            host[name] = gpu_timing.host_seconds(self.clock, calls[0])
        return recorded

    def point(self, line):
        """One point with every provider. What fails is listed with its reason; oprt too."""
        point = operands.Point(line)
        turns = gpu_timing.rotation(point.bytes, self.clock.l2_bytes)
        first = operands.make(torch, point, self.device)
        sets = [first, *(operands.make(torch, point, self.device, first) for _ in range(turns.sets - 1))]
        sample = Sample(point, first)
        recorded, missing, host, complaints, kernel = {}, {}, {}, [], ""
        try:
            prepare = functools.partial(getattr(operator_runtime, f"prepare_{point.op}"), **point.params)
            prepared = [prepare(*one.outs, *one.ins) for one in sets]
            poison(first)
            self.clock.run(prepared[0].run)
            kernel, complaints = prepared[0].kernel, sample.complaints(first.outs)
            recorded[OWN] = self.record([one.run for one in prepared], turns.calls)
            if point.bytes <= SMALL:
                host[OWN] = gpu_timing.host_seconds(self.clock, prepared[0].run)
        except operator_runtime.OperatorRuntimeError as why:
            missing[OWN] = f"{type(why).__name__}: {why}"
        for name in self.peer_names:
            try:
                recorded[name] = self.provider(name, point, sets, sample, turns, host)
            except peers.NotOffered:
                continue
            except Exception as why:  # a peer that cannot do it is listed as that
                self.clock.gaps()  # forgets a mark that it may have left
                missing[name] = f"{type(why).__name__}: {str(why).strip().splitlines()[0][:200] if str(why) else ''}"
        if point.ceiling:
            recorded |= self.ceiling(point.ceiling, point.bytes, turns)
        timings = gpu_timing.measure(self.clock, recorded, self.evict, turns.evict, self.rounds)
        return Point(
            point.name, point.op, point.label, point.bytes, point.flops, kernel, complaints, timings, {}, missing, host
        )


# --- what only a GPU has ----------------------------------------------------------------------------------------------


def ceiling_calls(kind, size, sets):
    """Calls that move so many bytes, by the driver, by plain kernels and by oprt."""
    from bench.kernels import bound, bytes_of

    parts = {"copy": 2, "two reads": 3, "read": 1}[kind]
    each = max(size // parts // 16 * 16, 16)
    memory = [[torch.randn(each // 4, device="cuda") for _ in range(parts)] for _ in range(sets)]
    function = {"copy": "ceiling_copy", "two reads": "ceiling_two_reads", "read": "ceiling_read"}[kind]
    sink = [torch.zeros(4, device="cuda")] if kind == "read" else []
    found = {}
    for variant in range(VARIANTS):
        found[f"{kind} kernel {variant}"] = [
            bound(function, variant, *sink, *tensors, bytes_of(each)) for tensors in memory
        ]
    if kind == "copy":
        found["copy memcpy"] = [functools.partial(to.copy_, source) for to, source in memory]
        found["copy oprt"] = [operator_runtime.prepare_copy(*pair).run for pair in memory]
    return found


def gpu(peer_names, rounds):
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore", module="torch")
    clock = TorchClock()
    block = torch.zeros(clock.l2_bytes, device="cuda")  # floats: four times the cache in bytes
    read = operator_runtime.prepare_reduce_sum(torch.zeros((), device="cuda"), block, dim=0)
    return Machine(clock, "cuda", lambda: clock.run(read.run), ceiling_calls, peer_names, rounds)


def context(machine):
    """What the results were measured with."""
    from operator_runtime.bench.gpu_points import device_info

    found = device_info()
    properties = torch.cuda.get_device_properties()
    found |= {"gpu_multiprocessors": properties.multi_processor_count, "gpu_l2_bytes": machine.clock.l2_bytes}
    found |= {"cuda": torch.version.cuda, "torch": torch.__version__, "numpy": np.__version__}
    packages = {"triton": "triton", "liger_kernel": "liger-kernel", "flashinfer": "flashinfer-python"}
    for name, distribution in packages.items():
        try:
            found[name] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def tidy(most):
    """Gives memory back: graphs keep theirs apart, and a graph's is not used again."""
    gc.collect(0)
    if torch.cuda.memory_reserved() > most:
        torch.cuda.empty_cache()
