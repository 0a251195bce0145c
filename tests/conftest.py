"""What every Python test shares: which backend it runs on (`pytest --backend NAME`)."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--backend", default=None, help="backend to test; without it, where the data lives (the CPU)")


@pytest.fixture(scope="session")
def backend(request):
    return request.config.getoption("--backend")
