"""A point's tensors on the device, and the bytes it moves. Needs nothing of oprt."""

import math

PAD = 8  # elements after each row where rows are padded
OFFSET = 1  # elements past an aligned address
GATED = {"silu_and_mul", "gelu_and_mul"}
SHARED = {"embedding": (0,), "rope": (1, 2)}  # inputs that are tables: one for all sets


class Operands:
    """One set of a point's tensors."""

    def __init__(self, outs, ins):
        self.outs = outs
        self.ins = ins


class Point:
    """A line of points.json, with its tensors' dtypes."""

    def __init__(self, line):
        self.name, self.layout, self.params = line["name"], line["layout"], line["params"]
        self.op, self.label, self.what = self.name.split("/", 2)
        self.dtype, _, out_dtype = self.label.partition("-")
        self.out_dtype = out_dtype or self.dtype
        self.outs = [(tuple(shape), self.out_dtype) for shape in line["outs"]]
        self.ins = [(tuple(shape), dtype) for shape, dtype in zip(line["ins"], self._input_dtypes(), strict=False)]

    def _input_dtypes(self):
        more = {"embedding": ("i64",), "rope": ("f32", "f32", "i64")}.get(self.op, (self.dtype,) * 3)
        return (self.dtype, *more)

    @property
    def bytes(self):
        """Each input read once, each output written once; of a table what is picked."""
        (out, out_dtype), *_ = self.outs
        size = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8}
        written = sum(math.prod(shape) * size[dtype] for shape, dtype in self.outs)
        if self.op == "embedding":
            return 2 * written + 8 * math.prod(self.ins[1][0])
        if self.op == "rope":
            tokens = math.prod(self.ins[3][0])
            return 2 * math.prod(out) * size[out_dtype] + tokens * (2 * self.ins[1][0][1] * 4 + 8)
        return written + sum(math.prod(shape) * size[dtype] for shape, dtype in self.ins)

    @property
    def flops(self):
        return 2 * math.prod(self.outs[0][0]) * self.ins[0][0][-1] if self.op == "matmul" else None

    @property
    def ceiling(self):
        """The kind of plain traffic to compare with; None where arithmetic decides."""
        kinds = {"reduce_sum": "read", "vector_add": "two reads", "mul": "two reads", "matmul": None}
        return "two reads" if self.op in GATED else kinds.get(self.op, "copy")


def torch_dtype(torch, name):
    return {
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "i64": torch.int64,
    }[name]


def empty(torch, shape, dtype, device, layout, is_output):
    """Memory for a tensor that lies as the layout says. Vectors, ids and tables lie contiguously."""
    made = {"dtype": torch_dtype(torch, dtype), "device": device}
    if layout == "offset" and dtype != "i64":
        return torch.empty(math.prod(shape) + OFFSET, **made)[OFFSET:].view(shape)
    if layout == "padded" and len(shape) == 3:  # the heads of q in a projection that holds k and v too
        return torch.empty(shape[0], shape[1] * 3 // 2, shape[2], **made)[:, : shape[1]]
    if layout == "padded" and len(shape) == 2 and dtype != "i64":
        return torch.empty(shape[0], shape[1] + PAD, **made)[:, : shape[1]]
    if layout == "transposed" and len(shape) == 2 and not is_output:
        return torch.empty(shape[::-1], **made).t()
    if layout == "heads" and not is_output:
        return torch.empty(shape[0], shape[2], shape[1], shape[3], **made).transpose(1, 2)
    return torch.empty(shape, **made)


def fill(torch, point, index, tensor):
    """Values of an input."""
    if point.op == "embedding" and index == 1:
        tensor.random_(point.ins[0][0][0])
    elif point.op == "rope" and index == 3:
        tensor.random_(point.ins[1][0][0])
    elif point.op == "rope" and index in (1, 2):
        angle = torch.rand(tensor.shape, device=tensor.device) * (2 * math.pi)
        tensor.copy_(angle.cos() if index == 1 else angle.sin())
    else:
        tensor.normal_()


def make(torch, point, device, first=None):
    """A set of tensors; after the first, its values again in memory of their own (tables are shared, and ids are drawn
    anew: else their rows would come from the cache)."""
    outs = [empty(torch, shape, dtype, device, point.layout, True) for shape, dtype in point.outs]
    ins = []
    for i, (shape, dtype) in enumerate(point.ins):
        shared = i in SHARED.get(point.op, ())
        if first and shared:
            ins.append(first.ins[i])
            continue
        ins.append(empty(torch, shape, dtype, device, "contiguous" if shared else point.layout, False))
        if first and not (point.op == "embedding" and i == 1):
            ins[-1].copy_(first.ins[i])
        else:
            fill(torch, point, i, ins[-1])
    return Operands(outs, ins)
