#!/usr/bin/env python3
"""Builds the public programs of README.md and runs them under `vgpu run` with all checks.

    vgpu/tests/public/run.py CHECKOUTS [NAME...]

CHECKOUTS is a folder with checkouts of the repositories below, each under its own name; what is built goes to --build.
Names choose programs by a part of theirs. Prints one line of README.md's tables a program, and at the end how many did
what is expected of them: to pass their own check, and to be clean or to have exactly the errors named here. The exit
code is 0 where all did. Needs nvcc.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

COMMITS = {
    "HeCBench": "f27000a5",  # github.com/zjin-lcf
    "cuda-samples": "c94ff366",  # github.com/NVIDIA
    "cuda_programming": "8711be08",  # github.com/CoffeeBeforeArch
    "cuda-training-series": "9cd77d53",  # github.com/olcf
    "code-samples": "72d62ec4",  # github.com/NVIDIA-developer-blog
}
ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    folder: str  # of CHECKOUTS; the program is built and run there
    arguments: str = ""
    says: str = ""  # a regular expression that its output has where its own check passes
    finds: str = ""  # the errors that are known, and real
    sources: str = "*.cu"
    flags: str = ""
    fails: bool = False  # its own check does not pass here: README.md says why
    devices: int = 1


def hecbench(name, arguments="", says=r"\bPASS\b", **more):
    return Program(name, f"HeCBench/src/{name}-cuda", arguments, says, **more)


def sample(chapter, name, arguments="", says="", **more):
    folder = f"cuda-samples/Samples/{chapter}/{name}"
    return Program(name, folder, arguments, says, sources="*.cu *.cpp", flags="-I../../../Common -Iinc", **more)


def course(name, says="COMPLETED|SUCCESS", **more):
    folder, source = name.rsplit("/", 1)
    return Program(folder, f"cuda_programming/{folder}", says=says, sources=source, **more)


def training(name, says, **more):
    folder, source = name.rsplit("/", 1)
    return Program(name, f"cuda-training-series/exercises/{folder}", says=says, sources=source + ".cu", **more)


PROGRAMS = [
    hecbench("atomicAggregate", "1"),
    hecbench("atomicIntrinsics", "12 1", sources="main.cu"),
    hecbench("atomicSystemWide", "2", "completed, returned OK"),
    hecbench("attention", "256 64 1 1"),
    hecbench("bincount", "20000 1"),
    hecbench("bitonic-sort", "10 2"),
    hecbench("dp4a", "65536 1"),
    hecbench("f8cast", "4096 1"),
    hecbench("fft", "0 1", "iFFT PASS"),
    hecbench("filter", "100000 256 1"),
    hecbench("floydwarshall", "64 1 16"),
    hecbench("gelu", "1 16 64 1"),
    hecbench("jenkins-hash", "256 4096 1"),
    hecbench("keogh", "64 4000 1"),
    hecbench("moe-sum", "4 256 1"),
    hecbench("murmurhash3", "1000 1", "SUCCESS"),
    hecbench("mxfp4", "4096 1"),
    hecbench("popcount", "65536 1", "Success"),
    hecbench("relu", "10000 1"),
    hecbench("reverse", "2"),
    hecbench("scan", "100000 1"),
    hecbench("stddev", "64 200 1"),
    hecbench("stencil1d", "65536 1"),
    hecbench("threadfence", "2 20000"),
    hecbench("vote", "1", r"Vote.Any>> kernel3(.|\n)*OK"),
    hecbench("wedford", "2 16 64 1"),
    hecbench("wmma", "0 64 64 64 1 1", "Max relative error: 0"),
    sample("0_Introduction", "fp16ScalarProduct"),
    sample("2_Concepts_and_Techniques", "inlinePTX", says="Test Successful"),
    sample("0_Introduction", "matrixMul", "-wA=64 -hA=64 -wB=64 -hB=64", "Result = PASS"),
    sample("2_Concepts_and_Techniques", "reduction", "--n=65536", "Test passed"),
    sample("2_Concepts_and_Techniques", "scalarProd", says="Test passed"),
    sample("0_Introduction", "simpleAtomicIntrinsics", says="returned OK"),
    sample("0_Introduction", "simpleCallback", says="Success"),
    sample("0_Introduction", "simpleMultiGPU", devices=2),
    sample("0_Introduction", "simpleOccupancy", says="Test PASSED"),
    sample("0_Introduction", "simpleP2P", says="Test passed", devices=2),
    sample("0_Introduction", "simpleTemplates", says="OK"),
    sample("0_Introduction", "simpleVoteIntrinsics", says="OK"),
    sample("0_Introduction", "simpleZeroCopy"),
    sample("2_Concepts_and_Techniques", "streamOrderedAllocation", says="PASSED"),
    sample("2_Concepts_and_Techniques", "streamOrderedAllocationP2P", says="PASSED", devices=2),
    sample("0_Introduction", "systemWideAtomics", says="returned OK"),
    sample("2_Concepts_and_Techniques", "threadFenceReduction", "--n=65536", r"GPU result = (\S+)\nCPU result = \1\n"),
    sample("0_Introduction", "vectorAdd", says="Test PASSED"),
    sample("3_CUDA_Features", "warpAggregatedAtomicsCG", says="PASSED"),
    course("03_sum_reduction/bank_conflicts/sumReduction.cu"),
    course("03_sum_reduction/no_confliicts/sumReduction.cu"),
    course("03_sum_reduction/cooperative_groups/sumReduction.cu"),
    course("05_convolution/1d_tiled/convolution.cu"),
    course("05_convolution/1d_constant_memory/convolution.cu"),
    course("05_convolution/2d_constant_memory/convolution.cu"),
    training("hw2/stencil_1d_solution", "Success"),
    training("hw5/reductions", "correct"),
    Program("shared-memory", "code-samples/series/cuda-cpp/shared-memory", sources="shared-memory.cu"),
    # With errors that the checks find.
    sample("3_CUDA_Features", "newdelete", finds="E03 E07"),
    sample("2_Concepts_and_Techniques", "shfl_scan", finds="E07"),
    course("03_sum_reduction/reduce_idle/sumReduction.cu", finds="E07"),
    course("03_sum_reduction/device_function/sumReduction.cu", finds="E03 E07"),
    hecbench("chacha20", "1", finds="E03"),
    hecbench("histogram", "--i=1", "", finds="E01 E07", sources="histogram_compare.cu", fails=True),
    hecbench("layernorm", "1 16 96 1", "bandwidth", finds="E03", flags="-I../rmsnorm-cuda -Xcompiler -fopenmp"),
    hecbench("merge", "2000 1", finds="E04"),
    hecbench("multinomial", "32 128 1", finds="E03"),
    hecbench("split", "8192 1", finds="E03", sources="main.cu"),
    hecbench("wyllie", "2000 1 1", finds="E03"),
]

WRONG = re.compile(r"\bFAIL|(?i:test failed|mismatch)|Assert|^Error", re.MULTILINE)


def build(program, options):
    """The program's path, or what the compiler said."""
    folder = options.checkouts / program.folder
    built = options.build / re.sub(r"\W", "_", f"{folder.relative_to(options.checkouts)} {program.name}")
    if built.exists():
        return built
    sources = [str(path) for pattern in program.sources.split() for path in sorted(folder.glob(pattern))]
    if not sources:
        return f"there are no sources in {folder}"
    command = ["nvcc", "-w", "-O2", "-std=c++17", "-arch=compute_80", "--cudart", "shared", "-lineinfo"]
    ran = subprocess.run(
        command + ["-o", built, *sources, *program.flags.split()],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    return ran.stdout + ran.stderr if ran.returncode else built


def run(program, options):
    """Whether it did what is expected of it, and a line that says what it did."""
    built = build(program, options)
    if isinstance(built, str):
        return False, f"| {program.name} | does not compile: {built.strip().splitlines()[0]} | |"
    start = time.monotonic()
    try:
        ran = subprocess.run(
            [options.vgpu, "run", "--devices", str(program.devices), "--", built, *program.arguments.split()],
            cwd=options.checkouts / program.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=options.seconds,
        )  # fmt: skip
        output, code = ran.stdout.decode(errors="replace"), ran.returncode
    except subprocess.TimeoutExpired:
        return False, f"| {program.name} | has not ended after {options.seconds} s | |"
    found = " ".join(sorted(set(re.findall(r"^E\d\d\b", output, re.MULTILINE))))
    passes = code in (0, 66) and re.search(program.says, output) is not None and not WRONG.search(output)
    line = f"| {f'{program.name} {program.arguments}'.strip()} | {'passes' if passes else f'exit code {code}'}"
    line += f" | {found or 'clean'} | {time.monotonic() - start:.1f} s |"
    return passes != program.fails and found == program.finds, line


def check_commits(checkouts):
    for name, commit in COMMITS.items():
        git = ["git", "-C", str(checkouts / name), "rev-parse", "HEAD"]
        head = subprocess.run(git, capture_output=True, text=True).stdout
        if not head.startswith(commit):
            print(f"{name}: not known to be commit {commit}; results may differ", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/public")
    parser.add_argument("--vgpu", type=pathlib.Path, default=ROOT / "build/virtual-gpu/bin/vgpu")
    parser.add_argument("--seconds", type=int, default=100, help="that a program may take")
    options = parser.parse_intermixed_args()
    options.checkouts, options.build = options.checkouts.resolve(), options.build.resolve()
    options.build.mkdir(parents=True, exist_ok=True)
    check_commits(options.checkouts)
    chosen = [p for p in PROGRAMS if not options.names or any(name in p.name for name in options.names)]
    print("| program and arguments | its own check | found | time |\n|---|---|---|---|")
    expected = 0
    for program in chosen:
        good, line = run(program, options)
        expected += good
        print(line if good else f"{line} not as expected", flush=True)
    print(f"\n{expected} of {len(chosen)} as expected")
    return 0 if chosen and expected == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
