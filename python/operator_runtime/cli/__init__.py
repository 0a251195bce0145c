"""The `oprt` command. Exit codes: 0 passed, 1 something failed, 2 wrong usage or nothing ran."""

import sys


def main():
    try:
        from operator_runtime.cli.app import app
    except ModuleNotFoundError as missing:
        sys.exit(f"oprt: the command needs the Python package {missing.name}: pip install {missing.name}")
    app()
