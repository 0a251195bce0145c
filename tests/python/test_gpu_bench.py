"""The comparison of bench/ without a GPU: a clock that runs things at once, tensors on the CPU, PyTorch as the peer."""

import argparse
import json
import pathlib
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from operator_runtime.bench import gpu_timing, results  # noqa: E402
from operator_runtime.testing.load import suites  # noqa: E402

from bench import gpu, machine, merge, operands, peers, sample  # noqa: E402  (after the path is set)
from bench import points as grid  # noqa: E402
from bench.peers import eager  # noqa: E402


class Graph:
    def __init__(self, work):
        self.replay = work


class AtOnce:
    """GpuClock's face: work is done when it is submitted."""

    l2_bytes = 1 << 10

    def __init__(self):
        self._marks = []

    def run(self, work):
        return work()

    def record(self, work):
        work()
        return Graph(work)

    def mark(self):
        self._marks.append(time.perf_counter())

    def gaps(self):
        marks, self._marks = self._marks, []
        return [b - a for a, b in zip(marks, marks[1:], strict=False)]


def copies(kind, size, sets):
    tensors = [(torch.zeros(size // 8 + 1), torch.zeros(size // 8 + 1)) for _ in range(sets)]
    return {f"{kind} torch": [lambda a=a, b=b: a.copy_(b) for a, b in tensors]}


@pytest.fixture(scope="module")
def cpu():
    return machine.Machine(AtOnce(), "cpu", lambda: None, copies, ["torch"], rounds=3)


SMALL = [
    grid.point("vector_add", "f32", "x", [[300]], [[300], [300]], "offset"),
    grid.point("vector_add", "bf16", "x", [[30, 16]], [[30, 16], [30, 1]]),
    grid.point("mul", "f16", "x", [[300]], [[300], [300]]),
    grid.point("relu", "f32", "x", [[30, 40]], [[30, 40]], "transposed", negative_slope=0.0),
    grid.point("gelu", "bf16", "x", [[30, 40]], [[30, 40]], "padded", approximate="none"),
    grid.point("gelu_and_mul", "f32", "x", [[30, 40]], [[30, 80]], approximate="tanh"),
    grid.point("silu", "f32", "x", [[70_000]], [[70_000]]),
    grid.point("silu_and_mul", "bf16", "x", [[300, 400]], [[300, 800]], "padded"),
    grid.point("copy", "f32", "x", [[2, 8, 3, 16]], [[2, 8, 3, 16]], "heads"),
    grid.point("copy", "bf16", "x", [[30, 16]], [[1, 16]]),
    grid.point("cast", "f32-bf16", "x", [[300]], [[300]]),
    grid.point("embedding", "bf16", "x", [[70, 40]], [[100, 40], [70]], "offset"),
    grid.point("rope", "f32", "x", [[40, 4, 16]], [[40, 4, 16], [99, 8], [99, 8], [40]], "padded", mode="half"),
    grid.point("rope", "bf16", "x", [[40, 4, 16]], [[40, 4, 16], [99, 8], [99, 8], [40]], mode="interleaved"),
    grid.point("matmul", "f32", "x", [[30, 50]], [[30, 40], [40, 50]], algorithm="tiled"),
    grid.point("matmul", "f32", "x", [[3, 30, 50]], [[3, 30, 40], [3, 40, 50]]),
    *(grid.rows(op, "f32", 90, 1000, "x", "padded") for op in grid.ROW_OPS),
    *(grid.rows(op, "bf16", 90, 1000, "x", dim=0) for op in ("softmax", "reduce_sum")),
]


@pytest.mark.parametrize("line", SMALL, ids=lambda line: f"{line['name']}-{line['layout']}")
def test_a_point_of_each_operator(cpu, line):
    point = cpu.point(line)
    assert point.complaints == [] and point.kernel
    assert point.cold["oprt"].median > 0 and len(point.cold["oprt"].samples) == 3
    assert "torch" in point.cold, point.missing
    ceilings = [name for name in point.cold if name.endswith(" torch")]
    assert len(ceilings) == (0 if point.op == "matmul" else 1) == (0 if point.copy_share is None else 1)
    json.dumps(list(results.entries(point)))


def test_a_wrong_kernel_is_found_and_a_wrong_peer_has_no_speed(cpu, monkeypatch):
    line = grid.point("silu", "f32", "x", [[70_000]], [[70_000]])
    found = sample.Sample.complaints
    monkeypatch.setattr(sample.Sample, "complaints", lambda self, outs: found(self, [out + 1e-3 for out in outs]))
    monkeypatch.setattr(sample.Sample, "distance", lambda self, out: float("nan"))
    point = cpu.point(line)
    assert "times the bound" in point.complaints[0]
    assert "torch" not in point.cold and point.missing["torch"].startswith("RuntimeError: wrong: off by nan")
    (own,) = [e for e in results.entries(point) if e["name"].endswith("/oprt/cold")]
    assert own["correct"] is False


def test_a_peer_that_fails_is_listed_and_one_that_offers_nothing_is_not(cpu, monkeypatch):
    def make(point, outs, ins):
        if point.op == "mul":
            raise peers.NotOffered("no mul")
        return lambda: 1 / 0

    monkeypatch.setattr(eager, "make", make)
    point = cpu.point(grid.point("silu", "f32", "x", [[4]], [[4]]))
    assert point.missing == {"torch": "ZeroDivisionError: division by zero"}
    assert cpu.point(grid.point("mul", "f32", "x", [[4]], [[4], [4]])).missing == {}


def test_what_oprt_refuses_is_listed(cpu):
    point = cpu.point(grid.point("rmsnorm", "f32", "x", [[4, 5]], [[4, 5], [5]], dim=1, eps=-1.0))
    assert "rmsnorm: eps" in point.missing["oprt"] and "oprt" not in point.cold


def test_the_first_and_last_are_always_compared():
    for count in (1, 7, 1000, 1 << 20):
        picked = sample.some_of(count, 100, np.random.default_rng(0))
        assert picked[0] == 0 and picked[-1] == count - 1 and len(picked) <= 130 and len(set(picked)) == len(picked)


def test_bytes_are_each_input_once_and_each_output_once():
    def of(*arguments, **params):
        return operands.Point(grid.point(*arguments, **params)).bytes

    assert of("vector_add", "f32", "x", [[100]], [[100], [100]]) == 1200
    assert of("cast", "f32-bf16", "x", [[100]], [[100]]) == 600
    assert of("embedding", "bf16", "x", [[7, 40]], [[100, 40], [7]]) == 2 * 7 * 40 * 2 + 7 * 8
    rope = of("rope", "bf16", "x", [[7, 4, 16]], [[7, 4, 16], [99, 8], [99, 8], [7]], mode="half")
    assert rope == 2 * 7 * 4 * 16 * 2 + 7 * (2 * 8 * 4 + 8)


def test_points_are_those_that_the_script_writes():
    lines = json.loads(grid.FILE.read_text())
    assert lines == json.loads(json.dumps(grid.grid()))
    names = [line["name"] for line in lines]
    assert len(set(names)) == len(names)
    assert {name.split("/")[0] for name in names} == set(suites())
    for line in lines:
        assert operands.Point(line).bytes > 0 and line["layout"] in grid.LAYOUTS


def test_parts_make_one_result_and_the_later_wins():
    def document(command, **times):
        entries = [{"name": f"relu/f32/{what}/oprt/cold", "real_time": ns} for what, ns in times.items()]
        return {"context": {"command": command}, "benchmarks": entries}

    found = merge.merged([document("one", a=1, b=2), document("two", b=3, c=4)])
    assert found["context"]["command"] == "one; two"
    assert {e["name"].split("/")[2]: e["real_time"] for e in found["benchmarks"]} == {"a": 1, "b": 3, "c": 4}


def test_a_run_goes_on_where_it_was_and_parts_are_disjoint(tmp_path):
    def some(document=None, **more):
        options = argparse.Namespace(**({"part": "1/1", "filter": "", "every": 1, "names": None} | more))
        return [line["name"] for line in gpu.chosen(options, document)]

    whole = some()
    assert sorted(some(part="1/2") + some(part="2/2")) == sorted(whole)
    document = {"benchmarks": [{"name": f"{name}/oprt/cold"} for name in whole[:-3]]}
    assert sorted(some(document)) == sorted(whole[-3:])
    assert {name.split("/")[0] for name in whole[: len(whole) // 5]} == set(suites())
    entries = [{"name": f"{name}/oprt/cold"} for name in [*whole, "relu/f32/host"]]
    assert [merge.point_of(e) for e in merge.in_order(entries)] == ["relu/f32/host", *(p["name"] for p in grid.grid())]
    (tmp_path / "names").write_text(f"{whole[9]}\n{whole[2]}\nno such point\n")
    assert some(names=tmp_path / "names") == [whole[9], whole[2]]
    assert all("odd" in name for name in some(filter="odd")) and len(some(every=10)) == -(-len(whole) // 10)


def test_every_peer_is_a_module():
    for name in peers.NAMES:
        assert (ROOT / "bench" / "peers" / f"{peers.MODULES[name]}.py").exists()


@pytest.mark.parametrize("size, sets, evict", [(4 << 10, 64, True), (1 << 20, 201, False), (1 << 30, 2, False)])
def test_buffers_go_round_past_the_cache(size, sets, evict):
    turns = gpu_timing.rotation(size, l2_bytes=50 << 20)
    assert (turns.sets, turns.evict) == (sets, evict) and turns.calls >= 20


class ByHand(AtOnce):
    """Time passes where the work says so."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def mark(self):
        self._marks.append(self.now)

    def takes(self, seconds, log=None):
        def work():
            self.now += seconds
            if log is not None:
                log.append(seconds)

        return work


def test_a_slow_provider_makes_fewer_calls():
    clock = ByHand()
    assert gpu_timing.record(clock, [clock.takes(0.02)] * 2, 20).calls == gpu_timing.LEAST_CALLS
    assert gpu_timing.record(clock, [clock.takes(0.00055)] * 2, 20).calls == 10
    assert gpu_timing.record(clock, [clock.takes(1e-6)] * 2, 20).calls == 20


def test_providers_take_turns_and_a_figure_is_a_call():
    """Reading for the cache's sake comes before a round, or before each replay, and is in no figure."""
    for each, rounds in ((False, "x12 x21 x12"), (True, "x1x2 x2x1 x1x2")):
        clock, log = ByHand(), []
        recorded = {name: gpu_timing.Recorded(Graph(clock.takes(int(name), log)), 4) for name in "12"}
        found = gpu_timing.measure(clock, recorded, clock.takes(9, log), each, rounds=3)
        assert "".join(map(str, log)).replace("9", "x") == "12" + rounds.replace(" ", "")
        assert found["1"].samples == [0.25] * 3 and found["2"].samples == [0.5] * 3
