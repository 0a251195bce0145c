"""The programs in the README compile and print what softmax gives."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("installed")
FIRST_ROW = "0.0900306 0.244728 0.665241"  # softmax of 1, 2, 3 to six digits


def program(language):
    (code,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    return code


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("language, compiler", [("c", ["cc", "-std=c99"]), ("cpp", ["c++", "-std=c++20"])])
def test_compiled(language, compiler, installed, tmp_path):
    source, binary = tmp_path / f"softmax.{language}", tmp_path / "softmax"
    source.write_text(program(language))
    library = installed / "lib"
    run([*compiler, "-Wall", "-Werror", source, f"-I{installed}/include", f"-L{library}", "-loprt", "-o", binary])
    assert run([binary], env=os.environ | {"LD_LIBRARY_PATH": str(library)}).strip() == FIRST_ROW


def test_python(tmp_path):
    printed = run([sys.executable, "-c", program("python")], cwd=tmp_path)
    assert printed.startswith("[[0.09003057 0.24472848 0.66524094]"), printed
