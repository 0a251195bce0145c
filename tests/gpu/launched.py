"""Did a run launch every CUDA kernel of the library? `launched.py FILE`, the list that `vgpu run --kernels` wrote.

A kernel here is one instance of a template: one width, dtype, number of pieces. A mistake in it shows in no other.
Exit code 1 where some were never launched, with their names.
"""

import pathlib
import re
import sys

WIDE = "its index has 64 bits, for 2^31 threads and more: `./dev gpu large`. With 32 the same code is launched"
LEFT_OUT = {  # what a kernel's name matches, and why no small call on the virtual GPU launches it
    r"Pieces<unsigned long,": WIDE,
    r"::Lookup<[^,]+, (int|long), unsigned long>": WIDE,
    r"::Turn<[^,]+, (int|long), unsigned long>": WIDE,
    r"::matmul_finish<": "it follows a product by cuBLASLt, which is not there: `./dev gpu test`",
    r"::matmul_tiled<oprt::b?f16,": "16 bits go to tensor cores, which every device of the virtual GPU has",
}  # fmt: skip


def read(text):
    """{symbol: (name, was it launched?)}"""
    found = {}
    for line in text.splitlines():
        was, name, symbol = line.split("\t")
        found[symbol] = name, was == "launched"
    return found


def complaints(found, left_out):
    """Sentences; one also where a reason is left of which there is no such kernel."""
    never = {symbol: name for symbol, (name, launched) in found.items() if not launched}
    for symbol, name in sorted(never.items(), key=lambda one: one[1]):
        if not any(re.search(pattern, name) for pattern in left_out):
            yield f"never launched: {name}\n                {symbol}"
    for pattern in left_out:
        if not any(re.search(pattern, name) for name in never.values()):
            yield f"nothing to leave out: {pattern}"


def main():
    found = read(pathlib.Path(sys.argv[1]).read_text())
    said = list(complaints(found, LEFT_OUT))
    for sentence in said:
        print(sentence)
    launched = sum(was for _, was in found.values())
    print(f"{launched} of {len(found)} CUDA kernels launched, {len(said)} complaints")
    return 1 if said or not found else 0


if __name__ == "__main__":
    sys.exit(main())
