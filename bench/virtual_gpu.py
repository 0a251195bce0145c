"""How fast the virtual GPU runs oprt's row kernels: `./dev bench vgpu`.

Warp instructions a second of one core, without checks and with all: what the report counts in a call, over the
processor time that the call takes, the threads' together, in the fastest of some samples. Then the processor time of
the smallest CUDA program, start to end.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
VGPU = ROOT / "build/virtual-gpu"
SHAPE = (1024, 1024)
SAMPLES, SECONDS = 10, 0.1  # the fastest of so many samples, each of so many seconds, counts

CALLS = {  # operands of prepare_<op>: outputs y and s, inputs x and r, gamma and beta; a row and a column
    "softmax": "y x",
    "reduce_sum": "column x",
    "rmsnorm": "y x gamma",
    "add_rmsnorm": "y s x r gamma",
    "layernorm": "y x gamma beta",
}
SHAPES = {"gamma": SHAPE[1:], "beta": SHAPE[1:], "column": SHAPE[:1]}
DTYPES = ("f32", "bf16")


def measure(op, dtype):
    """In a process under `vgpu run`: prints the calls made and the processor seconds of one."""
    import numpy as np
    import operator_runtime
    from operator_runtime import _native
    from operator_runtime.testing.dtypes import rounded

    rng = np.random.default_rng(1)

    def on_device(name):
        shape = SHAPES.get(name, SHAPE)
        array = rounded(rng.standard_normal(shape), dtype)
        buffer = _native.DeviceBuffer(array.nbytes)
        buffer.copy_from(array.view(np.uint8))
        return buffer.view(dtype, shape, [stride // array.itemsize for stride in array.strides], 0)

    operands = [on_device(name) for name in CALLS[op].split()]
    with getattr(operator_runtime, f"prepare_{op}")(*operands, backend="nvidia") as prepared:
        prepared.run()  # reads the PTX
        calls, fastest = 1, float("inf")
        for _ in range(SAMPLES):
            before, start = calls, time.process_time()
            while (spent := time.process_time() - start) < SECONDS:
                prepared.run()
                calls += 1
            fastest = min(fastest, spent / (calls - before))
        print(json.dumps({"kernel": prepared.kernel, "calls": calls, "seconds": fastest}))


def under(checks, op, dtype):
    """The kernel's name, warp instructions of a call, seconds of a call."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        out = subprocess.run(
            [VGPU / "bin/vgpu", "run", "--check", checks, "--report", "json", report.name]
            + ["--", sys.executable, __file__, op, dtype],
            check=True, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
        said, kernels = json.loads(out), json.load(report)["kernels"]
    return said["kernel"], sum(kernel["warp_instructions"] for kernel in kernels) / said["calls"], said["seconds"]


def start_up():
    """Processor seconds of `vgpu run` with the smallest program, start to end: the least of ten."""
    command = [VGPU / "bin/vgpu", "run", "--", VGPU / "tests/programs/vector_add"]

    def one():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(one() for _ in range(10))


def main():
    os.environ |= {"OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}  # numpy's threads wait busily
    print(f"{'':28} {'no checks':^22}   {'all checks':^22}")
    print(f"{f'{SHAPE[0]} x {SHAPE[1]}':28} {'million/s':>11} {'ms a call':>10}   {'million/s':>11} {'ms a call':>10}")
    sums = [0.0, 0.0, 0.0]
    for op in CALLS:
        for dtype in DTYPES:
            kernel, instructions, checked = under("all", op, dtype)
            _, _, plain = under("none", op, dtype)
            sums = [a + b for a, b in zip(sums, (instructions, plain, checked), strict=True)]
            row(f"{kernel} {dtype}", instructions, plain, checked)
    row("all of them", *sums)
    print(f"start-up {start_up() * 1e3:.0f} ms")


def row(name, instructions, plain, checked):
    figures = (f"{instructions / s / 1e6:11.1f} {s * 1e3:10.1f}" for s in (plain, checked))
    print(f"{name:28} {'   '.join(figures)}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
    else:
        main()
