"""One result of the parts of a comparison: python bench/merge.py OUT.json PART.json...

The context is the first part's, with all commands; a point that several parts hold is taken from the last.
"""

import json
import pathlib
import sys

POINTS = pathlib.Path(__file__).with_name("points.json")


def point_of(entry):
    return entry["name"].rsplit("/", 2)[0]


def in_order(entries):
    """In that of points.json; what is none of its points comes first."""
    place = {line["name"]: i for i, line in enumerate(json.loads(POINTS.read_text()))}
    return sorted(entries, key=lambda entry: place.get(point_of(entry), -1))


def merged(documents):
    entries = {}
    for document in documents:
        points = {point_of(entry) for entry in document["benchmarks"]}
        entries = {name: entry for name, entry in entries.items() if point_of(entry) not in points}
        entries |= {entry["name"]: entry for entry in document["benchmarks"]}
    command = "; ".join(dict.fromkeys(document["context"]["command"] for document in documents))
    return {"context": {**documents[0]["context"], "command": command}, "benchmarks": in_order(entries.values())}


def main():
    from operator_runtime.cli.files import write_json

    out, *parts = sys.argv[1:]
    write_json(out, merged([json.loads(pathlib.Path(part).read_text()) for part in parts]))


if __name__ == "__main__":
    main()
