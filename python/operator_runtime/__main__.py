"""python -m operator_runtime: the `oprt` command."""

from operator_runtime.cli import main

if __name__ == "__main__":
    main()
