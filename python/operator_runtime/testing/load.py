"""Finds the suites: one cases.py for each operator, which the package holds as cases/<op>.py."""

import dataclasses
import functools
import importlib.util
import json
import pathlib
import sys

import operator_runtime

# The package as it was imported: in a build tree the sources are links to elsewhere, the cases are beside them.
PACKAGE = pathlib.Path(operator_runtime.__file__).absolute().parent


@functools.cache
def suites():
    """Every operator's suite, by name."""
    found = {}
    for path in sorted((PACKAGE / "cases").glob("*.py")):
        if path.stem != "__init__":
            found[path.stem] = load(path.stem, path)
    return found


def load(name, path):
    module_name = f"operator_runtime.cases.{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return dataclasses.replace(module.SUITE, name=name)


@functools.cache
def signatures():
    return {signature["name"]: signature for signature in json.loads((PACKAGE / "operators.json").read_text())}


def operands(name):
    """The names of an operator's tensors, outputs first, as its header has them."""
    return signatures()[name]["views"]
