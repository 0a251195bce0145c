"""What a wrong option is answered with: one sentence and exit code 2."""

import difflib
import sys

import typer
from rich.console import Console

console = Console(width=None if sys.stdout.isatty() else 140)
errors = Console(stderr=True, highlight=False)


def refuse(sentence):
    errors.print(f"oprt: {sentence}", markup=False, soft_wrap=True)
    raise typer.Exit(2)


def one_of(kind, given, known):
    """Checks names against what there is, and suggests the nearest."""
    for name in given or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(sorted(known))}."
            refuse(f"there is no {kind} {name!r}. {hint}")


def check_backend(name):
    """The backend's name as the package spells it. Refuses one that this build lacks."""
    if name is None:
        return None
    from operator_runtime import normalize_backend

    try:
        normal = str(normalize_backend(name))
    except ValueError as why:
        refuse(f"{why}.")
    if normal not in backends():
        refuse(f"this build has no {normal} backend.")
    return normal


def backends():
    """The backends that this build has."""
    from operator_runtime import _native

    return [name for name in ("cpu", "nvidia", "metax") if any(_native.kernels(op, name) for op in _native.operators())]


def check_names(ops, dtypes):
    from operator_runtime.testing.dtypes import NUMPY
    from operator_runtime.testing.load import suites

    one_of("operator", ops, list(suites()))
    one_of("dtype", dtypes, list(NUMPY))
