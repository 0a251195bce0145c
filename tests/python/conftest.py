"""Where the library that is being tested lies, and what installing it gives."""

import pathlib
import subprocess

import operator_runtime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build():
    """The build tree that the package under test stands in."""
    tree = pathlib.Path(operator_runtime.__file__).parents[2]
    if not (tree / "CMakeCache.txt").exists():
        pytest.skip("the package under test is not in a build tree")
    return tree


@pytest.fixture(scope="session")
def installed(build, tmp_path_factory):
    """What `cmake --install` lays down."""
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
    return prefix
