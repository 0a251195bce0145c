"""`oprt report FILE`: one page, nothing loaded from elsewhere."""

import pathlib

from operator_runtime.cli.files import read_results, write_text
from operator_runtime.cli.usage import console, refuse


def run(path, out):
    document = read_results(path)
    try:
        from operator_runtime.bench.report import render
    except ModuleNotFoundError as missing:
        refuse(f"the report needs the Python package {missing.name}: pip install matplotlib jinja2.")
    try:
        page = render(document)
    except ValueError as why:
        refuse(f"nothing to draw in {path}: {why}.")
    out = out or str(pathlib.Path(path).with_suffix(".html"))
    write_text(out, page)
    console.print(f"wrote {out}", highlight=False, soft_wrap=True)
    return 0
