"""matmul: what does not fit a cases.py. Very large batches, many threads and descriptors, the library's absence."""

import os
import resource
import subprocess
import sys
import threading

import numpy as np
import operator_runtime as ort
import pytest
from operator_runtime import _native


def whole(shape, seed=0):
    """Small integers, whose sums are exact in f32 in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("algorithm", ["naive", "tiled", "library", "auto"])
def test_C06_a_batch_of_more_than_16_bits_count(algorithm):
    if algorithm == "library" and _native.matmul_library() == "none":
        pytest.skip("no matrix library on this machine")
    a, b = whole((65536, 25, 4)), whole((65536, 4, 1), 1)
    for batch in (65535, 65536):
        got = ort.matmul(a[:batch], b[:batch], algorithm=algorithm)
        np.testing.assert_array_equal(got, np.einsum("bmk,bkn->bmn", a[:batch], b[:batch]))
        got = ort.matmul(b[:batch].mT, a[:batch].mT, algorithm=algorithm)  # one row instead of one column
        np.testing.assert_array_equal(got, np.einsum("bmk,bkn->bnm", a[:batch], b[:batch]))
    np.testing.assert_array_equal(ort.relu(b[:3]), np.maximum(b[:3], 0))  # the library is still usable


def test_C06_the_shape_as_reported():
    a, b = whole((1, 225, 4)), whole((1, 4, 1), 1)
    many = np.broadcast_to(a, (65536, 225, 4)), np.broadcast_to(b, (65536, 4, 1))
    got = ort.matmul(*many)
    np.testing.assert_array_equal(got, np.broadcast_to(a @ b, got.shape))


def test_C25_the_same_call_gives_the_same_bits():
    rng = np.random.default_rng(0)
    for m in (1, 2, 17, 33, 128, 255, 256, 257, 1024):
        a, b = rng.standard_normal((m, 200), np.float32), rng.standard_normal((200, 70), np.float32)
        first = ort.matmul(a, b).tobytes()
        assert all(ort.matmul(a, b).tobytes() == first for _ in range(3))


@pytest.mark.parametrize("algorithm", ["tiled", "auto"])
def test_C40_eight_threads_with_data_of_their_own(algorithm):
    wrong = []

    def work(seed):
        a, b = whole((30, 40), seed), whole((40, 20), seed + 100)
        right, out = a @ b, np.empty((30, 20), np.float32)
        with ort.prepare_matmul(out, a, b, algorithm=algorithm) as prepared:
            for _ in range(1000):
                out.fill(np.nan)
                prepared.run()
                if not np.array_equal(out, right):
                    wrong.append(seed)
                    return

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_C40_many_small_products_keep_memory_flat():
    a, b, out = whole((8, 8)), whole((8, 8), 1), np.empty((8, 8), np.float32)

    def many(times):
        for _ in range(times):
            ort.matmul_(out, a, b)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB

    before = many(2_000)
    assert many(100_000) - before < 2_000
    np.testing.assert_array_equal(out, a @ b)


def in_a_process(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    ).stdout


SHOW = """
import numpy as np, operator_runtime as ort
from operator_runtime import _native
a, b = np.ones((70, 80), np.float32), np.ones((80, 90), np.float32)
assert (ort.matmul(a, b) == 80).all()
print(_native.matmul_library(), _native.last_kernel())
try:
    ort.matmul(a, b, algorithm="library")
    print("taken")
except RuntimeError as refusal:
    print(refusal.status, refusal)
"""


def test_without_a_library_auto_is_tiled_and_library_is_refused():
    name, refusal = in_a_process(SHOW, OPRT_BLAS="none").splitlines()
    assert name == "none matmul_tiled"
    assert refusal.startswith("5 matmul: algorithm: expected naive, tiled or auto") and "OPRT_BLAS" in refusal


def test_a_library_that_cannot_be_used_is_named():
    assert "libnothing.so" in in_a_process(SHOW, OPRT_BLAS="libnothing.so")
    assert "neither dnnl_sgemm nor cblas_sgemm" in in_a_process(SHOW, OPRT_BLAS="libm.so.6")


@pytest.mark.parametrize("file, name", [("libdnnl.so.2", "oneDNN 2"), ("libopenblas.so.0", "OpenBLAS 0.")])
def test_each_library_gives_the_right_product(file, name):
    shown = in_a_process(SHOW, OPRT_BLAS=file)
    if shown.startswith("none"):
        pytest.skip(f"{file} is not on this machine")
    assert shown.startswith(name) and "matmul_library" in shown and "taken" in shown
