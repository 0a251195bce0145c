"""The `oprt` command: exit codes, files, and a sentence for everything that is asked wrongly."""

import copy
import dataclasses
import json
import pathlib
import subprocess
import sys

import pytest
from operator_runtime.bench.points import Point
from operator_runtime.bench.timing import Timing
from operator_runtime.cli import bench
from operator_runtime.cli.app import app
from operator_runtime.testing import load
from typer.testing import CliRunner

RUN_OPS = pathlib.Path(__file__).parents[1] / "run_ops.py"


def oprt(*arguments):
    """Runs the command in this process: (exit code, everything it printed)."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture
def wrong_relu(monkeypatch):
    """relu's suite expects something else than relu gives."""
    suites = dict(load.suites())
    suites["relu"] = dataclasses.replace(suites["relu"], reference=lambda x, negative_slope: x + 1)
    for module in ("operator_runtime.testing.items", "operator_runtime.bench.points"):
        __import__(module)
        monkeypatch.setattr(sys.modules[module], "suites", lambda: suites)


# oprt test


def test_passing_is_0_and_the_file_says_what_ran(tmp_path):
    path = tmp_path / "results.json"
    code, output = oprt("test", "--op", "relu", "--filter", "relu/f32/padded", "--json", path)
    assert code == 0 and "20 cases passed" in output
    found = json.loads(path.read_text())
    assert found["passed"] is True and found["cases"] == 20 and found["failures"] == []
    (item,) = found["items"]
    assert item["name"] == "relu/f32/padded" and item["cases"] == 20 and item["failures"] == 0
    assert {"date", "cpu", "num_cpus", "oprt", "numpy"} <= found["context"].keys()


def test_one_case_can_be_run_alone():
    code, output = oprt("test", "--filter", "relu/bf16/negative/07")
    assert code == 0 and "1 cases passed" in output


@pytest.mark.parametrize(
    "filter, cases", [("16/padded/1", 20), ("f32/in place/0", 10), ("relu/f32/errors/in missing", 1)]
)
def test_a_filter_may_span_parts_of_the_name(filter, cases):
    code, output = oprt("test", "--op", "relu", "--filter", filter)
    assert code == 0 and f"{cases} cases passed" in output


def test_failing_is_1_and_says_where_how_much_and_how_again(tmp_path, wrong_relu):
    path = tmp_path / "results.json"
    code, output = oprt("test", "--op", "relu", "--filter", "relu/f32/contiguous", "--json", path)
    assert code == 1
    assert "relu/f32/contiguous/0" in output and "want" in output and "times the bound" in output
    assert "again: oprt test --filter relu/f32/contiguous/0" in output and "20 of 20 cases failed" in output
    found = json.loads(path.read_text())
    assert found["passed"] is False and len(found["failures"]) == 20
    assert {"case", "message", "rerun"} == found["failures"][0].keys()


def test_processes_find_what_one_finds():
    one, several = (oprt("test", "--op", "relu", "--dtype", "f16", "--filter", "e", "--jobs", jobs) for jobs in (1, 2))
    assert one[0] == several[0] == 0
    cases = [output[output.index("relu") :].split()[1] for _, output in (one, several)]
    assert cases[0] == cases[1] and int(cases[0]) > 100


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["test", "--filter", "no such case"], "nothing ran: no case matches 'no such case'."),
        (["test", "--op", "rellu"], "there is no operator 'rellu'. Did you mean relu?"),
        (["test", "--op", "relu", "--dtype", "f64"], "there is no dtype 'f64'"),
        (["test", "--op", "relu", "--dtype", "i64"], "nothing ran"),
        (["test", "--backend", "abacus"], "expected one of nvidia, tilelang, metax, cpu, got 'abacus'."),
        (["test", "--backend", "metax"], "this build has no metax backend."),
        (
            ["test", "--filter", "relu/f32/empty/00", "--json", "/no/such/folder/x.json"],
            "cannot write /no/such/folder/x.json",
        ),
        (["test", "--filter", "relu/f32/empty/00", "--json", "/no/folder/x.json"], "cannot write /no/folder/x.json"),
        (["bench", "--op", "nothing like it"], "there is no operator 'nothing like it'."),
        (["bench", "--peer", "tourch"], "there is no peer 'tourch'. Did you mean torch?"),
        (["bench", "--filter", "no such point"], "nothing ran: no benchmark matches 'no such point'."),
        (["compare", "/no/a.json", "/no/b.json"], "cannot read /no/a.json: No such file or directory."),
        (["report", "/no/a.json"], "cannot read /no/a.json: No such file or directory."),
        (["report", __file__], "is not a result of `oprt bench --json`."),
        (["compare", __file__, __file__], "is not a result of `oprt bench --json`."),
        (["tset"], "No such command 'tset'"),
        (["test", "--opp", "relu"], "No such option"),
        (["compare", "a.json"], "Missing argument"),
    ],
)
def test_wrong_usage_is_2_and_answered_in_a_sentence(arguments, said):
    code, output = oprt(*arguments)
    assert code == 2
    assert said in " ".join(output.split()), output
    assert "Traceback" not in output


def test_info_says_what_is_there():
    code, output = oprt("info")
    assert code == 0
    for word in ("oprt", "ABI 1", "backends", "cpu", "cores", "numpy", "relu_contiguous"):
        assert word in output


