"""The runner people know: run_ops.py --op NAME|all --backend NAME --mode test|bench|all. A door to `oprt`."""

import argparse
import subprocess
import sys


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--op", default="all", help="an operator's name, or all")
    arguments.add_argument("--backend", help="cpu, nvidia or metax; else where the data lives")
    arguments.add_argument("--mode", choices=("test", "bench", "all"), default="test")
    options = arguments.parse_args()
    chosen = [] if options.op == "all" else ["--op", options.op]
    if options.backend:
        chosen += ["--backend", options.backend]
    modes = ("test", "bench") if options.mode == "all" else (options.mode,)
    return max(subprocess.call([sys.executable, "-m", "operator_runtime", mode, *chosen]) for mode in modes)


if __name__ == "__main__":
    sys.exit(main())
