"""Sentence embeddings on oprt operators.

    python examples/minilm/demo.py                  embeds text.txt: neighbours, agreement, speed, time per operator
    python examples/minilm/demo.py "one" "two" ...  prints the cosine of every pair of the given sentences
    ... --backend nvidia                            the same on a GPU

A wrong input is answered by one sentence on stderr and exit code 2. Exit code 1: the agreement did not hold.
"""

import json
import os
import pathlib
import re
import sys
import time
from collections import defaultdict
from typing import Annotated

# A thread that waits sleeps rather than spins: where the machine has other work, spinning keeps the core from the
# thread waited for (two cores, twenty processes: 3.7 s a pass, sleeping 0.7 s). Read when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import checkpoint as files
    import memory as memories
    import model as minilm
    import numpy as np
    import operator_runtime as ort
    import reference
    import typer
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ModuleNotFoundError as missing:
    print(f"The Python package {missing.name} is missing: start this with ./dev demo.", file=sys.stderr)
    sys.exit(2)

HERE = pathlib.Path(__file__).parent
TOLERANCE = 1e-4  # of a cosine, against the sentence-transformers package
console = Console(highlight=False)


def split_sentences(text):
    return re.split(r"(?<=[.!?])\s+", " ".join(text.split()))


def print_cosines(texts, cosines):
    for number, text in enumerate(texts, 1):
        print(f"{number:2}  {' '.join(text.split())}")
    print()
    for row in cosines:
        print("  ".join(f"{cosine:7.4f}" for cosine in row))


def print_neighbours(texts, cosines, count=2):
    lines = Table.grid(padding=(0, 2))
    lines.add_row()
    for i, text in enumerate(texts):
        lines.add_row("", Text(text, "bold"))
        nearest = sorted((j for j in range(len(texts)) if j != i), key=lambda j: -cosines[i, j])
        for j in nearest[:count]:
            lines.add_row(f"[cyan]{cosines[i, j]:.3f}[/cyan]", Text(texts[j], "dim"))
        lines.add_row()
    console.print(lines)


def print_agreement(checkpoint, model, token_ids, vectors):
    """True where both comparisons hold."""
    expected = reference.embed(checkpoint, token_ids)
    difference = np.abs(vectors - expected).max()
    cosine = (vectors * expected).sum(axis=1) / np.linalg.norm(vectors.astype(np.float64), axis=1)
    known = json.loads((HERE / "cosines.json").read_text())
    computed = minilm.cosines(model.embed(checkpoint.tokenize(known["sentences"])), model.weights.memory)
    off = np.abs(computed - np.array(known["cosines"])).max()

    table = Table(title="agreement", title_justify="left")
    table.add_column("with")
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_row("float64 NumPy forward pass", "largest element difference", f"{difference:.1e}")
    table.add_row("", "lowest sentence cosine", f"{cosine.min():.12f}")
    version = known["computed_with"]["sentence-transformers"]
    table.add_row(f"sentence-transformers {version}", "largest cosine difference", f"{off:.1e}")
    console.print(table)
    return off <= TOLERANCE and difference <= TOLERANCE


def passes_of_a_second(model, token_ids, recorded):
    """(seconds, steps) of each pass that one second holds; a step is (operator, kernel, seconds)."""
    passes = []
    until = time.perf_counter() + 1
    while not passes or time.perf_counter() < until:
        steps = []
        start = time.perf_counter()
        model.embed(token_ids, (lambda *step, steps=steps: steps.append(step)) if recorded else None)
        passes.append((time.perf_counter() - start, steps))
    return passes


def print_speed(model, token_ids):
    """The fastest pass, and where the time of the fastest went in which every step was waited for."""
    passes = passes_of_a_second(model, token_ids, recorded=False)
    wall = min(seconds for seconds, _ in passes)
    _, steps = min(passes_of_a_second(model, token_ids, recorded=True), key=lambda p: p[0])
    rows = defaultdict(list)
    for operator, kernel, seconds in steps:
        rows[operator].append((seconds, kernel))
    tokens = sum(map(len, token_ids))
    console.print(
        f"{tokens} tokens in {wall * 1e3:.1f} ms: [bold]{tokens / wall:,.0f} tokens per second[/bold] "
        f"(fastest of {len(passes)})\n"
    )
    total = sum(seconds for _, _, seconds in steps)
    table = Table(title="time per operator, each step waited for", title_justify="left")
    table.add_column("operator")
    for name in ("calls", "ms", "share"):
        table.add_column(name, justify="right")
    table.add_column("kernels")
    spent = {operator: sum(seconds for seconds, _ in row) for operator, row in rows.items()}
    for operator in sorted(rows, key=lambda operator: -spent[operator]):
        kernels = sorted({kernel for _, kernel in rows[operator]})
        ms, share = f"{spent[operator] * 1e3:.2f}", f"{spent[operator] / total:.1%}"
        table.add_row(operator, str(len(rows[operator])), ms, share, ", ".join(kernels))
    console.print(table)


def main(
    sentences: Annotated[
        list[str] | None, typer.Argument(help="Sentences to compare; none: the built-in text.")
    ] = None,
    backend: Annotated[str | None, typer.Option(help="cpu, where nothing is said, or nvidia.")] = None,
):
    """Embeds sentences with all-MiniLM-L6-v2, every tensor operation an oprt operator."""
    try:
        memory = memories.on(backend)
        checkpoint = files.load()
        texts = sentences or split_sentences((HERE / "text.txt").read_text(encoding="utf-8"))
        token_ids = checkpoint.tokenize(texts)
    except files.InputError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from None
    except ort.OperatorRuntimeError as error:
        print(f"The model cannot run there: {error}.", file=sys.stderr)
        raise typer.Exit(2) from None
    model = minilm.MiniLM(checkpoint, memory)
    vectors = model.embed(token_ids)
    cosines = minilm.cosines(vectors, memory)
    if sentences:
        print_cosines(texts, cosines)
        return
    console.print(f"all-MiniLM-L6-v2 on oprt: {len(texts)} sentences, each with its two nearest by cosine")
    print_neighbours(texts, cosines)
    console.print()
    agrees = print_agreement(checkpoint, model, token_ids, vectors)
    console.print()
    print_speed(model, token_ids)
    if not agrees:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
