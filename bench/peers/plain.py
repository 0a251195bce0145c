"""The plain kernels of kernels.cu: the first rung, which every other has to beat."""

from bench.kernels import bound, bytes_of
from bench.peers import NotOffered

DTYPES = {"f32": 0, "f16": 1, "bf16": 2}
MAPS = {("gelu", "none"): 0, ("gelu", "tanh"): 1, ("silu", None): 2}


def make(point, outs, ins):
    if point.label not in DTYPES or not all(t.is_contiguous() for t in (*outs, *ins)):
        raise NotOffered("written for contiguous tensors of one dtype")
    dtype, y, params = DTYPES[point.label], outs[0], point.params
    kind = MAPS.get((point.op, params.get("approximate")))
    if kind is not None:
        return bound("plain_map", dtype, kind, y, ins[0], bytes_of(y.numel()))
    if "dim" in params and params["dim"] == 1 and point.op != "add_rmsnorm":
        more = (params["eps"],) if "eps" in params else ()
        return bound(f"plain_{point.op}", dtype, y, *ins, *ins[0].shape, *more)
    if point.op == "embedding":
        return bound("plain_embedding", dtype, y, *ins, *y.shape)
    if point.op == "rope":
        return bound("plain_rope", dtype, y, *ins, *y.shape, ins[1].shape[1], int(params["mode"] == "interleaved"))
    if point.op == "matmul" and y.ndim == 2:
        tiled = int(params.get("algorithm") != "naive")
        return bound("plain_matmul", dtype, tiled, y, *ins, *y.shape, ins[0].shape[1])
    raise NotOffered("not written")
