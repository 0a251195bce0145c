"""The page of GPU speeds says what its file says, what is missed and by which rule, and keeps the causes on record."""

import importlib.util
import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("gpu_speed", ROOT / "docs" / "gpu_speed.py")
gpu_speed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gpu_speed)

MB = 1_000_000
CONTEXT = {
    "command": "python -m bench.gpu --json x.json",
    "date": "2025-01-01",
    "oprt": "1.1.0",
    "torch": "2",
    "triton": "3",
    "cuda": "13.0",
    "gpu_name": "Abacus 9000",
    "gpu_driver_version": "5",
    "gpu_clocks.sm": "1 MHz",
    "gpu_clocks.max.sm": "2 MHz",
}


def document(name, size, times, failed=(), host=()):
    entries = [
        {"name": f"{name}/{provider}/cold", "real_time": ns, "bytes": size, "correct": True}
        for provider, ns in times.items()
    ]
    entries += [
        {"name": f"{name}/{provider}/cold", "error_occurred": True, "error_message": why} for provider, why in failed
    ]
    entries += [{"name": f"{name}/{provider}/host", "real_time": ns} for provider, ns in host]
    return {"context": CONTEXT, "benchmarks": entries}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """page(name, bytes, {provider: ns}) of one point; with before=, an earlier run's times."""
    monkeypatch.setattr(gpu_speed, "ROOT", tmp_path)
    monkeypatch.setattr(gpu_speed, "LOSSES", tmp_path / "losses.txt")
    (tmp_path / "losses.txt").write_text(
        "# pattern | against | cause | tried\nrelu/*/1 GB | torch | a cause | a trial\n"
    )

    def made(name, size, times, before=None, **more):
        path = tmp_path / "gpu-2.json"
        path.write_text(json.dumps(document(name, size, times, **more)))
        if before is None:
            return gpu_speed.page(path)
        (tmp_path / "gpu-1.json").write_text(json.dumps(document(name, size, before)))
        return gpu_speed.page(path, tmp_path / "gpu-1.json")

    return made


def test_a_point_that_reaches_everything(page):
    text = page("relu/bf16/1 GB", 1000 * MB, {"oprt": 250_000, "copy kernel 0": 248_000, "torch": 260_000})
    assert "| bf16 1 GB | 1 GB | 250.00 µs | 4000 GB/s | 0.99 (0.98) | torch | 1.04 (0.97) |" in text
    assert "At 1 of 1 points oprt is faster than every peer or ties with the fastest; at 1 of 1\nit reaches" in text
    assert (
        "None." in text
        and "Not measured" not in text
        and "Abacus 9000" in text
        and "PyTorch 2, Triton 3" in text
        and "gpu-2.json" in text
    )


def test_a_loss_keeps_its_cause_and_a_peer_is_a_loss_in_two_runs(page):
    times = {"oprt": 260_000, "copy memcpy": 250_000, "torch": 250_000, "plain": 900_000}
    lost = "| relu/bf16/1 GB | torch | 0.962 | 0.97 | a cause | a trial |"
    assert lost in page("relu/bf16/1 GB", 1000 * MB, times)
    assert lost in page("relu/bf16/1 GB", 1000 * MB, times, before=times)
    text = page("relu/bf16/1 GB", 1000 * MB, times, before=times | {"oprt": 250_000})
    assert lost not in text and "and in the one before it" in text
    assert "| relu/bf16/1 GB | ceiling | 0.962 | 0.98 | not known yet |  |" in text


def test_what_did_not_run_is_listed(page):
    text = page("relu/bf16/1 GB", 1000 * MB, {"copy memcpy": 1}, failed=[("oprt", "no | memory"), ("torch", "absent")])
    assert "| relu/bf16/1 GB | itself | did not run | runs |" in text
    assert "| oprt | no / memory | 1: relu/bf16/1 GB |" in text and "| torch | absent |" in text


def test_points_of_the_grid_that_the_run_lacks_are_named(page, tmp_path):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "points.json").write_text('[{"name": "relu/bf16/1 GB"}, {"name": "relu/f32/1 GB"}]')
    text = page("relu/bf16/1 GB", 1000 * MB, {"oprt": 250_000, "copy kernel 0": 248_000})
    assert text.endswith("## Not measured in this run\n\nrelu/f32/1 GB\n")


def test_host_costs_over_their_limits_are_bold(page):
    host = [("oprt from C", 2250), ("bare launch, 128 bytes", 2000), ("oprt prepared", 2900), ("oprt silu_", 3000)]
    text = page("silu/f32/host", 0, {}, host=[*host, ("torch", 5000)])
    assert "| silu | 2.25 | 2.00 | **2.90** | 3.00 | 5.00 | 128 bytes |" in text


@pytest.mark.parametrize(
    "name, size, target",
    [
        ("relu/bf16/1 GB", 1074 * MB, 0.98),
        ("relu/bf16/64 MB", 67 * MB, 0.95),
        ("relu/bf16/4 MB", 4 * MB, None),
        ("relu/bf16/64 MB, odd length", 67 * MB, None),
        ("gelu/bf16/none 1 GB", 1074 * MB, 0.92),
        ("gelu/bf16/tanh 1 GB", 1074 * MB, 0.98),
        ("softmax/bf16/1024x131072", 537 * MB, 0.90),
        ("softmax/bf16/1048576x128", 537 * MB, 0.93),
        ("reduce_sum/bf16/65536x4096", 537 * MB, 0.97),
        ("copy/f32/transposed 8192x8192", 537 * MB, 0.95),
        ("embedding/f32/65536 of 4096", 2147 * MB, 0.95),
    ],
)
def test_shares_of_the_ceiling(name, size, target):
    point = gpu_speed.Point(name)
    point.times = {"oprt": {"bytes": size, "real_time": 1}, "copy memcpy": {"bytes": size, "real_time": 1}}
    assert point.share_target() == target


@pytest.mark.parametrize(
    "name, size, own, peer, lost",
    [
        ("softmax/bf16/1x4096", 16_384, 1080, 1000, False),  # 0.08 µs later
        ("softmax/bf16/1x4096", 16_384, 1120, 1000, True),
        ("softmax/bf16/256x4096", 4 * MB, 1040, 1000, True),
        ("matmul/bf16/4096x4096x4096", 100 * MB, 1020, 1000, True),
        ("matmul/bf16/4096x4096x4096", 100 * MB, 1005, 1000, False),
        ("matmul/bf16/tiled 2048^3", 100 * MB, 5000, 1000, False),
    ],
)
def test_peers(name, size, own, peer, lost):
    point = gpu_speed.Point(name)
    point.times = {"oprt": {"bytes": size, "real_time": own}, "triton": {"bytes": size, "real_time": peer}}
    assert [against for against, _, _ in point.misses(None)] == (["triton"] if lost else [])


def test_small_elementwise_work_is_held_against_plain_traffic():
    point = gpu_speed.Point("relu/bf16/1 MB")
    point.times = {"oprt": {"bytes": MB, "real_time": 1900}, "copy memcpy": {"bytes": MB, "real_time": 1700}}
    assert list(point.misses(None)) == [("ceiling", "0.20 µs later", "0.15 µs")]
    point.times["oprt"]["real_time"] = 1840
    assert list(point.misses(None)) == []


def test_the_committed_page_is_made_of_the_committed_file():
    measured, before = gpu_speed.newest()
    if measured is None:
        pytest.skip("nothing was measured yet")
    assert gpu_speed.PAGE.read_text() == gpu_speed.page(measured, before)
