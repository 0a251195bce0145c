"""The parts of `./dev gpu`: what shows that the NVIDIA backend can be trusted, on a machine with a GPU and no network.

    python3 tools/gpu.py --out DIR [--again] PART...

A part is a list of steps, a step a command with a time limit. What each step gave is in DIR/gpu.json as soon as it is
over, its output in DIR/<part>-<step>.log. A part that was cut off goes on where it was: a step that passed is not run
again on the same library, unless --again says so. Exit code 0 where every step passed.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/cuda"
TESTS = BUILD / "tests/gpu"
CORES = len(os.sched_getaffinity(0))
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")


@dataclasses.dataclass
class Step:
    name: str
    command: list
    says: str = r"$^"  # what of the output is kept: the last line that has this
    must_say: str = r""  # and what it must have beside an exit code of 0
    limit: int = 500  # seconds
    always: bool = False  # run it whatever is known


def google(program, *filters, **more):
    command = [str(TESTS / program), "--gtest_brief=1", *(f"--gtest_filter={f}" for f in filters)]
    return Step(filters[0] if filters else program, command, r"PASSED|FAILED|SKIPPED", r"\[  PASSED  \] [1-9]", **more)


def python_has(*modules):
    return subprocess.run([sys.executable, "-c", f"import {','.join(modules)}"], capture_output=True).returncode == 0


def build():
    python = sys.executable
    configure = ["cmake", "--preset", "cuda", f"-DPython3_EXECUTABLE={python}", f"-DPython_EXECUTABLE={python}"]
    multiarch = subprocess.run(["g++", "-print-multiarch"], capture_output=True, text=True).stdout.strip()
    carried = ROOT / ".carry/usr/lib" / multiarch / "cmake"  # what `./dev carry` brought along
    if carried.is_dir():
        configure += [f"-Dhwy_DIR={carried / 'hwy'}", f"-DGTest_DIR={carried / 'GTest'}"]
    yield Step("configuring", configure, always=True)
    yield Step("building", ["ninja", "-C", str(BUILD)], r"^\[|ninja:", always=True)


def test():
    yield Step("C and C++", ["ctest", "--test-dir", str(BUILD), "-j", str(min(CORES, 8)), "--output-on-failure"],
               r"tests passed", limit=240)  # fmt: skip
    if python_has("pytest", "xdist"):
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(CORES), "--backend", "nvidia", "--tb", "short"]
        files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/python").glob("test_gpu*.py"))
        yield Step("operators", [*command, *files, "tests/python/test_operators.py"], r"passed|failed")
    else:
        yield Step("operators", [sys.executable, "-m", "operator_runtime", "test", "--backend", "nvidia"],
                   r"cases (passed|failed)")  # fmt: skip


def large():
    yield google("gpu_large_test", limit=300)
    if python_has("pytest"):
        command = [sys.executable, "-m", "pytest", "-q", "--large", "--backend", "nvidia", "--tb", "short"]
        command += ["-n", "2"] if python_has("xdist") else []
        yield Step("far strides", [*command, "tests/python/test_gpu_large.py"], r"passed|failed")


# Every kernel once with small inputs, from a list that is checked to be whole, and our own kernels alone: cuBLAS has
# others. A request that is too large to be had is an error of the API that a test wants.
CALLS = BUILD / "kernels.json"
EVERY_KERNEL = [sys.executable, str(ROOT / "tests/gpu/every_kernel.py")]
LIST = Step("list of kernels", [*EVERY_KERNEL, "--list", str(CALLS)], r"kernels", r"0 missed")


def sanitize():
    yield LIST
    for tool in SANITIZERS:
        check = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--kernel-name", "kernel_substring=oprt"]
        check += ["--report-api-errors", "no"] if tool == "memcheck" else []
        planted = [*check, str(TESTS / "gpu_planted"), tool]
        yield Step(f"planted for {tool}", ["sh", "-c", '"$@"; test $? -eq 9', "planted", *planted], r"SUMMARY",
                   r"SUMMARY: [1-9]\d* (error|hazard)")  # fmt: skip
        clean = r"SUMMARY: 0 hazards" if tool == "racecheck" else r"SUMMARY: 0 errors"
        yield Step(tool, [*check, *EVERY_KERNEL, "--run", str(CALLS)], r"SUMMARY", clean)
    check = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9", "--report-api-errors", "no"]
    for program in ("gpu_test", "gpu/gpu_memory_test"):
        command = [*check, str(BUILD / "tests" / program), "--gtest_brief=1"]
        yield Step(f"memcheck of {program}", command, r"SUMMARY", r"ERROR SUMMARY: 0 errors")


def soak():
    for name in ("AMillionDescriptorsLeaveNothingBehind", "SixteenThreadsOfEightStreams", "TwentyTimesTheSameBits",
                 "APoolSparesTheSystem"):  # fmt: skip
        yield google("gpu_soak_test", f"*{name}", limit=240)
    yield google("gpu_memory_test", limit=120)
    yield LIST
    command = [*EVERY_KERNEL, "--run", str(CALLS), "--times", "20"]
    yield Step("every kernel 20 times", command, r"calls, ", r"calls, 0 wrong")


def bench(half):
    """Goes on by itself where it was ended, point by point."""
    file = BUILD / f"bench/results{re.sub('[:/]', '-', half)}.json"
    command = [sys.executable, "-m", "bench.gpu", "--part", half or ":1/1", "--json", str(file)]
    yield Step(f"comparison {half}".strip(), command, limit=560, always=True)


def report():
    results = BUILD / "bench"
    files = sorted(str(path) for path in results.glob("results*.json"))
    yield Step("one file", [sys.executable, "bench/merge.py", str(results / "all.json"), *files], always=True)
    yield Step("one page", [sys.executable, "-m", "operator_runtime", "report", str(results / "all.json"),
                            "--out", str(results / "report.html")], always=True)  # fmt: skip


PARTS = {"build": build, "test": test, "large": large, "sanitize": sanitize, "soak": soak,
         "bench": lambda: bench(""), "bench:1/2": lambda: bench(":1/2"), "bench:2/2": lambda: bench(":2/2"),
         "report": report}  # fmt: skip
AT_ONCE = {"sanitize": 8, "large": 2}  # steps of a part; elsewhere one after another: they take the whole GPU


def fingerprint():
    """What was tested: the library's bytes."""
    library = BUILD / "liboprt.so"
    return hashlib.sha256(library.read_bytes()).hexdigest()[:16] if library.exists() else None


