"""One point of the benchmark: an operator's call on rotating buffers, a copy of as many bytes, and the peers."""

import dataclasses
import importlib

import numpy as np

from operator_runtime.bench import timing
from operator_runtime.testing import call as calls
from operator_runtime.testing.dtypes import NUMPY
from operator_runtime.testing.layout import Placed, filled
from operator_runtime.testing.load import suites

MOST_MEMORY = 192 << 20  # bytes of rotating buffers
CHECKED_BYTES = 8 << 20  # inputs up to this size are compared with the reference in the same run
OWN = "oprt"
SLOWEST = 1.0  # seconds of a call: a peer that takes longer is not waited for forty times
LIBRARY = "library"  # a peer of those suites alone that have it


@dataclasses.dataclass
class Point:
    """What was measured. Times in seconds per call."""

    name: str  # op/dtype/what
    op: str
    dtype: str
    bytes: int
    flops: int | None
    kernel: str
    complaints: list  # a wrong result has no speed
    cold: dict  # provider -> Timing
    hot: dict = dataclasses.field(default_factory=dict)
    missing: dict = dataclasses.field(default_factory=dict)  # peer -> why it did not run
    host: dict = dataclasses.field(default_factory=dict)  # provider -> seconds of the host, where a GPU does the work

    def rate(self, provider=OWN, hot=False):
        """Bytes per second."""
        return self.bytes / (self.hot if hot else self.cold)[provider].median

    @property
    def copy_share(self):
        """The copy's time over the operator's: 1.0 is as fast as copying the same number of bytes. None without one."""
        ceilings = [t.median for name, t in self.cold.items() if ceiling_kind(name)]
        return min(ceilings) / self.cold[OWN].median if ceilings else None

    def peers(self):
        return [name for name in self.cold if name != OWN and not ceiling_kind(name)]

    def against(self, peer):
        """How many times as fast as the peer."""
        return self.cold[peer].median / self.cold[OWN].median


CEILINGS = ("copy", "read", "two reads")


def ceiling_kind(provider):
    """Of a ceiling: what it does with as many bytes as the operator moves. A copy reads half of them and writes half; a
    GPU's operators are also held against reading alone, and against two reads and a write. None for what is no ceiling.
    """
    return next((kind for kind in CEILINGS if provider.startswith(f"{kind} ")), None)


def distinct_bytes(view):
    """Bytes of the elements that have an address of their own."""
    lengths = [n for n, stride in zip(view.shape, view.strides, strict=True) if stride or n < 2]
    return view.itemsize * int(np.prod(lengths, dtype=np.int64))


def traffic(suite, bench, outs, ins, params):
    """Bytes and FLOPs (None where nobody counts them) of a call."""
    if bench.bytes or suite.bytes:
        size = bench.bytes or suite.bytes(outs, ins, **params)
    else:
        size = sum(distinct_bytes(view) for view in (*outs, *ins) if view is not None)
    return size, bench.flops or (suite.flops(outs, ins, **params) if suite.flops else None)


def clone(placed):
    buffer = filled(placed.buffer.size, placed.dtype)
    buffer[...] = placed.buffer
    return Placed(buffer, placed.within(buffer))


def torch_tensor(torch, array):
    if array is None:
        return None
    if array.dtype == NUMPY["bf16"]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def peer_calls(suite, peer, sets, params):
    """One function per set of buffers."""
    if getattr(suite, peer) is None:
        raise LookupError("no peer in cases.py")
    if peer == "torch":
        torch = importlib.import_module("torch")

        def make(outs, ins):
            return suite.torch(
                torch, [torch_tensor(torch, x) for x in outs], [torch_tensor(torch, x) for x in ins], **params
            )
    else:

        def make(outs, ins):
            return getattr(suite, peer)(outs, ins, **params)

    made = [make(outs, ins) for outs, ins in sets]
    if made[0] is None:
        raise LookupError("it has no such call")
    made[0]()
    return made


def copies(count, size, backend):
    """Calls that copy size / 2 bytes, so that reading and writing come to `size`: the C library's copy and our own."""
    import operator_runtime

    half = max(size // 2 // 4, 1)
    pairs = [(filled(half, "f32"), filled(half, "f32")) for _ in range(count)]
    for _, source in pairs:
        source[...] = 1
    found = {"copy memcpy": [lambda to=to, source=source: np.copyto(to, source) for to, source in pairs]}
    if hasattr(operator_runtime, "prepare_copy"):
        found["copy oprt"] = [operator_runtime.prepare_copy(*pair, backend=backend).run for pair in pairs]
    return found


def run(op, name, d, bench, backend, peers, evict, rounds):
    """Measures one point."""
    suite = suites()[op]
    operator = calls.Package(op, backend)
    checked = calls.input_bytes(d, bench.call) <= CHECKED_BYTES
    live = calls.build(suite, d, bench.call, reference=checked)
    outs, ins = live.out_views(), live.in_views()
    size, flops = traffic(suite, bench, outs, ins, live.params)

    first = operator.prepare(outs, ins, live.params)
    first.run()
    complaints = calls.judge(suite, live, operator.operands) if checked else unwritten(live)
    seconds = timing.estimate(first.run)
    memory = sum(placed.buffer.nbytes for placed in live.all())
    count = max(1, min(int(timing.SAMPLE / max(seconds, 1e-7)), timing.MOST_CALLS, MOST_MEMORY // memory - 1))
    sets = [(outs, ins)]
    for _ in range(count):
        sets.append(([clone(p).view for p in live.outs], [p and clone(p).view for p in live.ins]))
    prepared = [first, *(operator.prepare(*one, live.params) for one in sets[1:])]
    providers = {OWN: [one.run for one in prepared], **copies(count + 1, size, backend)}
    missing = {}
    for peer in (peer for peer in peers if peer != LIBRARY or suite.library):
        try:
            providers[peer] = peer_calls(suite, peer, sets, live.params)
        except Exception as why:  # a peer that cannot do it is listed as that
            missing[peer] = f"{type(why).__name__}: {why}"
            continue
        once = timing.one_pass(providers[peer][:1])
        if once > SLOWEST:
            missing[peer] = f"a call takes longer than {SLOWEST:g} s"
            del providers[peer]
    rotating = count * memory > 2 * timing.last_level_cache()  # then a set is out of the cache before it comes round
    cold = timing.measure(providers, (lambda: None) if rotating else evict, rounds)
    hot = timing.measure(providers, None, rounds)
    return Point(name, op, d.label, size, flops, first.kernel, complaints, cold, hot, missing)


def unwritten(live):
    """Too big for the reference: at least every element was written."""
    missed = any(calls.never_written(out).any() for out in live.out_views())
    return ["elements of the output were never written"] if missed else []


def dram_ceiling():
    """Bytes per second of a copy that no cache holds: no figure above it can be memory's."""
    half = min(max(4 * timing.last_level_cache(), 128 << 20), 512 << 20) // 4
    to, source = filled(half, "f32"), filled(half, "f32")
    source[...] = 1
    found = timing.measure({"copy": [lambda: np.copyto(to, source)] * 2}, lambda: None, 5)["copy"]
    return 8 * half / min(found.samples)
