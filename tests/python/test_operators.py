"""Every operator's cases.py, one test for each operator, dtype and layout or check: relu/bf16/padded."""

import collections

import operator_runtime
import pytest
from operator_runtime.testing import FLOATS, LAYOUTS, planted, rows
from operator_runtime.testing.items import DRAWS, THREADS, items
from operator_runtime.testing.load import suites


def pytest_generate_tests(metafunc):
    if "item" in metafunc.fixturenames:
        option = metafunc.config.getoption
        some = list(items(backend=option("--backend"), sample=option("--sample")))
        metafunc.parametrize("item", some, ids=lambda item: item.name)


def test_operator(item, backend):
    outcome = item.run(backend)
    assert outcome.cases > 0
    if outcome.failures:
        pytest.fail("\n".join(str(failure) for failure in outcome.failures), pytrace=False)


def test_every_operator_has_cases():
    assert set(suites()) == set(operator_runtime._native.operators())


# Layouts that no operator may leave out. In place, some contract forbids; rank 0, some shape.
EVERYWHERE = {"contiguous", "padded", "transposed", "broadcast", "negative", "offset", "empty"}


def test_there_are_enough_generated_cases():
    """At least 20 for each operator, dtype and layout that applies (and shows: test_checker.py), 5,000 in all."""
    generated = collections.defaultdict(set)
    for item in items():
        if item.what in LAYOUTS:
            generated[item.op, item.dtype].add(item.what)
    for which, layouts in generated.items():
        assert layouts >= EVERYWHERE, which
    assert DRAWS >= 20
    assert DRAWS * sum(len(layouts) for layouts in generated.values()) >= 5000


def test_every_check_is_made_of_every_operator_and_dtype():
    """Planted kernels, thread counts, offsets and the rest; of row operators, that a row's bits are its own."""
    made = {item.name for item in items()}
    checks = ("cases", "errors", "proof", "planted", "threads", "offsets", "far")
    for op, suite in suites().items():
        assert f"{op}/all/kernels" in made
        assert {f"{op}/{dtype}/{what}" for dtype in suite.dtypes for what in checks} <= made
    for op in ("reduce_sum", "softmax", "layernorm", "rmsnorm", "add_rmsnorm"):
        assert {f"{op}/{dtype}/rows" for dtype in FLOATS} <= made
    assert len(rows.BATCHES) == 9 and all(len(rows.places(n)) == min(n, 3) for n in rows.BATCHES)
    assert len(planted.KINDS) == 8 and planted.TRIED >= 8 and {1, 2, 5} <= set(THREADS)