def test_the_module_and_the_old_door_pass_the_exit_code_on():
    def code_of(*command):
        return subprocess.run([sys.executable, *command], capture_output=True, timeout=120).returncode

    assert code_of("-m", "operator_runtime", "test", "--filter", "relu/f32/rank 0/00") == 0
    assert code_of("-m", "operator_runtime", "test", "--filter", "nothing of the kind") == 2
    assert code_of(RUN_OPS, "--op", "rellu", "--backend", "cpu", "--mode", "test") == 2
    assert code_of(RUN_OPS, "--mode", "sing") == 2


# oprt bench, compare, report


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """One small run of the benchmark: (path, document)."""
    path = tmp_path_factory.mktemp("bench") / "result.json"
    arguments = ["--op", "relu", "--dtype", "f32", "--filter", "f32/1e3", "--peer", "numpy", "--rounds", 3]
    code, output = oprt("bench", *arguments, "--json", path)
    assert code == 0, output
    assert "relu/f32/1e3" in output and "of copy" in output and "GB/s" in output
    return path, json.loads(path.read_text())


def test_bench_writes_google_benchmarks_schema(result):
    _, document = result
    assert {"date", "host_name", "executable", "num_cpus", "mhz_per_cpu", "caches", "load_avg"} <= document[
        "context"
    ].keys()
    names = [entry["name"] for entry in document["benchmarks"]]
    for provider in ("oprt", "copy memcpy", "numpy"):
        assert f"relu/f32/1e3/{provider}/cold" in names and f"relu/f32/1e3/{provider}/hot" in names
    for entry in document["benchmarks"]:
        assert entry["run_type"] == "iteration" and entry["time_unit"] == "ns" and entry["iterations"] >= 3
        assert entry["real_time"] > 0 and entry["cpu_time"] > 0 and entry["spread"] >= 0
        assert entry["bytes"] == 8000
        assert entry["bytes_per_second"] == pytest.approx(8000 / entry["real_time"] * 1e9)
    own = next(entry for entry in document["benchmarks"] if entry["name"] == "relu/f32/1e3/oprt/cold")
    assert own["correct"] is True and own["copy_share"] > 0 and own["label"] == "relu_contiguous"


def test_a_wrong_kernel_has_no_speed(wrong_relu):
    code, output = oprt("bench", "--op", "relu", "--dtype", "f32", "--filter", "f32/1e3", "--rounds", 3)
    assert code == 1 and "relu/f32/1e3 is wrong, so its speed means nothing" in output


def test_a_peer_that_is_not_there_is_said_at_once(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, output = oprt("bench", "--op", "relu", "--peer", "torch")
    assert code == 2 and "torch is not installed: pip install torch." in output


def test_C43_a_figure_above_memory_is_marked():
    def figures(seconds):
        timings = {"oprt": Timing([seconds] * 3, 1), "copy memcpy": Timing([1e-3] * 3, 1)}
        point = Point("x", "x", "f32", 10_000_000, None, "x_kernel", [], timings, timings, {})
        return bench.figures(point, [], ceiling=10e9)

    assert figures(1e-3)[3] == "10.00" and figures(1e-3)[4] == "1.00"
    assert figures(0.5e-3)[3] == "20.00*" and figures(0.5e-3)[4] == "2.00"


def with_own_time(document, times, spread, **context):
    """The result with oprt's time multiplied and its spread set."""
    changed = copy.deepcopy(document)
    changed["context"].update(context)
    for entry in changed["benchmarks"]:
        if entry["name"].endswith("/oprt/cold"):
            entry["real_time"] *= times
            entry["copy_share"] /= times
            entry["spread"] = spread
    return changed


@pytest.mark.parametrize(
    "times, spread, verdict, code",
    [
        (1.0, 0.01, "same", 0),
        (1.10, 0.01, "slower", 1),
        (1.10, 0.05, "same", 0),  # within twice the two spreads together
        (0.80, 0.01, "faster", 0),
        (1.02, 0.0, "same", 0),  # however quiet, 2 % is nothing
    ],
)
def test_compare_sees_what_is_more_than_noise(tmp_path, result, times, spread, verdict, code):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    before.write_text(json.dumps(with_own_time(result[1], 1.0, spread)))
    after.write_text(json.dumps(with_own_time(result[1], times, spread)))
    found, output = oprt("compare", before, after)
    assert found == code and f" {verdict}" in output


def test_compare_of_two_machines_compares_shares_of_the_copy(tmp_path, result):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    before.write_text(json.dumps(with_own_time(result[1], 1.0, 0.0)))
    slower_machine = with_own_time(result[1], 1.0, 0.0, host_name="another")
    for entry in slower_machine["benchmarks"]:
        entry["real_time"] *= 3
    after.write_text(json.dumps(slower_machine))
    code, output = oprt("compare", before, after)
    assert code == 0 and "Two machines" in output and "1 within the noise" in output


def test_compare_needs_a_common_point(tmp_path, result):
    other = copy.deepcopy(result[1])
    for entry in other["benchmarks"]:
        entry["name"] = "other" + entry["name"]
    path = tmp_path / "other.json"
    path.write_text(json.dumps(other))
    code, output = oprt("compare", result[0], path)
    assert code == 2 and "no point in common" in output


def test_report_is_one_page_with_every_point(tmp_path, result):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    code, output = oprt("report", result[0], "--out", page)
    assert code == 0 and str(page) in output.replace("\n", "")
    text = page.read_text()
    assert "<td>relu/f32/1e3</td>" in text and "relu_contiguous" in text and "numpy" in text
    assert text.count("data:image/svg+xml;base64,") == 3
    assert "http://" not in text and "https://" not in text and "<script" not in text
