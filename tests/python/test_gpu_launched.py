"""What `./dev test gpu` says of CUDA kernels that its sample has not launched; how the sample finds calls for them."""

import contextlib
import importlib.util
import itertools
import pathlib
import sys

import pytest
from operator_runtime.testing import call, items, variants
from operator_runtime.testing.load import suites

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "launched\tvoid add<float>(float*)\t_Z3addIfE\nnever\tvoid add<half>(half*)\t_Z3addI6halfE\n"


@pytest.fixture
def launched():
    spec = importlib.util.spec_from_file_location("launched", ROOT / "tests/gpu/launched.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_kernel_that_was_never_launched_is_named(launched, monkeypatch, tmp_path, capsys):
    path = tmp_path / "kernels"
    path.write_text(LIST)
    monkeypatch.setattr(sys, "argv", ["launched.py", str(path)])
    for left_out, code, said in (
        ({}, 1, "never launched: void add<half>(half*)"),
        ({"add<half>": "why"}, 0, "1 of 2 CUDA kernels launched, 0 complaints"),
        ({"add<half>": "why", "add<float>": "why"}, 1, "nothing to leave out: add<float>"),
    ):
        monkeypatch.setattr(launched, "LEFT_OUT", left_out)
        assert launched.main() == code
        assert said in capsys.readouterr().out


def test_a_list_without_kernels_is_a_failure(launched, monkeypatch, tmp_path):
    path = tmp_path / "kernels"
    path.write_text("")
    monkeypatch.setattr(launched, "LEFT_OUT", {})
    monkeypatch.setattr(sys, "argv", ["launched.py", str(path)])
    assert launched.main() == 1


def test_kernels_of_one_name_in_two_files_count_apart(launched):
    found = launched.read("launched\tcopy(Identity)\t_Zcopy_cu\nnever\tcopy(Identity)\t_Zcast_cu\n")
    (said,) = launched.complaints(found, {})
    assert "_Zcast_cu" in said


def names(monkeypatch, launches):
    monkeypatch.setattr(items, "launches_on", lambda backend: launches)
    suite, item = suites()["relu"], items.Item("relu", "all", "sample")
    return [name for name, _ in items.sample(suite, call.Package("relu"), item)]


def test_the_sample_has_a_call_for_each_cuda_kernel(monkeypatch):
    suite = suites()["relu"]
    calls = sum(sum(1 for _ in items.every_call(suite, items.Item("relu", dtype, "sample"))) for dtype in suite.dtypes)
    one_each = names(monkeypatch, lambda prepared: ())
    count = itertools.count()
    all_of_them = names(monkeypatch, lambda prepared: {next(count)})
    count = itertools.count()
    one_more = names(monkeypatch, lambda prepared: {"the first"} if next(count) == 0 else {"another"})
    assert len(one_each) < len(all_of_them) == calls + 1  # and whether a kernel is left out
    assert len(one_each) <= len(one_more) <= len(one_each) + 2
    assert len(set(all_of_them)) == len(all_of_them)


class Last(call.Package):
    """Leaves the last row of many as it was."""

    def prepare(self, outs, ins, params):
        if len(outs[0]) > 1:
            outs, ins = [outs[0][:-1]], [ins[0][:-1], *ins[1:]]
        return super().prepare(outs, ins, params)


@pytest.mark.parametrize("op", ["softmax", "reduce_sum"])
def test_a_row_among_many_is_compared(op, monkeypatch):
    monkeypatch.setattr(variants, "LENGTHS", (8, 64))
    monkeypatch.setattr(variants, "COUNTS", (2, 17))
    for operator, right in ((call.Package(op), True), (Last(op), False)):
        said = [test() for *_, test in variants.batches(suites()[op], operator, "f32")]
        assert len(said) == 6
        assert all((complaints == []) == right for complaints in said)
        assert right or "other bits than the row alone" in said[0][0]


class Never(call.Package):
    """Runs on nothing: the outputs stay as they were."""

    def prepare(self, outs, ins, params):
        super().prepare(outs, ins, params).destroy()
        return contextlib.nullcontext(Idle())


class Idle:
    kernel = "idle"

    def run(self):
        pass


@pytest.mark.parametrize("find", [variants.sized, variants.turned])
def test_an_input_that_lies_otherwise_is_compared(find, monkeypatch):
    monkeypatch.setattr(variants, "DRAWS", 2)
    monkeypatch.setattr(variants, "TURNED", 2)
    monkeypatch.setattr(variants, "LARGE", variants.SMALL)
    for operator, right in ((call.Package("vector_add"), True), (Never("vector_add"), False)):
        said = [test() for *_, test in find(suites()["vector_add"], operator, "f32")]
        assert said and all((complaints == []) == right for complaints in said)
