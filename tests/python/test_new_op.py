"""CONTRIBUTING.md's recipe for an operator, followed to the letter in a copy of the tree: it builds, is tested and is
measured with no other edit; and a wrong formula is told."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("new-op")


def run(*command, tree, **options):
    # A compiler cache has the objects already: with a base folder it does not see that the copy lies elsewhere.
    environment = os.environ | {
        "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1", "PYTHONPATH": str(tree / "build/cpu/python")
    }  # fmt: skip
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


def must(*command, tree):
    code, output = run(*command, tree=tree)
    assert code == 0, f"{' '.join(command)}\n{output[-4000:]}"
    return output


def recipe():
    """The rows of CONTRIBUTING.md's table: file, what is marked, what it becomes."""
    rows = re.findall(
        r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.M
    )
    assert len(rows) == 5
    return rows


def python(tree):
    """The interpreter that runs this, by a path inside the copy where that can be."""
    if sys.prefix != str(ROOT / ".venv"):
        return sys.executable
    if not (tree / ".venv").exists():
        (tree / ".venv").symlink_to(ROOT / ".venv")
    return str(tree / ".venv/bin/python")


def build(tree):
    must("ninja", "-C", "build/cpu", "_native", tree=tree)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree with the operator made and filled in, built."""
    tree = tmp_path_factory.mktemp("new-op") / "tree"
    shutil.copytree(
        ROOT,
        tree,
        symlinks=True,
        ignore=shutil.ignore_patterns("build", ".venv", ".git", "__pycache__", ".*cache", "square*"),
    )
    before = {path for path in tree.rglob("*") if path.is_file()}
    must("bash", "dev", "new-op", "square", tree=tree)
    made = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() and path not in before}
    assert made == {
        *(
            f"oprt/ops/square/{name}"
            for name in ("square.h", "square_plan.h", "square.cpp", "square_cpu.cpp", "cases.py")
        ),
        "python/operator_runtime/ops/square.py",
    }
    for file, marked, becomes in recipe():
        text = (tree / file).read_text()
        assert text.count(marked) == 1, f"{file}: {marked}"
        (tree / file).write_text(text.replace(marked, becomes))
    must("cmake", "--preset", "cpu", "-DOPRT_BUILD_TESTS=OFF",
         f"-DPython3_EXECUTABLE={python(tree)}", f"-DPython_EXECUTABLE={python(tree)}", tree=tree)  # fmt: skip
    build(tree)
    return tree


def test_it_passes_its_tests(tree):
    output = must(sys.executable, "-m", "operator_runtime", "test", "--op", "square", tree=tree)
    assert "square" in output


def test_it_is_measured(tree):
    must(sys.executable, "-m", "operator_runtime", "bench", "--op", "square", "--dtype", "f32", "--filter", "1e3",
         "--json", "square.json", tree=tree)  # fmt: skip
    assert json.loads((tree / "square.json").read_text())["benchmarks"]


def test_it_is_in_the_generated_documents(tree):
    must(sys.executable, "docs/generate.py", tree=tree)
    assert "square" in (tree / "README.md").read_text()
    assert "oprt_create_square_descriptor" in (tree / "docs" / "operators.md").read_text()


def test_a_wrong_formula_is_told(tree):
    kernel = tree / "oprt/ops/square/square_cpu.cpp"
    right = kernel.read_text()
    kernel.write_text(right.replace("hn::Mul(x, x)", "hn::Add(x, x)"))
    try:
        build(tree)
        code, output = run(sys.executable, "-m", "operator_runtime", "test", "--op", "square", tree=tree)
    finally:
        kernel.write_text(right)
    assert code == 1
    assert "square/f32/contiguous" in output and "want" in output


@pytest.mark.parametrize("name", ["Square", "2d", "a-b", "a__b", "relu", "../x"])
def test_names_that_are_none_are_refused(name, tree):
    code, output = run("bash", "dev", "new-op", name, tree=tree)
    assert code == 1
    assert name in output
