"""The rules that keep the tree a house: layers point down, operators know nothing of each other, files stay small."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = sorted(p for p in ROOT.glob("oprt/**/*") if p.suffix in {".h", ".hpp", ".cpp", ".cu", ".cuh"})
LAYERS = ["api", "core", "runtime", "ops", "tensor"]  # each may include itself and what stands before it
LONGEST = 600  # lines


def place(path):
    """The folder of oprt/ that a path lies in; "" for the umbrella headers."""
    parts = pathlib.PurePath(path).parts
    return parts[1] if len(parts) > 2 else ""


def is_kernel(path):
    return path.suffix in {".cu", ".cuh"} or path.stem.endswith("_cpu")


def is_gpu_driver(path):
    return place(path) == "runtime" and path.stem.startswith("gpu_")


def includes(path):
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), flags=re.M)


def complaints(path, included):
    """What is wrong with `included` in the file at `path`, both relative to the root."""
    here, there = place(path), place(included)
    if re.search(r"Python\.h|torch|nanobind|pybind|numpy", included):
        yield "the library knows nothing of Python"
    if "/" in included and included.startswith("."):
        yield "an #include line is the file's path"
    if not included.startswith("oprt/"):
        return
    if here == "ops" and there == "ops" and path.parts[2] != pathlib.PurePath(included).parts[2]:
        yield "an operator includes no other operator's folder"
    if here == "device":
        if there not in {"device", "core", "api"}:
            yield "device/ stands on core/ and api/"
    elif there == "device":
        if not (here == "ops" and is_kernel(path)) and not (is_gpu_driver(path) and included == "oprt/device/gpu.h"):
            yield "device/ is included by kernels alone, but for the vendor's names in gpu.h"
    elif here in LAYERS and (there not in LAYERS or LAYERS.index(there) > LAYERS.index(here)):
        yield f"{here}/ stands below {there or 'the umbrella header'}"


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: str(p.relative_to(ROOT)))
def test_includes_point_down(path):
    relative = path.relative_to(ROOT)
    wrong = [f"{included}: {why}" for included in includes(path) for why in complaints(relative, included)]
    assert not wrong


# An assignment through such a pointer may become four stores (oprt/device/vector.cuh).
WORD_ASSIGNED = r"reinterpret_cast<u?int4\*>\([^;]*\)(\[[^;]*\])? = "


@pytest.mark.parametrize("path", [p for p in LIBRARY if p.suffix in {".cu", ".cuh"}], ids=lambda p: p.name)
def test_words_are_stored_whole(path):
    assert not re.findall(WORD_ASSIGNED, path.read_text())


def test_an_assigned_word_is_found():
    assert re.search(WORD_ASSIGNED, "if (whole) *reinterpret_cast<uint4*>(to) = word;")
    assert re.search(WORD_ASSIGNED, "reinterpret_cast<uint4*>(to)[i] = words.word[i];")
    assert not re.search(WORD_ASSIGNED, "word = *reinterpret_cast<const uint4*>(from);")


@pytest.mark.parametrize(
    ("path", "included", "wrong"),
    [
        ("oprt/api/status.h", "oprt/core/status.h", True),
        ("oprt/core/view.h", "oprt/runtime/device.h", True),
        ("oprt/core/view.h", "oprt/ops/relu/relu.h", True),
        ("oprt/core/view.h", "oprt/device/cpu/simd.h", True),
        ("oprt/ops/relu/relu.cpp", "oprt/device/cpu/simd.h", True),
        ("oprt/runtime/gpu_driver.cpp", "oprt/device/launch.cuh", True),
        ("oprt/runtime/cpu_driver.cpp", "oprt/device/gpu.h", True),
        ("oprt/ops/relu/relu_cpu.cpp", "oprt/ops/gelu/gelu_plan.h", True),
        ("oprt/device/cpu/simd.h", "oprt/ops/relu/relu.h", True),
        ("oprt/api/status.h", "oprt/oprt.h", True),
        ("oprt/core/status.cpp", "torch/extension.h", True),
        ("oprt/core/status.cpp", "../api/status.h", True),
        ("oprt/ops/relu/relu_cpu.cpp", "oprt/device/cpu/simd.h", False),
        ("oprt/ops/relu/relu_gpu.cu", "oprt/device/launch.cuh", False),
        ("oprt/runtime/gpu_driver.cpp", "oprt/device/gpu.h", False),
        ("oprt/ops/relu/relu.cpp", "oprt/core/operator.h", False),
        ("oprt/tensor/tensor.h", "oprt/api/tensor_view.h", False),
        ("oprt/core/status.cpp", "string", False),
    ],
)
def test_the_rule_tells_wrong_from_right(path, included, wrong):
    assert bool(list(complaints(pathlib.PurePath(path), included))) == wrong


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_literal_addresses(path):
    """A library that names a host or an absolute path works on one machine."""
    found = re.findall(r'"(?:https?://|/(?:usr|opt|home|root|tmp|var)/)[^"]*"', path.read_text())
    assert not found


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_files_stay_small():
    sources = {".h", ".hpp", ".cpp", ".c", ".cu", ".cuh", ".py", ".cmake", ".inc", ".rs"}
    long = {
        str(path.relative_to(ROOT)): lines
        for path in tracked_files()
        if path.suffix in sources and path.exists() and "third_party" not in path.parts
        if (lines := len(path.read_text().splitlines())) > LONGEST
    }
    assert not long, f"longer than {LONGEST} lines: split by idea, not by length"
