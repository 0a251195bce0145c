"""What every Python test shares: which backend it runs on (`pytest --backend NAME`), how much memory it may take."""

import os

import pytest

# The tests are of the CPU; a JAX that finds an accelerator would put its arrays there. Read when JAX is imported.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# pytest-xdist shares the cores among processes: a thread that waits must not spin. Read when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_addoption(parser):
    parser.addoption("--backend", default=None, help="backend to test; without it, where the data lives (the CPU)")
    parser.addoption("--sample", action="store_true", help="of every operator's cases a few for each kernel")
    parser.addoption("--large", action="store_true", help="also the cases of gigabytes, where there is memory for them")


def pytest_configure(config):
    config.addinivalue_line("markers", "large(gib): takes so many GiB of memory; runs with --large")


def available_gib():
    with open("/proc/meminfo") as meminfo:
        return next(int(line.split()[1]) for line in meminfo if line.startswith("MemAvailable")) / (1 << 20)


def pytest_runtest_setup(item):
    mark = item.get_closest_marker("large")
    if mark is None:
        return
    (gib,) = mark.args
    if not item.config.getoption("--large"):
        pytest.skip(f"takes {gib} GiB: pytest --large")
    if available_gib() < gib + 1:
        pytest.skip(f"takes {gib} GiB, and {available_gib():.1f} are free")


@pytest.fixture(scope="session")
def backend(request):
    return request.config.getoption("--backend")
