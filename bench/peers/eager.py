"""PyTorch's own operators, as cases.py names them; for matmul that is cuBLAS."""

import torch
from operator_runtime.testing.load import suites

from bench.peers import NotOffered


def make(point, outs, ins):
    call = suites()[point.op].torch(torch, outs, ins, **point.params)
    if call is None:
        raise NotOffered("PyTorch has no such call")
    return call
