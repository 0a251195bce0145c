"""How many threads the library's OpenMP runtime uses: OMP_NUM_THREADS, but within one process."""

import contextlib
import ctypes
import os


def _runtimes():
    """Every OpenMP runtime in this process: ours, and what other packages brought along."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    return [ctypes.CDLL(path) for path in sorted(paths) if os.path.basename(path).startswith(("libgomp", "libomp"))]


@contextlib.contextmanager
def limited_to(count):
    """At most this many threads for the calling thread's work."""
    runtimes = _runtimes()
    before = [runtime.omp_get_max_threads() for runtime in runtimes]
    for runtime in runtimes:
        runtime.omp_set_num_threads(count)
    try:
        yield
    finally:
        for runtime, threads in zip(runtimes, before, strict=True):
            runtime.omp_set_num_threads(threads)
