"""FlashInfer's operators; it compiles them when they are first called. https://github.com/flashinfer-ai/flashinfer"""

import flashinfer

from bench.peers import NotOffered


def make(point, outs, ins):
    if point.dtype == "f32":
        raise NotOffered("FlashInfer computes in 16 bits")
    if point.layout == "offset" or (point.layout == "padded" and point.op != "rmsnorm"):
        raise NotOffered("its kernels take addresses for multiples of 16, and gate and up for contiguous")
    y, x, params = outs[0], ins[0], point.params
    if "dim" in params and params["dim"] != 1:
        raise NotOffered("its rows are contiguous")
    if point.op == "rmsnorm":
        return lambda: flashinfer.norm.rmsnorm(x, ins[1], params["eps"], out=y)
    if point.op == "silu_and_mul":
        return lambda: flashinfer.activation.silu_and_mul(x, out=y)
    if point.op == "gelu_and_mul":
        tanh = params["approximate"] == "tanh"
        function = flashinfer.activation.gelu_tanh_and_mul if tanh else flashinfer.activation.gelu_and_mul
        return lambda: function(x, out=y)
    raise NotOffered("FlashInfer has no such operator, or one that overwrites its inputs alone")
