"""`oprt info`: what this installation is and has."""

import importlib.metadata
import pathlib

from rich.table import Table

from operator_runtime import _native
from operator_runtime.bench.results import context
from operator_runtime.cli.usage import backends, console
from operator_runtime.testing.load import suites

PACKAGES = ("numpy", "ml_dtypes", "torch", "jax", "matplotlib", "jinja2")


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def show():
    here = context()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("oprt", f"{_native.version()}, ABI {_native.abi_version()}")
    table.add_row("package", str(pathlib.Path(_native.__file__).parent))
    table.add_row("backends", ", ".join(backends()))
    table.add_row("cpu", f"{here['cpu']}, {here['num_cpus']} cores")
    table.add_row("instructions", f"{here['cpu_target']} (OPRT_CPU_TARGET=portable|avx2|avx512 bars better ones)")
    caches = [f"L{c['level']} {c['size'] >> 10} KiB" for c in here["caches"] if c["type"] != "Instruction"]
    table.add_row("caches", ", ".join(caches) or "unknown")
    for package in PACKAGES:
        table.add_row(package, version_of(package))
    console.print(table)
    console.print()

    operators = Table(box=None, pad_edge=False)
    for heading in ("operator", "dtypes", "kernels on the cpu"):
        operators.add_column(heading)
    for name, suite in suites().items():
        operators.add_row(name, " ".join(suite.dtypes), ", ".join(_native.kernels(name, "cpu")))
    console.print(operators)