def machine():
    asked = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        gpus = subprocess.run(asked, capture_output=True, text=True).stdout.strip().splitlines()
    except FileNotFoundError:
        gpus = []
    return {"gpus": gpus, "cores": CORES, "kernel": os.uname().release}


class Results:
    """DIR/gpu.json: the machine, the library, and of each part its steps."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "gpu.json"
        folder.mkdir(parents=True, exist_ok=True)
        self.document = json.loads(self.path.read_text()) if self.path.exists() else {"parts": {}}
        self.document["machine"] = machine()

    def passed(self, part, step):
        known = self.document["parts"].get(part, {}).get(step.name, {})
        return not step.always and known.get("result") == "passed" and known.get("library") == fingerprint()

    def record(self, part, step, **result):
        self.document["parts"].setdefault(part, {})[step.name] = {**result, "library": fingerprint()}
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.document, indent=1) + "\n")
        beside.replace(self.path)


def run(results, part, step):
    start = time.monotonic()
    log = results.folder / f"{part}-{re.sub(r'[^A-Za-z0-9+]+', '-', step.name).strip('-')}.log"
    environment = os.environ | {"PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1"}
    if part == "build":
        environment |= {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    with log.open("wb") as output:
        try:
            code = subprocess.run(step.command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=environment,
                                  timeout=step.limit).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = "time limit"
        except FileNotFoundError as missing:
            code = f"{missing.filename} is not here"
    text = log.read_text(errors="replace")
    said = [line.strip("= ") for line in text.splitlines() if re.search(step.says, line)]
    ok = code == 0 and re.search(step.must_say, text) is not None
    seconds = round(time.monotonic() - start, 1)
    command = " ".join(map(str, step.command)).replace(f"{ROOT}/", "")
    results.record(part, step, result="passed" if ok else "failed", code=code, seconds=seconds,
                   says=said[-1] if said else "", command=command)  # fmt: skip
    print(
        f"{part}: {step.name}: {'passed' if ok else 'FAILED'} in {seconds} s; {said[-1] if said else code}", flush=True
    )
    if not ok:
        print("\n".join(text.splitlines()[-30:]), flush=True)
    return ok


def run_part(results, part, again):
    todo, ok = [], True
    for step in PARTS[part]():
        if not again and results.passed(part, step):
            print(f"{part}: {step.name}: passed before, on this library", flush=True)
        else:
            todo.append(step)
    if LIST in todo:  # before what reads it
        todo.remove(LIST)
        ok = run(results, part, LIST)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE.get(part, 1)) as pool:
        return all(list(pool.map(lambda step: run(results, part, step), todo))) and ok


def main():
    arguments = argparse.ArgumentParser(description="see this file's first lines")
    arguments.add_argument("--out", type=pathlib.Path, default=ROOT / "build/gpu-results")
    arguments.add_argument("--again", action="store_true")
    arguments.add_argument("parts", nargs="+", choices=PARTS, metavar="PART")
    options = arguments.parse_args()
    results, ok = Results(options.out), []
    for part in options.parts:
        if part != "build" and fingerprint() is None:
            raise SystemExit("gpu: there is no library in build/cuda; first: ./dev gpu build")
        ok.append(run_part(results, part, options.again))
    print(f"results: {results.path}")
    sys.exit(0 if all(ok) else 1)


if __name__ == "__main__":
    main()
