"""The subcommands and their options; each one's work is in a file of its own."""

from typing import Annotated

import typer

app = typer.Typer(
    name="oprt",
    help="Tests and measures every operator of oprt.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Ops = Annotated[list[str] | None, typer.Option("--op", help="Operator; may be repeated. All if left out.")]
Dtypes = Annotated[list[str] | None, typer.Option("--dtype", help="f32, f16, bf16, ...; may be repeated.")]
BackendName = Annotated[str | None, typer.Option("--backend", help="cpu, nvidia, metax; else where the data lives.")]
Filter = Annotated[str | None, typer.Option("--filter", help="Only what has this text in its name.")]
Json = Annotated[str | None, typer.Option("--json", help="File to write the results to.", metavar="FILE")]
Peers = Annotated[
    list[str] | None,
    typer.Option("--peer", help="torch, numpy or library (matmul's), measured beside; may be repeated."),
]


@app.command()
def info():
    """Versions, backends, devices and libraries."""
    from operator_runtime.cli import info as work

    work.show()


@app.command()
def test(
    op: Ops = None,
    backend: BackendName = None,
    dtype: Dtypes = None,
    filter: Filter = None,
    json: Json = None,
    jobs: Annotated[int, typer.Option("--jobs", min=0, help="Processes; 0: one for each core.")] = 0,
    sample: Annotated[bool, typer.Option("--sample", help="One case of each kernel, dtype and layout.")] = False,
):
    """Tests operators against their float64 references, on every layout."""
    from operator_runtime.cli import test as work

    raise typer.Exit(work.run(op, backend, dtype, filter, json, jobs, sample))


@app.command()
def bench(
    op: Ops = None,
    backend: BackendName = None,
    dtype: Dtypes = None,
    filter: Filter = None,
    json: Json = None,
    peer: Peers = None,
    rounds: Annotated[int, typer.Option("--rounds", min=3, help="Samples of each figure.")] = 15,
):
    """Measures operators next to a copy of as many bytes, in the same run."""
    from operator_runtime.cli import bench as work

    raise typer.Exit(work.run(op, backend, dtype, filter, json, peer, rounds))


@app.command()
def compare(before: Annotated[str, typer.Argument(metavar="A")], after: Annotated[str, typer.Argument(metavar="B")]):
    """Compares two files of `oprt bench --json`: what became faster or slower by more than the noise."""
    from operator_runtime.cli import compare as work

    raise typer.Exit(work.run(before, after))


@app.command()
def report(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of `oprt bench --json`.")],
    out: Annotated[str | None, typer.Option("--out", help="The page; FILE.html if left out.")] = None,
):
    """Draws a file of `oprt bench --json` as one HTML page: roofline, speed-ups, table."""
    from operator_runtime.cli import report as work

    raise typer.Exit(work.run(file, out))
