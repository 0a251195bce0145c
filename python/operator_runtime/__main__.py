"""python -m operator_runtime: the `oprt` command."""

from operator_runtime.cli import main

main()
