"""`pip install` gives a package that works where there is no source tree, no torch and no GPU."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("wheel")

PROGRAM = """
import sys
import numpy as np
import operator_runtime as ort

assert "torch" not in sys.modules
x = np.array([[-1, 2], [3, -4]], np.float32)
assert np.array_equal(ort.relu(x.T), [[0, 3], [2, 0]])
print(ort.__file__)
"""


def run(*command, **options):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    # The same compiler names as the build tree's: a compiler cache has the objects.
    environment |= {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", "CC": "cc", "CXX": "c++"}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with nothing but the package and what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder,
        "--config-settings", f"build-dir={ROOT}/build/wheel-{os.getpid()}", ROOT)  # fmt: skip
    run(sys.executable, "-m", "venv", folder / "venv")
    run(folder / "venv/bin/pip", "install", next(folder.glob("*.whl")))
    return folder / "venv"


def test_it_runs(environment, tmp_path):
    file = run(environment / "bin/python", "-c", PROGRAM, cwd=tmp_path)
    assert pathlib.Path(file.strip()).is_relative_to(environment)


def test_its_command_runs_the_cases_it_ships(environment, tmp_path):
    output = run(environment / "bin/oprt", "test", "--op", "relu", "--dtype", "f32", cwd=tmp_path)
    assert "relu" in output
    assert "cpu" in run(environment / "bin/oprt", "info", cwd=tmp_path)


def test_it_ships_types(environment):
    package = next(environment.glob("lib/python*/site-packages/operator_runtime"))
    assert (package / "py.typed").exists()
    assert list(package.glob("_native*.pyi"))
