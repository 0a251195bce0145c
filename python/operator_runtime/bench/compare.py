"""Two results, point by point: what changed by more than the noise."""

import dataclasses
import math

from operator_runtime.bench.points import OWN

LEAST = 0.03  # a smaller change is none, however quiet the run
CERTAIN = 2.0  # times the two spreads together


@dataclasses.dataclass
class Change:
    name: str
    before: float  # seconds, or the copy's time over the operator's where the machines differ
    after: float
    speed: float  # times as fast as before
    noise: float  # the share within which no change can be told

    @property
    def verdict(self):
        if abs(math.log(self.speed)) <= math.log1p(self.noise):
            return "same"
        return "faster" if self.speed > 1 else "slower"


def same_machine(before, after):
    return all(before["context"].get(key) == after["context"].get(key) for key in ("host_name", "cpu", "num_cpus"))


def own_cold(document):
    wanted = f"/{OWN}/cold"
    return {
        entry["name"].removesuffix(wanted): entry
        for entry in document["benchmarks"]
        if entry["name"].endswith(wanted) and not entry.get("error_occurred")
    }


def compare(before, after):
    """Changes of the points that both have. Across machines, times mean nothing: shares of the copy are compared."""
    by_time = same_machine(before, after)
    old, new = own_cold(before), own_cold(after)
    changes = []
    for name in [name for name in old if name in new]:
        a, b = old[name], new[name]
        noise = max(LEAST, CERTAIN * math.hypot(a["spread"], b["spread"]))
        if by_time:
            change = Change(name, a["real_time"], b["real_time"], a["real_time"] / b["real_time"], noise)
        else:
            change = Change(name, a["copy_share"], b["copy_share"], b["copy_share"] / a["copy_share"], noise)
        changes.append(change)
    return changes
