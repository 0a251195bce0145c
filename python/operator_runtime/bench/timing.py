"""The clock: what one call costs, of several providers in turns, with cold or warm caches.

A sample is one pass over a provider's calls, each on its own buffers, divided by their number. Providers take turns
within a round and the order rotates, so that whatever disturbs the machine disturbs all of them; a figure is the median
of the rounds.

Cold: before each sample a block of twice the last-level cache is read, unless the buffers are larger than that
anyway. Both: providers bring thread pools of their own whose idle workers spin for a while after a call, so a sample
starts after a pause, with one call that does not count and wakes the provider's own pool.
"""

import dataclasses
import pathlib
import statistics
import time

import numpy as np

ROUNDS = 15
PAUSE = 0.004  # seconds; GNU's OpenMP spins for about 3 ms
SAMPLE = 200e-6  # seconds that a sample should take at least, so that the clock's own cost does not show
MOST_CALLS = 64
WARM_SAMPLE = 1e-3


@dataclasses.dataclass
class Timing:
    """Seconds per call."""

    samples: list
    calls: int  # in each sample

    @property
    def median(self):
        return statistics.median(self.samples)

    @property
    def spread(self):
        """Half the distance between the quartiles, as a share of the median: how far apart two runs may well be."""
        low, _, high = statistics.quantiles(self.samples, n=4)
        return (high - low) / 2 / self.median


def last_level_cache():
    """Bytes."""
    sizes = [32 << 20]
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]])
    return max(sizes[1:] or sizes)


class Evictor:
    """Empties the caches by reading past them: in half the time of writing, and no call pays for lines left dirty."""

    def __init__(self):
        self.block = np.ones(2 * last_level_cache() // 8, np.uint64)

    def __call__(self):
        self.block.max()


def estimate(call):
    """Seconds of one call, roughly: the fastest of a few."""
    fastest = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def one_pass(calls):
    start = time.perf_counter()
    for call in calls:
        call()
    return (time.perf_counter() - start) / len(calls)


def measure(providers, evict=None, rounds=ROUNDS):
    """providers: name -> calls on different buffers, the first of which only warms up. Returns name -> Timing.

    With `evict` (an Evictor) the caches are cold for every call that counts; without, one call is repeated on the same
    buffers.
    """
    if evict:
        passes = {name: calls[1:] or calls for name, calls in providers.items()}
    else:
        passes = {}
        for name, calls in providers.items():
            passes[name] = [calls[0]] * max(1, min(5000, int(WARM_SAMPLE / max(estimate(calls[0]), 1e-7))))
    samples = {name: [] for name in providers}
    names = list(providers)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if evict:
                evict()
            time.sleep(PAUSE)
            providers[name][0]()
            samples[name].append(one_pass(passes[name]))
    return {name: Timing(samples[name], len(passes[name])) for name in names}


@dataclasses.dataclass
class SelfTest:
    """What this clock said of calls that spin for 5 ms by another clock, and what they really took by that one."""

    said: float
    took: float  # longer than 5 ms where the machine is busy with other things

    @property
    def right(self):
        return abs(self.said - self.took) <= 0.02 * self.took

    @property
    def quiet(self):
        return self.took <= 1.02 * 5e-3


def self_test(measure=measure):
    took = []

    def now():
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def spin():
        start = now()
        while now() < start + 5_000_000:
            pass
        took.append((now() - start) / 1e9)

    said = measure({"spin": [spin, spin]}, evict=lambda: None, rounds=9)["spin"]
    return SelfTest(said.median, statistics.median(took[1::2]))  # every other call only warmed up
