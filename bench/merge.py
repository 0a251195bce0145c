"""One result of the parts of a comparison: python bench/merge.py OUT.json PART.json...

The context is the first part's, with all commands; a point that several parts hold is taken from the last.
"""

import json
import pathlib
import sys


def merged(documents):
    entries = {}
    for document in documents:
        points = {entry["name"].rsplit("/", 2)[0] for entry in document["benchmarks"]}
        entries = {name: entry for name, entry in entries.items() if name.rsplit("/", 2)[0] not in points}
        entries |= {entry["name"]: entry for entry in document["benchmarks"]}
    command = "; ".join(dict.fromkeys(document["context"]["command"] for document in documents))
    return {"context": {**documents[0]["context"], "command": command}, "benchmarks": list(entries.values())}


def main():
    from operator_runtime.cli.files import write_json

    out, *parts = sys.argv[1:]
    write_json(out, merged([json.loads(pathlib.Path(part).read_text()) for part in parts]))


if __name__ == "__main__":
    main()
