"""Compiles what the comparison will need, in many processes at once: torch.compile's and Triton's kernels go to their
caches on disk, the CUDA kernels into their library."""

import functools
import importlib
import multiprocessing
import os
import time

COMPILING = {"compile": "compiled", "triton": "triton_kernels"}


def prepare():
    import torch

    torch.set_grad_enabled(False)


def compile_point(line, names):
    """Calls each once. What fails here fails again, and is reported, where it is measured."""
    import torch

    from bench import operands

    for name in names:
        try:
            point = operands.Point(line)
            one = operands.make(torch, point, "cuda")
            importlib.import_module(f"bench.peers.{COMPILING[name]}").make(point, one.outs, one.ins)()
            torch.cuda.synchronize()
        except Exception:
            continue
    one = None
    torch.cuda.empty_cache()


def warm(lines, peer_names, deadline):
    """Until the deadline (of time.monotonic) at most: what is left then is compiled when it is measured."""
    names = [name for name in peer_names if name in COMPILING]
    if not names:
        return
    processes = max(min(len(os.sched_getaffinity(0)) - 2, len(lines)), 1)
    with multiprocessing.get_context("spawn").Pool(processes, prepare) as pool:
        done = pool.imap_unordered(functools.partial(compile_point, names=names), lines)
        try:
            for _ in lines:
                done.next(timeout=max(deadline - time.monotonic(), 0))
        except multiprocessing.TimeoutError:
            print("compiling took too long: the rest is compiled when it is measured", flush=True)
