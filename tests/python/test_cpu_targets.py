"""Every instruction set that kernels were compiled for and this machine has: chosen by OPRT_CPU_TARGET, and right."""

import json
import os
import subprocess
import sys

import pytest
from operator_runtime.testing.load import suites

TARGETS = ("portable", "avx2", "avx512")


def python(*arguments, target=None):
    env = {name: value for name, value in os.environ.items() if name != "OPRT_CPU_TARGET"}
    if target is not None:
        env["OPRT_CPU_TARGET"] = target
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True)


def target_under(setting):
    done = python("-c", "from operator_runtime import _native; print(_native.cpu_target())", target=setting)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_portable_is_always_there_and_nonsense_is_ignored():
    best = target_under(None)
    assert target_under("portable") == "portable"
    for nonsense in ("", "AVX2", "sse9"):
        assert target_under(nonsense) == best


def test_a_setting_bars_better_sets_alone():
    best = target_under(None)
    if best not in TARGETS:
        pytest.skip(f"this machine's is {best}")
    for target in TARGETS:
        lower = min(TARGETS.index(target), TARGETS.index(best))
        assert target_under(target) == TARGETS[lower]


@pytest.mark.parametrize("target", TARGETS)
def test_every_operator_is_right_on(target, tmp_path):
    if target_under(target) != target:
        pytest.skip(f"this machine has no {target}")
    results = tmp_path / "results.json"
    done = python("-m", "operator_runtime", "test", "--filter", "contiguous", "--json", results, target=target)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(results.read_text())
    assert found["context"]["cpu_target"] == target
    tested = {item["name"].split("/")[0] for item in found["items"]}
    assert tested == set(suites())
