"""The libraries to compare with. Each is a module with

    make(point, outs, ins) -> a function that makes one call, and returns the result where it does not write into outs

which raises NotOffered where the library has no such call.
"""


class NotOffered(Exception):
    """A library without such a call: it is not listed. What else a library raises is, as its failure."""


NAMES = ("torch", "compile", "triton", "plain", "liger", "flashinfer")
PACKAGES = {"triton": "triton", "liger": "liger_kernel", "flashinfer": "flashinfer"}
MODULES = {
    "torch": "eager",
    "compile": "compiled",
    "triton": "triton_kernels",
    "plain": "plain",
    "liger": "with_liger",
    "flashinfer": "with_flashinfer",
}
