"""The clock for GPUs: a provider's calls are captured into a graph, and graphs are replayed in turns between events.

So a figure is the GPU's time alone: what the host spends on a call is measured apart (host_seconds). Calls go round
sets of buffers that together are larger than four L2 caches. Where that would take more than MOST_SETS sets, FEW_SETS
are used, and as many bytes are read before each replay, so that every call still finds its buffers in device memory.

A clock, here and in bench/, has record(work) -> a graph with replay(), mark() and gaps() (_native.GpuClock).
"""

import collections
import dataclasses
import statistics
import time

from operator_runtime.bench.timing import Timing

ROUNDS = 15
CALLS = 20  # in a graph, at least
MOST_SETS = 256
FEW_SETS = 64
LONGEST = 6e-3  # seconds of a replay: 20 copies of 1 GB; slower providers make fewer calls
LEAST_CALLS = 4  # of those
HOST_CALLS = 100  # whose launches fit the driver's queue: the host never waits for the GPU
HOST_ROUNDS = 7


@dataclasses.dataclass(frozen=True)
class Rotation:
    """How the calls of a point go round its buffers."""

    sets: int
    evict: bool  # before each replay

    @property
    def calls(self):
        return max(CALLS, self.sets)


def rotation(bytes_of_set, l2_bytes):
    sets = -(-4 * l2_bytes // max(bytes_of_set, 1)) + 1
    return Rotation(sets, False) if sets <= MOST_SETS else Rotation(FEW_SETS, True)


@dataclasses.dataclass
class Recorded:
    graph: object
    calls: int


def record(clock, calls, count):
    """count calls, going round `calls`, as one graph; fewer where they are slow. Each was called before."""
    clock.mark()
    clock.run(calls[-1])
    clock.mark()
    (once,) = clock.gaps()
    count = min(count, max(LEAST_CALLS, int(LONGEST / max(once, 1e-7))))

    def work():
        results = collections.deque(maxlen=len(calls))  # what a peer allocates goes round as many buffers too
        for i in range(count):
            results.append(calls[i % len(calls)]())

    return Recorded(clock.record(work), count)


def measure(clock, recorded, evict, each=False, rounds=ROUNDS):
    """recorded: name -> Recorded. Returns name -> Timing.

    evict() is submitted at the start of a round and, with `each`, before every replay: it also keeps the GPU busy while
    the host submits what is timed.
    """
    samples = {name: [] for name in recorded}
    names = list(recorded)
    for one in recorded.values():
        one.graph.replay()  # the first replay also uploads the graph
    for turn in range(rounds):
        order = names[turn % len(names) :] + names[: turn % len(names)]
        for name in order:
            if each or name is order[0]:
                evict()
            clock.mark()
            recorded[name].graph.replay()
            clock.mark()
        for name, seconds in zip(order, clock.gaps()[::2], strict=True):
            samples[name].append(seconds / recorded[name].calls)
    return {name: Timing(samples[name], recorded[name].calls) for name in names}


def host_seconds(clock, call):
    """What the host spends on a call: the median of a few loops, each given time to reach the GPU."""
    samples = []

    def loop():
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        samples.append((time.perf_counter() - start) / HOST_CALLS)

    for _ in range(HOST_ROUNDS):
        clock.run(loop)
        clock.mark()
        clock.gaps()
    return statistics.median(samples)
