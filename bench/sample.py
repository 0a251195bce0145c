"""Whether a result is right: of a large one a sample is compared, with the references and bounds of `oprt test`, on
the rows (elements, ids, tokens, a block of a product) that a seeded draw names, the first and last among them."""

import math

import ml_dtypes
import numpy as np
import torch
from operator_runtime.testing import call as calls
from operator_runtime.testing.layout import Placed
from operator_runtime.testing.load import operands, suites

from bench.operands import GATED

SAMPLED = 1 << 15  # elements, at least
TOLERANCE = {"f32": 1e-4, "f16": 4e-3, "bf16": 2e-2}  # of a peer: |got - reference| / |reference|, as norms
ROWS = {"softmax", "rmsnorm", "layernorm", "add_rmsnorm", "reduce_sum"}


def host(tensor):
    """As a NumPy array."""
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)
    return tensor.contiguous().cpu().numpy()


def some_of(count, wanted, rng):
    """Indices below count: all, or the first and last and others between, in order."""
    if count <= wanted:
        return np.arange(count)
    ends = min(wanted // 8 + 1, 512)
    return np.unique([*range(ends), *range(count - ends, count), *rng.integers(0, count, wanted)])


class Sample:
    """Part of a point's inputs, and the way to the same part of a result."""

    def __init__(self, point, first, seed=0):
        self.point = point
        self.device = first.ins[0].device
        self.rng = np.random.default_rng(seed)
        kind = point.op if point.op in ("embedding", "rope", "matmul") else None
        kind = kind or ("rows" if point.op in ROWS else "gated" if point.op in GATED else "elements")
        self.pick, ins = getattr(self, f"_{kind}")(first.ins)
        self.ins = [host(x) for x in ins]
        self._expect()

    def _index(self, count, wanted):
        return torch.as_tensor(some_of(count, wanted, self.rng), device=self.device)

    def _elements(self, ins):
        shape = self.point.outs[0][0]
        flat = some_of(math.prod(shape), SAMPLED, self.rng)
        at = tuple(torch.as_tensor(i, device=self.device) for i in np.unravel_index(flat, shape))
        return lambda out: out[at], [x.expand(shape)[at] for x in ins]

    def _gated(self, ins):
        rows, width = self.point.outs[0][0]
        flat = some_of(rows * width, SAMPLED, self.rng)
        row, col = (torch.as_tensor(i, device=self.device) for i in np.unravel_index(flat, (rows, width)))
        both = torch.stack([ins[0][row, col], ins[0][row, col + width]], 1)
        return lambda out: out[row, col].unsqueeze(1), [both]

    def _rows(self, ins):
        dim = self.point.params["dim"]
        shape = self.point.ins[0][0]
        at = self._index(shape[1 - dim], max(SAMPLED // shape[dim], 2))

        def part(x):
            return x if x.shape == (shape[dim],) and x is not ins[0] else x.index_select(1 - dim, at)

        whole = 2 if self.point.op == "add_rmsnorm" else 1
        taken = [part(x) for x in ins[:whole]] + list(ins[whole:])
        return lambda out: out[at] if out.ndim == 1 else out.index_select(1 - dim, at), taken

    def _embedding(self, ins):
        table, ids = ins
        at = self._index(len(ids), max(SAMPLED // table.shape[1], 2))
        return lambda out: out[at], [table[ids[at]], torch.arange(len(at), device=self.device)]

    def _rope(self, ins):
        x, cos, sin, positions = ins
        at = self._index(len(positions), 16)
        taken = [x[at], cos[positions[at]], sin[positions[at]], torch.arange(len(at), device=self.device)]
        return lambda out: out[at], taken

    def _matmul(self, ins):
        a, b = ins
        rows, cols = self._index(a.shape[-2], 8), self._index(b.shape[-1], 64)
        return lambda out: out[..., rows, :][..., cols], [a[..., rows, :], b[..., cols]]

    def _expect(self):
        suite, params = suites()[self.point.op], self.point.params
        native = suite.bound is calls.BITS
        self.arguments = [x.copy() if native else calls.wide(x) for x in self.ins]
        with np.errstate(all="ignore"):
            refs = calls.with_dtype(suite.reference, self.point.out_dtype, *self.arguments, **params)
        self.refs = calls.as_tuple(refs)

    def complaints(self, outs):
        """What `oprt test` would say of oprt's own outputs."""
        suite = suites()[self.point.op]
        placed = [Placed(part, part) for part in (host(self.pick(out)) for out in outs)]
        live = calls.Live([Placed(x, x) for x in self.ins], placed, self.point.params, [], arguments=self.arguments)
        calls.complete(suite, Labels(self.point), live, self.refs)
        return calls.judge(suite, live, operands(self.point.op))

    def distance(self, out):
        """|got - reference| / |reference| of a peer's first output; NaN where either has one alone."""
        got, ref = host(self.pick(out)).astype(np.float64), self.refs[0].astype(np.float64)
        return float(np.linalg.norm(got - ref) / max(np.linalg.norm(ref), 1e-300))


class Labels:
    """What complete() asks of a Draw."""

    def __init__(self, point):
        self.out_dtype = point.out_dtype
