"""What every Python test shares: which backend it runs on (`pytest --backend NAME`)."""

import os

import pytest

# pytest-xdist shares the cores among processes: a thread that waits must not spin. Read when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_addoption(parser):
    parser.addoption("--backend", default=None, help="backend to test; without it, where the data lives (the CPU)")


@pytest.fixture(scope="session")
def backend(request):
    return request.config.getoption("--backend")
