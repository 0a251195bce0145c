"""Makes the folder of a new operator and its Python file, from tools/op_template/: an elementwise operator of one input
that builds as it is and fails its tests until the places marked FILL IN are filled in.

    ./dev new-op NAME
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "tools" / "op_template"


def destination(template, op):
    if template.name == "function.py":
        return ROOT / "python" / "operator_runtime" / "ops" / f"{op}.py"
    name = template.name if template.name == "cases.py" else template.name.replace("op", op, 1)
    return ROOT / "oprt" / "ops" / op / name


def main():
    op = sys.argv[1]
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", op):
        sys.exit(
            f"new-op: '{op}' is no name for an operator: small letters, digits and single underscores, as add_rmsnorm"
        )
    if (ROOT / "oprt" / "ops" / op).exists():
        sys.exit(f"new-op: oprt/ops/{op}/ is there already")
    names = {"@op@": op, "@Op@": op.title().replace("_", ""), "@OP@": op.upper()}
    for template in sorted(TEMPLATE.iterdir()):
        text = re.sub("|".join(names), lambda found: names[found.group()], template.read_text())
        path = destination(template, op)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"made {path.relative_to(ROOT)}  ({text.count('FILL IN')} to fill in)")
    print(f"Fill in what is marked (CONTRIBUTING.md shows how), then: ./dev test -k {op} && ./dev bench --op {op}")


if __name__ == "__main__":
    main()
