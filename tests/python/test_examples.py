"""Every example runs and prints what it should."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("installed")
EXAMPLES = ROOT / "examples"
SAYS = {
    "01_copy.py": "[[ 5. 11. 17. 23.]",
    "02_vector_add.py": "refused: vector_add: ",
    "03_reduce_sum.py": "4096 ones in f16: oprt 4096.0, one after another 2048.0",
    "04_softmax.py": "[0.5        0.         0.5       ]]",
    "06_relu_slope.py": "slope 0.1: [-0.2  -0.05  0.    1.     nan]",
}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_none_is_forgotten():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_python(name, tmp_path):
    assert SAYS[name] in run(sys.executable, EXAMPLES / name, cwd=tmp_path)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_rust(installed, tmp_path):
    environment = os.environ | {"PKG_CONFIG_PATH": f"{installed}/lib/pkgconfig", "CARGO_TARGET_DIR": str(tmp_path)}
    run("cargo", "test", "--quiet", "--offline", cwd=EXAMPLES / "rust", env=environment)
    printed = run("cargo", "run", "--quiet", "--offline", cwd=EXAMPLES / "rust", env=environment)
    assert printed.splitlines()[0] == "0.0321 0.0871 0.2369 0.6439 "
