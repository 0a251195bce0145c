"""Every operator's cases.py, one test for each operator, dtype and layout or check: relu/bf16/padded."""

import operator_runtime
import pytest
from operator_runtime.testing.items import items
from operator_runtime.testing.load import suites


@pytest.mark.parametrize("item", list(items()), ids=lambda item: item.name)
def test_operator(item, backend):
    outcome = item.run(backend)
    assert outcome.cases > 0
    if outcome.failures:
        pytest.fail("\n".join(str(failure) for failure in outcome.failures), pytrace=False)


def test_every_operator_has_cases():
    assert set(suites()) == set(operator_runtime._native.operators())
