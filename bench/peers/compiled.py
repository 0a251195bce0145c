"""torch.compile of what a model would write, with every shape known, in its default mode: autotuning takes seconds a
point. bench/warm.py fills the compiler's cache with many processes first."""

import functools

import torch
import torch._dynamo
from torch.nn import functional as F

from bench.peers import NotOffered

torch._dynamo.config.recompile_limit = 10_000
torch._dynamo.config.accumulated_recompile_limit = 100_000


def gated(activation):
    def function(x):
        gate, up = x.chunk(2, -1)
        return activation(gate) * up

    return function


def rope(x, cos, sin, positions, mode):
    c, s = cos[positions].unsqueeze(-2), sin[positions].unsqueeze(-2)
    pairs = cos.shape[1]
    turning = x[..., : 2 * pairs].float()
    if mode == "interleaved":
        first, second = turning[..., 0::2], turning[..., 1::2]
        turned = torch.stack([first * c - second * s, second * c + first * s], -1).flatten(-2)
    else:
        first, second = turning.chunk(2, -1)
        turned = torch.cat([first * c - second * s, second * c + first * s], -1)
    return torch.cat([turned.to(x.dtype), x[..., 2 * pairs :]], -1)


def add_rmsnorm(x, residual, gamma, dim, eps):
    total = x + residual
    return F.rms_norm(total, total.shape[-1:], gamma, eps), total


FUNCTIONS = {
    "vector_add": torch.add,
    "mul": torch.mul,
    "relu": lambda x, negative_slope: F.relu(x),
    "gelu": lambda x, approximate: F.gelu(x, approximate=approximate),
    "silu": F.silu,
    "silu_and_mul": gated(F.silu),
    "gelu_and_mul": lambda x, approximate: gated(functools.partial(F.gelu, approximate=approximate))(x),
    "softmax": lambda x, dim: torch.softmax(x, dim),
    "rmsnorm": lambda x, gamma, dim, eps: F.rms_norm(x, x.shape[-1:], gamma, eps),
    "layernorm": lambda x, gamma, beta, dim, eps: F.layer_norm(x, x.shape[-1:], gamma, beta, eps),
    "add_rmsnorm": add_rmsnorm,
    "reduce_sum": lambda x, dim: x.sum(dim),
    "embedding": lambda table, ids: F.embedding(ids, table),
    "rope": rope,
    "copy": lambda x: torch.clone(x, memory_format=torch.contiguous_format),
    "cast": lambda x, dtype: x.to(dtype),
}


def make(point, outs, ins):
    if point.op not in FUNCTIONS:
        raise NotOffered("compiled, a matrix product is cuBLAS's")
    params = dict(point.params)
    if point.op == "cast":
        params["dtype"] = outs[0].dtype
    if point.op == "copy" and ins[0].shape != outs[0].shape:
        raise NotOffered("an expanded tensor is not copied by clone alone")
    call = compiled(point.name, FUNCTIONS[point.op], params)
    return lambda: call(*ins)


_compiled = {}


def compiled(name, function, params):
    """One for all sets of a point."""
    if name not in _compiled:
        torch._dynamo.reset()
        _compiled.clear()
        _compiled[name] = torch.compile(lambda *ins: function(*ins, **params), dynamic=False, fullgraph=True)
    return _compiled[name]
