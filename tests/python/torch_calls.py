"""Every operator's random cases (oprt/ops/<op>/cases.py) as calls on PyTorch tensors, judged as the harness judges."""

import inspect

import numpy as np
import operator_runtime as oprt
import operator_runtime.torch_ops as ops
import torch
from operator_runtime import _native
from operator_runtime.testing import call as calls
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.dtypes import NUMPY
from operator_runtime.testing.load import operands, suites

OPERATORS = _native.operators()
TORCH_DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def torch_tensor(array):
    """The array's memory as a tensor; None stays None."""
    if array is None:
        return None
    if array.dtype == NUMPY["bf16"]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class TorchCall:
    """One random call, or one on a row of that length. ins and outs are tensors on the device; params are keywords of
    op_ and prepare_op."""

    def __init__(self, op, dtype=None, index=0, layout="contiguous", device="cpu", row=None):
        self.op, self.suite = op, suites()[op]
        dtype = dtype or self.suite.dtypes[0]
        d = Draw(op, dtype, layout, index)
        self.live = calls.build(self.suite, d, self.suite.row(d, row) if row else self.suite.draw(d))
        self.out_dtype = d.out_dtype
        self.params = self.live.params
        self.ins = self.inputs(device)
        # Outputs lie as the harness laid them out on the CPU, and dense elsewhere.
        self.outs = [torch_tensor(view).to(device) for view in self.live.out_views()]

    def inputs(self, device):
        """The inputs, once more."""
        tensors = [torch_tensor(view) for view in self.live.in_views()]
        return [tensor if tensor is None else tensor.to(device, copy=True) for tensor in tensors]

    @property
    def allocating_params(self):
        """The keywords of op: as of op_, and cast's dtype."""
        names = inspect.signature(getattr(oprt, self.op)).parameters
        return {**self.params, **({"dtype": TORCH_DTYPES[self.out_dtype]} if "dtype" in names else {})}

    def torch_op(self, in_place=False):
        """The operator of torch_ops, its positional arguments, its keywords."""
        name, params = (f"{self.op}_", self.params) if in_place else (self.op, self.allocating_params)
        arguments = (*self.outs, *self.ins) if in_place else tuple(self.ins)
        return getattr(ops, name), arguments, {"pairs" if k == "mode" else k: v for k, v in params.items()}

    def complaints(self, outs):
        """What the harness says of these results.

        A drawn output may be larger than what op allocates, whose inputs broadcast to it, or keep a summed axis.
        """
        for view, out in zip(self.live.out_views(), outs, strict=True):
            host = out.detach().cpu()
            host = host.view(torch.int16).numpy().view(view.dtype) if host.dtype == torch.bfloat16 else host.numpy()
            assert host.dtype == view.dtype
            np.copyto(view, host.reshape(view.shape) if host.size == view.size else host)
        return calls.judge(self.suite, self.live, operands(self.op))

    def may_refuse(self, refusal):
        """Whether the suite says that a machine may answer so."""
        said = self.suite.may_refuse
        return refusal.status == calls.NOT_SUPPORTED and said is not None and said in str(refusal)


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]
