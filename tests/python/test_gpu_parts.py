"""`./dev gpu`: what is recorded, and what is run again. The parts here are made of harmless steps."""

import importlib.util
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def gpu(monkeypatch):
    spec = importlib.util.spec_from_file_location("gpu_parts", ROOT / "tools/gpu.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gpu_parts", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "fingerprint", lambda: "one")
    return module


def run(gpu, monkeypatch, folder, steps, *options):
    """The recorded steps, and whether all passed."""
    monkeypatch.setattr(gpu, "PARTS", {"part": lambda: iter(steps)})
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(folder), *options, "part"])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    return json.loads((folder / "gpu.json").read_text())["parts"]["part"], ended.value.code == 0


def test_a_step_passes_by_its_exit_code_and_its_words(gpu, monkeypatch, tmp_path):
    program = [sys.executable, "-c"]
    steps = [
        gpu.Step("good", [*program, "print('3 errors'); print('0 errors')"], r"errors", r"\b0 errors"),
        gpu.Step("bad code", [*program, "print('0 errors'); raise SystemExit(4)"], r"errors", r"0 errors"),
        gpu.Step("bad words", [*program, "print('1 errors')"], r"errors", r"\b0 errors"),
        gpu.Step("slow", [*program, "import time; time.sleep(60)"], limit=1),
        gpu.Step("absent", ["there-is-no-such-program"]),
    ]
    steps_found, ok = run(gpu, monkeypatch, tmp_path, steps)
    assert not ok
    assert {name: step["result"] for name, step in steps_found.items()} == {
        "good": "passed", "bad code": "failed", "bad words": "failed", "slow": "failed", "absent": "failed"
    }  # fmt: skip
    assert steps_found["good"]["says"] == "0 errors"
    assert steps_found["bad code"]["code"] == 4
    assert steps_found["slow"]["code"] == "time limit"
    assert "there-is-no-such-program" in steps_found["absent"]["code"]


def test_what_passed_is_not_run_again_on_the_same_library(gpu, monkeypatch, tmp_path):
    count = tmp_path / "count"
    step = gpu.Step("counted", [sys.executable, "-c", f"open({str(count)!r}, 'a').write('x')"])
    for options, library, runs in ((), "one", 1), ((), "one", 1), (("--again",), "one", 2), ((), "another", 3):
        monkeypatch.setattr(gpu, "fingerprint", lambda library=library: library)
        _, ok = run(gpu, monkeypatch, tmp_path, [step], *options)
        assert ok
        assert len(count.read_text()) == runs


def test_without_a_library_only_the_build_runs(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "fingerprint", lambda: None)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path), "soak"])
    with pytest.raises(SystemExit, match="gpu build"):
        gpu.main()
