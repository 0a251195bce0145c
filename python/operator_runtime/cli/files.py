"""Reading and writing files, with what goes wrong said in a sentence."""

import json
import pathlib

from operator_runtime.bench import results
from operator_runtime.cli.usage import refuse


def write_text(path, text):
    try:
        pathlib.Path(path).write_text(text)
    except OSError as why:
        refuse(f"cannot write {path}: {why.strerror}.")


def write_json(path, document):
    write_text(path, json.dumps(document, indent=1) + "\n")


def read_results(path):
    try:
        return results.read(path)
    except ValueError as why:
        refuse(f"{why}.")
