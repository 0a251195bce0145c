"""PreparedOp: what it keeps, what it checks, and that threads may share it."""

import gc
import sys
import threading
import time
import weakref

import numpy as np
import operator_runtime as oprt
import pytest

LONG = 1 << 22  # elements; more than enough work for the GIL to be given up


def pair(n=3):
    return np.empty(n, np.float32), np.linspace(-1, 1, n, dtype=np.float32)


def test_run_and_its_synonym_return_the_output():
    out, src = pair()
    prepared = oprt.prepare_relu(out, src)
    for run in (prepared.run, prepared.run_kernel):
        out.fill(np.nan)
        assert run() is out
        np.testing.assert_array_equal(out, [0, 0, 1])


def test_several_outputs_come_as_a_tuple():
    src, residual = np.ones((2, 4), np.float32), np.full((2, 4), 2, np.float32)
    out, residual_out = np.empty_like(src), np.empty_like(src)
    with oprt.prepare_add_rmsnorm(out, residual_out, src, residual) as prepared:
        returned = prepared.run()
    assert isinstance(returned, tuple) and returned[0] is out and returned[1] is residual_out
    np.testing.assert_array_equal(residual_out, 3)


def test_run_inputs_leaves_output_and_prepared_inputs():
    out, src = pair()
    prepared = oprt.prepare_relu(out, src)
    assert prepared.run_inputs(-src) is out
    np.testing.assert_array_equal(out, [1, 0, 0])
    prepared.run()
    np.testing.assert_array_equal(out, [0, 0, 1])


def test_run_inputs_takes_the_inputs_that_were_given():
    src, gamma = np.ones((2, 4), np.float32), np.full(4, 2, np.float32)
    out = np.empty_like(src)
    oprt.prepare_rmsnorm(out, src).run_inputs(src * 3)
    np.testing.assert_allclose(out, 1, rtol=1e-6)
    with_gamma = oprt.prepare_rmsnorm(out, src, gamma)
    with_gamma.run_inputs(src, gamma * 2)
    np.testing.assert_allclose(out, 4, rtol=1e-6)
    for wrong in ([], [src], [src, gamma, gamma]):
        with pytest.raises(oprt.InvalidArgumentError, match=f"rmsnorm: inputs: expected 2, got {len(wrong)}"):
            with_gamma.run_inputs(*wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ones(4, np.float32),
        lambda: np.ones((1, 3), np.float32),
        lambda: np.ones(3, np.float16),
        lambda: np.ones(6, np.float32)[::2],
    ],
    ids=["length", "rank", "dtype", "stride"],
)
def test_run_inputs_of_another_layout(make):
    out, src = pair()
    prepared = oprt.prepare_relu(out, src)
    out.fill(7)
    with pytest.raises(
        oprt.InvalidArgumentError, match=r"relu: in: expected f32 of shape \[3\] and strides \[1\], got"
    ):
        prepared.run_inputs(make())
    with pytest.raises(oprt.OperatorRuntimeError, match="relu: in: expected a tensor"):
        prepared.run_inputs([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(out, 7)  # nothing was written


def test_run_inputs_checks_overlap_anew():
    memory = np.arange(-3, 3, dtype=np.float32)
    prepared = oprt.prepare_relu(memory[:3], memory[3:])
    with pytest.raises(oprt.InvalidArgumentError, match="relu: out: .* overlap"):
        prepared.run_inputs(memory[1:4])
    prepared.run_inputs(memory[:3])  # exactly the output is fine
    np.testing.assert_array_equal(memory, [0, 0, 0, 0, 1, 2])


def test_tensors_live_until_destroy():
    out, src = pair()
    alive = [weakref.ref(out), weakref.ref(src)]
    prepared = oprt.prepare_relu(out, src)
    del out, src
    gc.collect()
    assert all(ref() is not None for ref in alive)
    prepared.destroy()
    assert all(ref() is None for ref in alive)


def test_tensors_are_let_go_with_the_object():
    out, src = pair()
    alive = weakref.ref(src)
    prepared = oprt.prepare_relu(out, src)
    del src, prepared
    assert alive() is None


def test_destroy_is_idempotent_and_final():
    prepared = oprt.prepare_relu(*pair())
    with prepared as entered:
        assert entered is prepared
    prepared.destroy()
    for use in (prepared.run, prepared.run_kernel, lambda: prepared.run_inputs(pair()[1]), lambda: prepared.kernel):
        with pytest.raises(oprt.OperatorRuntimeError, match="relu: self: expected .*, got one that was destroyed"):
            use()


def test_an_exception_in_the_block_passes_and_destroys():
    with pytest.raises(KeyError), oprt.prepare_relu(*pair()) as prepared:
        raise KeyError
    with pytest.raises(oprt.OperatorRuntimeError):
        prepared.run()


def test_kernel_names():
    assert oprt.prepare_relu(*pair()).kernel in oprt._native.kernels("relu", "cpu")
    assert oprt.prepare_relu(*pair(0)).kernel == "none"
    oprt.prepare_relu(*pair()).run()
    assert oprt._native.last_kernel().startswith("relu_")
    oprt.prepare_relu(*pair(0)).run()
    assert oprt._native.last_kernel() == "none"


def test_workspace_is_the_operators_own():
    a = np.ones((64, 64), np.float16)  # multiplied as f32, in workspace
    with oprt.prepare_matmul(np.empty_like(a), a, a) as prepared:
        assert prepared.workspace_bytes > 0
        np.testing.assert_array_equal(prepared.run(), 64)


@pytest.fixture
def no_forced_switches():
    """Threads change hands only where one gives up the GIL itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


def progress_during(work):
    """How often another thread came round while work() ran, which it can only where the GIL is free."""
    count, stop = 0, False

    def other():
        nonlocal count
        while not stop:
            count += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=other)
    thread.start()
    before = count
    work()
    after = count
    stop = True
    thread.join()
    return after - before


def test_the_gil_is_free_during_long_work(no_forced_switches):
    out, src = pair(4 * LONG)
    prepared = oprt.prepare_relu(out, src)
    assert progress_during(lambda: [prepared.run() for _ in range(10)]) > 0
    assert progress_during(lambda: [oprt.relu_(out, src) for _ in range(10)]) > 0


def test_the_gil_is_kept_for_short_work(no_forced_switches):
    prepared = oprt.prepare_relu(*pair(16))
    assert progress_during(lambda: [prepared.run() for _ in range(20_000)]) == 0


def test_one_prepared_operator_from_16_threads():
    out = np.empty(LONG, np.float32)
    prepared = oprt.prepare_relu(out, np.ones(LONG, np.float32))
    inputs = [np.full(LONG, value, np.float32) for value in range(1, 5)]
    errors = []

    def work(index):
        try:
            for _ in range(4):
                prepared.run_inputs(inputs[index % len(inputs)])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    # Runs take turns, so the output is one run's whole work, never a mixture.
    assert len(np.unique(out)) == 1 and 1 <= out[0] <= 4


def test_destroy_waits_for_a_run():
    """A thread runs until it is refused. Nothing is written once destroy() has returned."""
    out, src = pair(LONG)
    prepared = oprt.prepare_relu(out, src)
    running, refused = threading.Event(), []

    def run():
        try:
            while True:
                prepared.run()
                running.set()
        except oprt.OperatorRuntimeError as error:
            refused.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    running.wait()
    prepared.destroy()
    out.fill(7)
    thread.join()
    assert refused == ["relu: self: expected a prepared operator, got one that was destroyed"]
    assert np.all(out == 7)
