"""The clock of `oprt bench` on a GPU, or on the virtual one: `pytest --backend nvidia`."""

import os

import numpy as np
import operator_runtime as ort
import pytest
from operator_runtime import _native
from operator_runtime.bench import gpu_points

COUNT = 1000


@pytest.fixture(autouse=True)
def gpu(backend):
    if backend != "nvidia":
        pytest.skip("needs --backend nvidia")


@pytest.fixture
def clock():
    return _native.GpuClock()


@pytest.fixture
def buffers():
    """Two blocks; the first holds -500 to 499."""
    made = [_native.DeviceBuffer(4 * COUNT) for _ in range(3)]
    made[0].copy_from(np.arange(COUNT, dtype=np.float32) - 500)
    for other in made[1:]:
        other.copy_from(np.full(COUNT, 7, np.float32))
    return made


def floats(buffer):
    out = np.empty(COUNT, np.float32)
    buffer.copy_to(out)
    return out


def relu(buffers):
    views = [buffer.view("f32", [COUNT], [1], 0) for buffer in buffers]
    return ort.prepare_relu(views[1], views[0])


def test_recorded_work_runs_at_its_replay_and_between_its_marks(clock, buffers):
    prepared = relu(buffers)
    graph = clock.record(lambda: [prepared.run(), clock.copy(buffers[2], buffers[1], 4 * COUNT)])
    assert (floats(buffers[1]) == 7).all()
    clock.mark()
    graph.replay()
    clock.mark()
    (seconds,) = clock.gaps()
    assert seconds > 0 and clock.gaps() == []
    np.testing.assert_array_equal(floats(buffers[2]), np.maximum(np.arange(COUNT) - 500, 0))


def test_work_that_fails_leaves_the_clock_usable(clock, buffers):
    with pytest.raises(ZeroDivisionError):
        clock.record(lambda: 1 / 0)
    clock.record(relu(buffers).run).replay()
    clock.mark()
    clock.gaps()
    assert floats(buffers[1]).max() == 499


def test_a_copy_past_a_buffer_is_refused(clock, buffers):
    with pytest.raises(ort.InvalidArgumentError, match="bytes: expected what both buffers hold, got 4001"):
        clock.copy(buffers[1], buffers[0], 4 * COUNT + 1)


def test_a_machine_measures_a_copy_and_a_point(monkeypatch):
    class Small:
        """The clock of a GPU with a small cache: little has to go round."""

        l2_bytes = 4096
        clock = _native.GpuClock()

        def __getattr__(self, name):
            return getattr(self.clock, name)

    monkeypatch.setattr(gpu_points._native, "GpuClock", Small)
    monkeypatch.setattr(gpu_points, "LARGE", 1 << 16)
    from operator_runtime.testing.items import benchmarks
    from operator_runtime.testing.load import suites

    machine = gpu_points.Machine(rounds=3)
    assert machine.ceiling() > 0
    d, bench = next((d, bench) for d, bench in benchmarks(suites()["relu"], "relu", "f32") if bench.name == "1e3")
    point = machine.point("relu", "relu/f32/1e3", d, bench)
    assert point.complaints == [] and point.kernel == "relu_contiguous" and point.bytes == 8000
    assert set(point.cold) == {"oprt", "copy memcpy", "copy oprt"} and point.host["oprt"] > 0


def test_recorded_work_tells_its_kernels(clock, buffers):
    """On the virtual GPU; elsewhere each library may have a runtime of its own, which knows its own kernels."""
    prepared = relu(buffers)
    graph = clock.record(lambda: [prepared.run(), clock.copy(buffers[2], buffers[1], 4 * COUNT)])
    if "VGPU_STATUS" in os.environ:
        (symbol,) = graph.kernels
        assert "elementwise_contiguous" in symbol
    else:
        assert len(graph.kernels) <= 1
