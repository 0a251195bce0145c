"""docs/cases.md and the tests agree: every case that a CPU can run is a test by its number, and no other number is."""

import ast
import pathlib
import re

import pytest
from operator_runtime.testing.items import CHECKS, Item, items
from operator_runtime.testing.load import suites

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (C\d\d) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
NUMBER = re.compile(r"(?<![A-Za-z0-9])[Cc](\d\d)(?!\d)")
WHERE = re.compile(r"CPU(?:, and on request \d+ GiB)?(?:; GPU: .+)?|GPU: .+|not yet: .+")


def listed():
    """{number: where it runs}."""
    return {number: where for number, *_, where in ROW.findall((ROOT / "docs/cases.md").read_text())}


def pytest_names():
    for path in (ROOT / "tests/python").glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


def gtest_names():
    for path in (ROOT / "tests/cpp").glob("*.cpp"):
        yield from re.findall(r"^TEST(?:_F|_P)?\(\w+, (\w+)\)", path.read_text(), re.M)


def harness_names():
    """The names of everything that the items of one dtype each would run, but for the generated cases."""
    for op, suite in suites().items():
        some = next(item for item in items([op]))
        for what in {item.what for item in items([op])} & set(CHECKS):
            for name, _ in CHECKS[what](suite, Named(op), Item(op, some.dtype, what)):
                yield name
        if "bf16" in suite.dtypes:  # cases of bf16 alone
            yield from (name for name, _ in CHECKS["cases"](suite, Named(op), Item(op, "bf16", "cases")))


class Named:
    """An operator that is asked for its operands and never run."""

    def __init__(self, name):
        from operator_runtime.testing.call import Package

        package = Package(name)
        self.name, self.backend = name, None
        self.operands, self.optional_inputs = package.operands, package.optional_inputs


@pytest.fixture(scope="module")
def tested():
    names = [*pytest_names(), *gtest_names(), *harness_names()]
    return {f"C{number}" for name in names for number in NUMBER.findall(name)}


def test_the_page_is_whole():
    assert list(listed()) == [f"C{n:02}" for n in range(1, 46)]
    for number, where in listed().items():
        assert WHERE.fullmatch(where), f"{number}: {where}"


def test_every_case_that_a_cpu_can_run_is_a_test(tested):
    on_cpu = {number for number, where in listed().items() if where.startswith("CPU")}
    assert on_cpu - tested == set()


def test_every_numbered_test_is_on_the_page(tested):
    on_cpu = {number for number, where in listed().items() if where.startswith("CPU")}
    assert tested - on_cpu == set()


def test_a_number_in_a_name_is_found():
    assert NUMBER.findall("test_c27_random_strides, C01 length 40") == ["27", "01"]
    assert NUMBER.findall("abc12 C123 xC05 C5") == []
