"""Triton kernels as its tutorials write them: one program a row, or a block of elements a program."""

import triton
import triton.language as tl

from bench.peers import NotOffered

BLOCK = 1024  # elements of a program where there are no rows
LONGEST = 1 << 17  # a row that one program holds


@triton.jit
def activate(x, KIND: tl.constexpr):
    if KIND == "relu":
        return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)
    elif KIND == "silu":
        return x * tl.sigmoid(x)
    elif KIND == "none":
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif KIND == "tanh":
        return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    else:
        return x


@triton.jit
def map_elements(y, x, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = tl.load(x + i, mask=inside).to(tl.float32)
    tl.store(y + i, activate(value, KIND).to(y.dtype.element_ty), mask=inside)


@triton.jit
def copy_elements(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def join_elements(y, a, b, n, PRODUCT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(a + i, mask=i < n)
    right = tl.load(b + i, mask=i < n)
    tl.store(y + i, left * right if PRODUCT else left + right, mask=i < n)


@triton.jit
def gated_rows(y, x, width, y_stride, x_stride, KIND: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = i < width
    gate = tl.load(x + row * x_stride + i, mask=inside).to(tl.float32)
    up = tl.load(x + row * x_stride + width + i, mask=inside).to(tl.float32)
    tl.store(y + row * y_stride + i, (activate(gate, KIND) * up).to(y.dtype.element_ty), mask=inside)


@triton.jit
def softmax_rows(y, x, n, y_stride, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + i, mask=i < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * y_stride + i, (e / tl.sum(e, 0)).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def rmsnorm_rows(y, x, gamma, n, y_stride, x_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + i, mask=i < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + eps)
    weight = tl.load(gamma + i, mask=i < n).to(tl.float32)
    tl.store(y + row * y_stride + i, (value * scale * weight).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def add_rmsnorm_rows(y, total, x, residual, gamma, n, y_stride, x_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    left = tl.load(x + row * x_stride + i, mask=i < n, other=0.0).to(tl.float32)
    right = tl.load(residual + row * x_stride + i, mask=i < n, other=0.0).to(tl.float32)
    rounded = (left + right).to(total.dtype.element_ty)
    tl.store(total + row * y_stride + i, rounded, mask=i < n)
    value = rounded.to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + eps)
    weight = tl.load(gamma + i, mask=i < n).to(tl.float32)
    tl.store(y + row * y_stride + i, (value * scale * weight).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def layernorm_rows(y, x, gamma, beta, n, y_stride, x_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + i, mask=i < n, other=0.0).to(tl.float32)
    centred = tl.where(i < n, value - tl.sum(value, 0) / n, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / n + eps)
    weight = tl.load(gamma + i, mask=i < n).to(tl.float32)
    shift = tl.load(beta + i, mask=i < n).to(tl.float32)
    tl.store(y + row * y_stride + i, (centred * scale * weight + shift).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def sum_rows(y, x, n, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + row, tl.sum(value, 0).to(y.dtype.element_ty))


@triton.jit
def embedding_rows(y, table, ids, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    picked = tl.load(ids + row)
    tl.store(y + row * width + i, tl.load(table + picked * width + i, mask=i < width), mask=i < width)


@triton.jit
def rope_tokens(y, x, cos, sin, positions, HEADS: tl.constexpr, PAIRS: tl.constexpr, NEIGHBOURS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token)
    pair = tl.arange(0, PAIRS)[None, :]
    c = tl.load(cos + position * PAIRS + pair)
    s = tl.load(sin + position * PAIRS + pair)
    start = (token * HEADS + tl.arange(0, HEADS)[:, None]) * (2 * PAIRS)
    if NEIGHBOURS:
        i = start + tl.arange(0, 2 * PAIRS)[None, :]
        first, second = tl.split(tl.reshape(tl.load(x + i).to(tl.float32), (HEADS, PAIRS, 2)))
        turned = tl.reshape(tl.join(first * c - second * s, second * c + first * s), (HEADS, 2 * PAIRS))
        tl.store(y + i, turned.to(y.dtype.element_ty))
    else:
        first = tl.load(x + start + pair).to(tl.float32)
        second = tl.load(x + start + PAIRS + pair).to(tl.float32)
        tl.store(y + start + pair, (first * c - second * s).to(y.dtype.element_ty))
        tl.store(y + start + PAIRS + pair, (second * c + first * s).to(y.dtype.element_ty))


def contiguous(tensors):
    if not all(t.is_contiguous() for t in tensors):
        raise NotOffered("written for contiguous tensors")


def warps(block):
    return 4 if block <= 2048 else 8 if block <= 8192 else 16 if block <= 32768 else 32


def elements(point, outs, ins):
    contiguous([*outs, *ins])
    (y,), n = outs, outs[0].numel()
    if any(x.shape != y.shape for x in ins):
        raise NotOffered("written without broadcasting")
    grid = (triton.cdiv(n, BLOCK),)
    if point.op in ("vector_add", "mul"):
        return lambda: join_elements[grid](y, *ins, n, PRODUCT=point.op == "mul", BLOCK=BLOCK)
    if point.op in ("copy", "cast"):
        return lambda: copy_elements[grid](y, ins[0], n, BLOCK=BLOCK)
    kind = point.params.get("approximate", point.op)
    return lambda: map_elements[grid](y, ins[0], n, KIND=kind, BLOCK=BLOCK)


def gated(point, outs, ins):
    (y,), (x,) = outs, ins
    rows, width = y.shape
    grid = (rows, triton.cdiv(width, BLOCK))
    kind = point.params.get("approximate", "silu")
    return lambda: gated_rows[grid](y, x, width, y.stride(0), x.stride(0), KIND=kind, BLOCK=BLOCK)


def rows(point, outs, ins):
    if point.params["dim"] != 1:
        raise NotOffered("written for rows")
    count, n = ins[0].shape
    block = triton.next_power_of_2(n)
    if block > LONGEST:
        raise NotOffered(f"one program holds at most {LONGEST:,} elements")
    steps = ins[0].stride(0), outs[0].stride(0)
    how = {"BLOCK": block, "num_warps": warps(block)}
    if point.op == "reduce_sum":
        return lambda: sum_rows[(count,)](outs[0], ins[0], n, steps[0], **how)
    x_stride, y_stride = steps
    if point.op == "softmax":
        return lambda: softmax_rows[(count,)](outs[0], ins[0], n, y_stride, x_stride, **how)
    kernel = {"rmsnorm": rmsnorm_rows, "layernorm": layernorm_rows, "add_rmsnorm": add_rmsnorm_rows}[point.op]
    eps = point.params["eps"]
    return lambda: kernel[(count,)](*outs, *ins, n, y_stride, x_stride, eps, **how)


def embedding(point, outs, ins):
    contiguous([*outs, *ins])
    count, width = outs[0].shape
    block = min(triton.next_power_of_2(width), 4096)
    grid = (count, triton.cdiv(width, block))
    return lambda: embedding_rows[grid](outs[0], *ins, width, BLOCK=block)


def rope(point, outs, ins):
    contiguous([*outs, *ins])
    tokens, heads, head_dim = outs[0].shape
    pairs = ins[1].shape[1]
    if head_dim != 2 * pairs:
        raise NotOffered("written for heads that turn whole")
    how = {"HEADS": heads, "PAIRS": pairs, "NEIGHBOURS": point.params["mode"] == "interleaved"}
    return lambda: rope_tokens[(tokens,)](outs[0], *ins, **how)


WRITTEN = {
    "silu_and_mul": gated,
    "gelu_and_mul": gated,
    "embedding": embedding,
    "rope": rope,
    **dict.fromkeys(("softmax", "rmsnorm", "layernorm", "add_rmsnorm", "reduce_sum"), rows),
    **dict.fromkeys(("vector_add", "mul", "relu", "gelu", "silu", "copy", "cast"), elements),
}


def make(point, outs, ins):
    if point.op not in WRITTEN:
        raise NotOffered("not written")
    launch = WRITTEN[point.op](point, outs, ins)

    def call():
        launch()  # what a launch returns is no result

    return call
