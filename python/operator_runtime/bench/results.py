"""Results as files: Google Benchmark's JSON schema, read back by `oprt compare` and `oprt report`, and by its own
tools.

One entry for each point, provider and cache state, named op/dtype/what/provider/cold; on a GPU also .../provider/host,
what the host spends on a call. Beyond the schema's fields an entry has user counters (numbers, as Google Benchmark's):
bytes, spread, copy_share, correct.
"""

import datetime
import json
import os
import pathlib
import platform
import shlex
import socket
import sys

import numpy as np

from operator_runtime import _native


def context():
    """Where and with what: nothing measured means anything without it."""
    found = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "host_name": socket.gethostname(),
        "executable": "oprt bench",
        "command": shlex.join(["oprt", *sys.argv[1:]]),
        "num_cpus": len(os.sched_getaffinity(0)),
        "mhz_per_cpu": int(float(_cpuinfo("cpu MHz") or 0)),
        "cpu_scaling_enabled": False,
        "caches": _caches(),
        "load_avg": list(os.getloadavg()),
        "library_build_type": "release",
        "cpu": _cpuinfo("model name") or platform.processor(),
        "cpu_target": _native.cpu_target(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "oprt": _native.version(),
        "matmul_library": _native.matmul_library(),
    }
    for name in ("torch", "jax"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    return found


def _cpuinfo(key):
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(key):
            return line.partition(":")[2].strip()
    return None


def _caches():
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        size = (index / "size").read_text().strip()
        found.append(
            {
                "type": (index / "type").read_text().strip(),
                "level": int((index / "level").read_text()),
                "size": int(size[:-1]) << {"K": 10, "M": 20}[size[-1]],
                "num_sharing": 1,
            }
        )
    return found


def entries(point):
    """The point as entries of the schema."""
    for state, timings in (("cold", point.cold), ("hot", point.hot)):
        for provider, timing in timings.items():
            name = f"{point.name}/{provider}/{state}"
            entry = {
                "name": name,
                "run_name": name,
                "run_type": "iteration",
                "repetitions": 1,
                "repetition_index": 0,
                "threads": 1,
                "iterations": timing.calls * len(timing.samples),
                "real_time": timing.median * 1e9,
                "cpu_time": timing.median * 1e9,
                "time_unit": "ns",
                "bytes_per_second": point.bytes / timing.median,
                "bytes": point.bytes,
                "spread": timing.spread,
                "label": point.kernel if provider == "oprt" else provider,
            }
            if point.flops:
                entry["flops"] = point.flops
                entry["items_per_second"] = point.flops / timing.median
            if provider == "oprt":
                entry["correct"] = not point.complaints
                if state == "cold" and point.copy_share:
                    entry["copy_share"] = point.copy_share
            yield entry
    for provider, seconds in point.host.items():
        name = f"{point.name}/{provider}/host"
        entry = {"name": name, "run_name": name, "run_type": "iteration", "real_time": seconds * 1e9}
        yield {**entry, "cpu_time": seconds * 1e9, "time_unit": "ns", "label": "time of the host"}
    for peer, why in point.missing.items():
        name = f"{point.name}/{peer}/cold"
        yield {"name": name, "run_name": name, "run_type": "iteration", "error_occurred": True, "error_message": why}


def document(points, extra):
    return {
        "context": {**context(), **extra},
        "benchmarks": [entry for point in points for entry in entries(point)],
    }


def read(path):
    """The document; ValueError with a sentence where it is none."""
    try:
        found = json.loads(pathlib.Path(path).read_text())
    except OSError as why:
        raise ValueError(f"cannot read {path}: {why.strerror}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"context", "benchmarks"} <= found.keys():
        raise ValueError(f"{path} is not a result of `oprt bench --json`")
    return found
