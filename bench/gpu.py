"""The comparison with other libraries on an NVIDIA GPU:

    python -m bench.gpu --json RESULT.json [--part 1/2] [--minutes 9]

Measures the points of points.json that RESULT.json does not hold yet, and writes it as it goes, so that a run that was
ended goes on where it was. `--part 1/2` takes every other point, for machines that are lent for minutes;
bench/merge.py makes one file of the parts. `oprt report` draws it, docs/gpu_speed.py makes docs/gpu-speed.md of it.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shlex
import sys
import threading
import time

from bench import merge

SAVE_EVERY = 20  # points
MOST_RESERVED = 24 << 30  # bytes that PyTorch may keep from one point to the next


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", required=True, type=pathlib.Path, help="the result; points that it holds are kept")
    parser.add_argument("--part", default="1/1", help="i/n: every n-th point, from the i-th")
    parser.add_argument("--filter", default="", help="only points whose name has this text")
    parser.add_argument(
        "--names", type=pathlib.Path, help="a file with a name on each line: these points, in that order"
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many of them")
    parser.add_argument("--peers", default="torch,compile,triton,plain,liger,flashinfer")
    parser.add_argument(
        "--compile",
        choices=("also", "only", "no"),
        default="also",
        help="the peers' kernels, in many processes, before measuring; alone it needs nothing of oprt",
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--minutes", type=float, default=8.5, help="starts no point after that")
    return parser.parse_args()


def evenly(lines):
    """In an order whose every beginning is spread over all of them: a run that ends early has seen every operator."""
    bits = max(len(lines) - 1, 1).bit_length()
    return [lines[i] for i in sorted(range(len(lines)), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))]


def chosen(options, document):
    i, n = map(int, options.part.removeprefix(":").split("/"))
    have = {merge.point_of(entry) for entry in document["benchmarks"]} if document else set()
    lines = [line for line in json.loads(merge.POINTS.read_text()) if options.filter in line["name"]]
    if options.names:
        by_name = {line["name"]: line for line in lines}
        lines = [by_name[name] for name in options.names.read_text().splitlines() if name in by_name]
    lines = lines[:: options.every][i - 1 :: n]
    return [line for line in (lines if options.names else evenly(lines)) if line["name"] not in have]


def row(point, seconds):
    """A line for the terminal; seconds: what measuring it took."""
    own = point.cold.get("oprt")
    if not own:
        return f"{point.name:44} oprt did not run: {point.missing['oprt']}"
    share = f"{point.copy_share:5.2f}" if point.copy_share else "    -"
    text = f"{point.name:44} {own.median * 1e6:9.2f} us {point.rate() / 1e9:8.0f} GB/s  {share} of ceiling"
    if point.peers():
        best = min(point.peers(), key=lambda name: point.cold[name].median)
        text += f"  {point.against(best):5.2f}x {best}"
    return f"{text}  [{seconds:.1f} s]" + ("  WRONG" if point.complaints else "")


def save(path, document, points, extra):
    from operator_runtime.bench import results
    from operator_runtime.cli.files import write_json

    from bench.merge import in_order

    fresh = results.document(points, extra)
    fresh["benchmarks"] = in_order((document["benchmarks"] if document else []) + fresh["benchmarks"])
    write_json(path, fresh)


def main():
    options = arguments()
    start = time.monotonic()
    document = json.loads(options.json.read_text()) if options.json.exists() else None
    lines = chosen(options, document)
    if not lines:
        sys.exit("nothing to measure: the result holds every point, or no point has that name")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # warm has compiled everything
    from bench import kernels, peers, warm

    peer_names = options.peers.split(",") if options.peers else []
    absent = [n for n in peer_names if n in peers.PACKAGES and not importlib.util.find_spec(peers.PACKAGES[n])]
    peer_names = [name for name in peer_names if name not in absent]

    if options.compile != "no":
        building = threading.Thread(target=kernels.build)
        building.start()
        share = 60 * options.minutes * (1.0 if options.compile == "only" else 0.5)
        warm.warm(lines, peer_names, start + share)
        building.join()
        print(f"compiled after {time.monotonic() - start:.0f} s", flush=True)
    if options.compile == "only":
        return 0
    from bench import host, machine

    gpu = machine.gpu(peer_names, options.rounds)
    points, wrong, failed = [], 0, 0
    if not document:
        try:
            points += host.points(gpu.clock)
        except Exception as why:
            print(f"the host's costs: {type(why).__name__}: {why}", flush=True)
            failed += 1
    words = [options.json.name if word == str(options.json) else word for word in sys.argv[1:]]
    command = shlex.join(["python", "-m", "bench.gpu", *words])
    extra = {
        "executable": "bench.gpu",
        "command": command,
        "rounds": options.rounds,
        "peers": peer_names,
        "absent_peers": absent,
    }
    extra |= machine.context(gpu)
    for i, line in enumerate(lines):
        if time.monotonic() - start > 60 * options.minutes:
            print(f"{options.minutes:g} minutes are over, {len(lines) - i} points are left: the same command goes on")
            break
        began = time.monotonic()
        try:
            point = gpu.point(line)
        except Exception as why:  # memory ran out, say; after an error that the GPU keeps, every point ends here
            print(f"{line['name']}: {type(why).__name__}: {why}", flush=True)
            failed += 1
            continue
        points.append(point)
        print(row(point, time.monotonic() - began), flush=True)
        for complaint in point.complaints:
            wrong += 1
            print(complaint, flush=True)
        if i % SAVE_EVERY == SAVE_EVERY - 1:
            save(options.json, document, points, extra)
        machine.tidy(MOST_RESERVED)
    save(options.json, document, points, extra)
    print(f"{len(points)} points, {wrong} wrong, {failed} failed, {time.monotonic() - start:.0f} s")
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
