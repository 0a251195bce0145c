"""The points of `oprt bench` on a GPU: an operator's call and a copy of as many bytes, without any GPU framework.

bench/ at the top of the tree compares with other libraries, on memory of PyTorch's.
"""

import functools
import subprocess

import operator_runtime
from operator_runtime import _native
from operator_runtime.bench import gpu_timing
from operator_runtime.bench.points import CHECKED_BYTES, OWN, Point, clone, traffic, unwritten
from operator_runtime.testing import call as calls
from operator_runtime.testing.device import OnDevice
from operator_runtime.testing.load import suites

LARGE = 1 << 30  # bytes read and written: what a copy of them reaches, no figure from memory exceeds


def device_info():
    """What the driver's own tool says of the first GPU, as text: name, driver, clocks. Empty where it is missing."""
    fields = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw")
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "--id=0"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return {f"gpu_{field}": value.strip() for field, value in zip(fields, said.split(","), strict=False)}


def flat(buffer, count):
    return buffer.view("f32", [count], [1], 0)


class Machine:
    """The first GPU, its clock, and what every point needs."""

    def __init__(self, rounds):
        self.clock = _native.GpuClock()
        self.rounds = rounds
        count = self.clock.l2_bytes  # floats: four times the cache in bytes
        self._scratch = _native.DeviceBuffer(4 * count), _native.DeviceBuffer(4)
        source, total = flat(self._scratch[0], count), self._scratch[1].view("f32", [], [], 0)
        self._read = operator_runtime.prepare_reduce_sum(total, source, dim=0)

    def evict(self):
        self.clock.run(self._read.run)

    def copies(self, size, sets):
        """Calls that copy size / 2 bytes: the driver's copy and our own."""
        count = max(size // 2 // 4, 1)
        pairs = [(_native.DeviceBuffer(4 * count), _native.DeviceBuffer(4 * count)) for _ in range(sets)]
        views = [(flat(to, count), flat(source, count)) for to, source in pairs]
        return {
            "copy memcpy": [functools.partial(self.clock.copy, *pair, 4 * count) for pair in pairs],
            "copy oprt": [operator_runtime.prepare_copy(*pair).run for pair in views],
        }

    def measure(self, providers, turns):
        recorded = {name: gpu_timing.record(self.clock, each, turns.calls) for name, each in providers.items()}
        return gpu_timing.measure(self.clock, recorded, self.evict, turns.evict, self.rounds)

    def ceiling(self):
        turns = gpu_timing.rotation(LARGE, self.clock.l2_bytes)
        found = self.measure(self.copies(LARGE, turns.sets), turns)
        return LARGE / min(timing.median for timing in found.values())

    def point(self, op, name, d, bench):
        suite = suites()[op]
        prepare = functools.partial(getattr(operator_runtime, f"prepare_{op}"), backend="nvidia")
        checked = calls.input_bytes(d, bench.call) <= CHECKED_BYTES
        live = calls.build(suite, d, bench.call, reference=checked)
        outs, ins = live.out_views(), live.in_views()
        size, flops = traffic(suite, bench, outs, ins, live.params)

        first = OnDevice(functools.partial(prepare, **live.params), [*outs, *ins])
        first.run()
        operands = calls.Package(op, "nvidia").operands
        complaints = calls.judge(suite, live, operands) if checked else unwritten(live)
        turns = gpu_timing.rotation(sum(placed.buffer.nbytes for placed in live.all()), self.clock.l2_bytes)
        prepared = [first]
        for _ in range(turns.sets - 1):
            arrays = [clone(p).view for p in live.outs] + [p and clone(p).view for p in live.ins]
            prepared.append(OnDevice(functools.partial(prepare, **live.params), arrays))
            prepared[-1].upload()
        providers = {OWN: [one.launch for one in prepared], **self.copies(size, turns.sets)}
        timings = self.measure(providers, turns)
        host = {OWN: gpu_timing.host_seconds(self.clock, first.launch)}
        return Point(name, op, d.label, size, flops, first.kernel, complaints, timings, host=host)
