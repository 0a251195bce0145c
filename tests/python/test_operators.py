"""Every operator's cases.py, one test for each operator, dtype and layout or check: relu/bf16/padded."""

import collections

import operator_runtime
import pytest
from operator_runtime.testing import LAYOUTS
from operator_runtime.testing.items import DRAWS, items
from operator_runtime.testing.load import suites


@pytest.mark.parametrize("item", list(items()), ids=lambda item: item.name)
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
    """At least 20 for each operator, dtype and layout that applies, 5,000 in all."""
    generated = collections.defaultdict(set)
    for item in items():
        if item.what in LAYOUTS:
            generated[item.op, item.dtype].add(item.what)
    for which, layouts in generated.items():
        assert layouts >= EVERYWHERE, which
    assert DRAWS >= 20
    assert DRAWS * sum(len(layouts) for layouts in generated.values()) >= 5000
