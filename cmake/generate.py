"""Writes what follows from the operators' headers, so that no list of operators is kept by hand.

    oprt/ops.h              the umbrella header's list: one include per folder of oprt/ops/
    operator_runtime/       the header names of the earlier runtime, each forwarding to oprt's
    operator_bindings.inc   one thunk per operator for the Python module: arrays of views, scalars and pointers in,
                            the operator's own C functions called
    operators.json          the same signatures as data, for stubs, tables and tests

The headers are the only source. A create function's arguments after `desc` are read by type:

    const oprt_tensor_view_t *            a view; an output where execute takes it as `void *`
    float, double, int32_t, int64_t       a scalar
    oprt_<name>_t                         an enum, as an int
    const oprt_<op>_options_t *           an options struct of the header, flattened: its views and scalars follow
"""

import argparse
import json
import pathlib
import re

VIEW = "const oprt_tensor_view_t *"
SCALARS = {"float": "f64", "double": "f64", "int32_t": "i64", "int64_t": "i64"}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def parameters(text, function):
    found = re.search(rf"\b{function}\s*\(([^)]*)\)\s*;", text)
    if not found:
        raise SystemExit(f"generate.py: the header declares no {function}")
    out = []
    for part in found.group(1).split(","):
        kind, name = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", part, flags=re.S).groups()
        out.append((re.sub(r"\s*\*\s*", " *", " ".join(kind.split())).strip(), name))
    return out


def option_fields(text, struct):
    found = re.search(rf"typedef struct \{{([^}}]*)\}}\s*{struct}\s*;", text)
    if not found:
        raise SystemExit(f"generate.py: the header defines no {struct}")
    fields = []
    for line in found.group(1).split(";"):
        match = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", line, flags=re.S)
        if match and match.group(2) != "struct_size":
            fields.append((re.sub(r"\s*\*\s*", " *", " ".join(match.group(1).split())).strip(), match.group(2)))
    return fields


def scalar_kind(kind):
    if kind in SCALARS:
        return SCALARS[kind]
    if re.fullmatch(r"oprt_\w+_t", kind):
        return "i64"
    raise SystemExit(f"generate.py: cannot pass an argument of type {kind}")


def read(folder):
    op = folder.name
    text = without_comments((folder / f"{op}.h").read_text())
    create = parameters(text, f"oprt_create_{op}_descriptor")[1:]
    execute = parameters(text, f"oprt_execute_{op}")[3:-1]
    views, scalars, call, setup = [], [], [], []
    for kind, name in create:
        if kind == VIEW:
            call.append(f"views[{len(views)}]")
            views.append(name)
        elif kind == f"const oprt_{op}_options_t *":
            setup.append(f"oprt_{op}_options_t options = {{}}; options.struct_size = sizeof(options);")
            for field_kind, field in option_fields(text, f"oprt_{op}_options_t"):
                if field_kind == VIEW:
                    setup.append(f"options.{field} = views[{len(views)}];")
                    views.append(field)
                else:
                    member = scalar_kind(field_kind)
                    setup.append(f"options.{field} = static_cast<{field_kind}>(scalars[{len(scalars)}].{member});")
                    scalars.append({"name": field, "kind": member})
            call.append("&options")
        else:
            member = scalar_kind(kind)
            call.append(f"static_cast<{kind}>(scalars[{len(scalars)}].{member})")
            scalars.append({"name": name, "kind": member})
    if [name for _, name in execute] != views:
        raise SystemExit(f"generate.py: {op}: execute takes {[n for _, n in execute]}, create's views are {views}")
    outputs = sum(kind == "void *" for kind, _ in execute)
    return {
        "name": op,
        "views": views,
        "outputs": outputs,
        "scalars": scalars,
        "setup": " ".join(setup),
        "create_call": ", ".join(["desc", *call]),
    }


def binding(op):
    name, count = op["name"], len(op["views"])
    pointers = ", ".join(f"data[{i}]" for i in range(count))
    views = ", ".join(f'"{v}"' for v in op["views"])
    scalars = ", ".join(f'{{"{s["name"]}", ScalarKind::{s["kind"]}}}' for s in op["scalars"])
    return f"""{{"{name}", {op["outputs"]}, {{{views}}}, {{{scalars}}},
 [](oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* const* views, const Scalar* scalars) {{
   (void)views, (void)scalars;
   {op["setup"]}
   return oprt_create_{name}_descriptor({op["create_call"]});
 }},
 oprt_get_{name}_workspace_size,
 [](oprt_operator_descriptor_t desc, void* workspace, size_t size, void* const* data, oprt_stream_t stream) {{
   return oprt_execute_{name}(desc, workspace, size, {pointers}, stream);
 }},
 oprt_destroy_{name}_descriptor}},
"""


def write(path, text):
    """Only where it changed, so that nothing is rebuilt without need."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def forward(path, target):
    guard = "_".join(path.parts[path.parts.index("operator_runtime") :]).replace(".", "_").upper()
    write(
        path,
        f"// Generated: the name that programs of the earlier runtime include.\n"
        f'#ifndef {guard}\n#define {guard}\n\n#include "{target}"\n\n#endif\n',
    )


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--ops", type=pathlib.Path, required=True)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    options = arguments.parse_args()
    folders = sorted(f for f in options.ops.iterdir() if (f / f"{f.name}.h").exists())
    operators = [read(folder) for folder in folders]
    includes = "".join(f'#include "oprt/ops/{op["name"]}/{op["name"]}.h"\n' for op in operators)
    write(
        options.out / "oprt" / "ops.h",
        "// Generated: every operator's header.\n#ifndef OPRT_OPS_H\n#define OPRT_OPS_H\n\n" + includes + "\n#endif\n",
    )
    old_names = options.out / "operator_runtime"
    forward(old_names / "operator_runtime.h", "oprt/oprt.h")
    forward(old_names / "api.h", "oprt/oprt.h")
    for op in operators:
        forward(old_names / "ops" / f"{op['name']}.h", f"oprt/ops/{op['name']}/{op['name']}.h")
    write(options.out / "operator_bindings.inc", "".join(map(binding, operators)))
    data = [{k: op[k] for k in ("name", "views", "outputs", "scalars")} for op in operators]
    write(options.out / "operators.json", json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
