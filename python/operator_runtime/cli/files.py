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


def check_folder(path):
    """Before the work whose result goes there."""
    folder = pathlib.Path(path).parent
    if not folder.is_dir():
        refuse(f"cannot write {path}: there is no folder {folder}.")


def write_json(path, document):
    """One line for each entry of a list."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            text = "[\n" + ",\n".join("  " + json.dumps(entry) for entry in value) + "\n ]"
        else:
            text = json.dumps(value, indent=1).replace("\n", "\n ")
        parts.append(f" {json.dumps(key)}: {text}")
    write_text(path, "{\n" + ",\n".join(parts) + "\n}\n")


def read_results(path):
    try:
        return results.read(path)
    except ValueError as why:
        refuse(f"{why}.")
