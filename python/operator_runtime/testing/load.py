"""Finds the suites: one cases.py for each operator, which the package holds as cases/<op>.py."""

import dataclasses
import functools
import importlib.util
import pathlib
import sys


def folder():
    """Beside the package as it was imported: in a build tree the sources are links, the cases are not."""
    import operator_runtime

    return pathlib.Path(operator_runtime.__file__).absolute().parent / "cases"


@functools.cache
def suites():
    """Every operator's suite, by name."""
    found = {}
    for path in sorted(folder().glob("*.py")):
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
