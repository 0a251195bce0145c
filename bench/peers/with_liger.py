"""Liger's forward kernels, without autograd around them. https://github.com/linkedin/Liger-Kernel"""

import importlib

from bench.peers import NotOffered

CASTING = "none"  # nothing is rounded between the steps


def make(point, outs, ins):
    def kernels(module):
        return importlib.import_module(f"liger_kernel.ops.{module}")

    x, params = ins[0], point.params
    if "dim" in params and (params["dim"] != 1 or not x.is_contiguous()):
        raise NotOffered("its rows are contiguous")
    if point.op == "rmsnorm":
        forward = kernels("rms_norm").rms_norm_forward
        return lambda: forward(x, ins[1], params["eps"], 0.0, CASTING, None)[0]
    if point.op == "add_rmsnorm":
        forward = kernels("fused_add_rms_norm").fused_add_rms_norm_forward
        return lambda: forward(*ins, params["eps"], 0.0, CASTING)[0]
    if point.op == "layernorm":
        forward = kernels("layer_norm").layer_norm_forward
        return lambda: forward(*ins, params["eps"])[0]
    if point.op == "softmax":
        forward = kernels("softmax")._softmax_forward
        return lambda: forward(x)[0]
    if point.op == "silu_and_mul":
        forward = kernels("swiglu").swiglu_fused_gate_up_forward
        return lambda: forward(x)[1]
    raise NotOffered("Liger has no such kernel")
