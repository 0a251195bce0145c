"""Every error branch of every oprt/ops/<op>/<op>.cpp, and whether the tests took it. `./dev test coverage` does all:

    builds the preset `coverage`, which instruments the checks (core/ and <op>.cpp), not the kernels
    runs the C++ programs that make wrong calls
    python tests/coverage.py build/coverage

An error branch is a statement that returns a failure: `return invalid(...)` or `return fail(...)`, which must have run,
or an OPRT_TRY, which must have been left both ways, as must an `if` on the line of its return. Exits 1 where one was
never taken.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def line_data(object_file):
    """gcov's lines of the object's own source: number -> (count, [counts of the branches that are not exceptions])."""
    text = subprocess.run(
        ["gcov", "--json-format", "--branch-probabilities", "--branch-counts", "--stdout", object_file],
        capture_output=True, text=True, check=True, cwd=object_file.parent,
    ).stdout  # fmt: skip
    lines = {}
    for document in text.splitlines():
        for file in json.loads(document)["files"]:
            if not file["file"].endswith(f"/{object_file.stem}"):
                continue
            for line in file["lines"]:
                count, branches = lines.get(line["line_number"], (0, []))
                taken = [b["count"] for b in line["branches"] if not b["throw"]]
                lines[line["line_number"]] = (count + line["count"], branches + taken)
    return lines


def error_lines(source):
    """Where each statement that can fail begins and ends, 1-based, and whether it must be left both ways."""
    text = source.read_text()
    for found in re.finditer(r"return\s+(?:oprt::)?(?:invalid|fail)\s*\(|OPRT_TRY\(", text):
        end = text.index(";", found.end())
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
        both_ways = found.group().startswith("OPRT_TRY") or before != ""
        yield text.count("\n", 0, found.start()) + 1, text.count("\n", 0, end) + 1, both_ways


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    total, missed = 0, []
    for source in sorted(ROOT.glob("oprt/ops/*/*.cpp")):
        if source.stem != source.parent.name:
            continue
        objects = list(build.rglob(f"ops/{source.stem}/{source.name}.gcda"))
        lines = line_data(objects[0]) if objects else {}
        for start, end, both_ways in error_lines(source):
            total += 1
            counts = [lines[n] for n in range(start, end + 1) if n in lines]
            ran = any(count for count, _ in counts)
            # A branch never taken means that one outcome was never seen.
            every_way = not both_ways or all(taken for _, branches in counts for taken in branches)
            if not (ran and every_way):
                line = source.read_text().splitlines()[start - 1].strip()
                missed.append(f"{source.relative_to(ROOT)}:{start}: {line}")
    print("\n".join(missed))
    print(f"{total - len(missed)} of {total} error branches taken")
    sys.exit(1 if missed or not total else 0)


if __name__ == "__main__":
    main()
