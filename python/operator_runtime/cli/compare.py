"""`oprt compare A B`: exit code 1 where something became slower by more than the noise."""

from rich.table import Table

from operator_runtime.bench.compare import compare, same_machine
from operator_runtime.cli.bench import duration
from operator_runtime.cli.files import read_results
from operator_runtime.cli.usage import console, refuse

COLOURS = {"same": "default", "faster": "green", "slower": "red"}


def run(before_path, after_path):
    before, after = read_results(before_path), read_results(after_path)
    changes = compare(before, after)
    if not changes:
        refuse(f"{before_path} and {after_path} have no point in common.")
    by_time = same_machine(before, after)
    if not by_time:
        console.print("Two machines: their shares of the copy are compared, not their times.\n")
    show = (lambda ns: duration(ns / 1e9)) if by_time else (lambda share: f"{share:.2f}")
    table = Table(box=None, pad_edge=False)
    for heading in ("point", "A", "B", "B is", "noise", ""):
        table.add_column(heading, justify="left" if heading in ("point", "") else "right")
    for change in changes:
        verdict = f"[{COLOURS[change.verdict]}]{change.verdict}[/]"
        speed = f"{change.speed:.2f}x as fast"
        table.add_row(change.name, show(change.before), show(change.after), speed, f"{change.noise:.0%}", verdict)
    console.print(table)
    counts = {verdict: sum(change.verdict == verdict for change in changes) for verdict in COLOURS}
    console.print(f"\n{counts['faster']} faster, {counts['slower']} slower, {counts['same']} within the noise")
    return 1 if counts["slower"] else 0
