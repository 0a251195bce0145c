"""The page of CPU speeds says what its file says, and why each target is missed."""

import importlib.util
import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("cpu_speed", ROOT / "docs" / "cpu_speed.py")
cpu_speed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cpu_speed)

CONTEXT = {
    "command": "oprt bench --json x.json",
    "num_cpus": 2,
    "cpu": "Abacus",
    "cpu_target": "avx2",
    "date": "2025-01-01",
    "oprt": "1.1.0",
    "torch": "2",
    "matmul_library": "none",
    "caches": [{"type": "Unified", "level": 3, "size": 1 << 20}],
    "dram_bytes_per_second": 1e10,
}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """page(name, bytes, {provider: ns}) of one point, each figure with a noise of 1 %."""
    monkeypatch.setattr(cpu_speed, "ROOT", tmp_path)

    def made(name, size, times):
        entries = [
            {"name": f"{name}/{provider}/{state}", "real_time": ns, "bytes": size, "spread": 0.01}
            for provider, ns in times.items()
            for state in ("cold", "hot")
        ]
        file = tmp_path / "cpu-x.json"
        file.write_text(json.dumps({"context": CONTEXT, "benchmarks": entries}))
        return cpu_speed.page(file)

    return made


def test_every_target_reached(page):
    text = page("gelu/f32/tanh 1e7", 80_000_000, {"oprt": 100, "copy memcpy": 96, "torch": 110})
    assert "| f32 tanh 1e7 | 80 MB | 100 ns | 0.96 | 0.96 (0.95) | 1.10 (1) |" in text
    assert "oprt bench --json x.json" in text and "Abacus" in text and "10.0 GB/s" in text


def test_a_miss_with_its_cause(page):
    text = page("gelu/f32/none 1e7", 80_000_000, {"oprt": 200, "copy memcpy": 100, "copy oprt": 80, "torch": 300})
    assert "| gelu/f32/none 1e7 | memcpy | 0.50 | 0.95 | 47% | arithmetic: erfc" in text
    assert "| 0.40 | **0.50** (0.95) | 1.50 (1) |" in text


def test_a_miss_within_the_noise(page):
    assert "within the noise, 1%" in page("mul/f32/1e6", 1000, {"oprt": 1000, "copy memcpy": 10, "torch": 990})


def test_a_miss_that_nobody_explains_is_an_error(page):
    with pytest.raises(SystemExit, match=r"mul/f32/1e6 against torch: 0.50 of 1"):
        page("mul/f32/1e6", 1000, {"oprt": 1000, "copy memcpy": 10, "torch": 500})


@pytest.mark.parametrize(
    "name, size, against, target",
    [
        ("mul/f32/1e3", 12_000, "torch", 1.3),
        ("mul/f32/1e4", 120_000, "torch", 1.0),
        ("layernorm/f32/10x1000", 88_000, "torch", 1.5),
        ("layernorm/f32/1000x1000", 8_000_000, "memcpy", 0.9),
        ("softmax/f32/1000x1000", 8_000_000, "memcpy", 0.85),
        ("softmax/f32/64x512, in L2", 262_144, "memcpy", 0.35),
        ("relu/f32/1e4", 80_000, "memcpy", None),
        ("copy/f32/transposed 256x256", 524_288, "memcpy", 0.8),
        ("matmul/f32/512^3", 3_000_000, "library", 0.98),
        ("matmul/f32/tiled 512^3", 3_000_000, "library", None),
    ],
)
def test_targets(name, size, against, target):
    point = cpu_speed.Point(name)
    point.cold["oprt"] = point.hot["oprt"] = {"bytes": size}
    assert point.target(against, last_level_cache=1 << 20) == target
