"""Wrong calls: the right status, a message that helps, nothing written."""

import numpy as np

from operator_runtime import OperatorRuntimeError
from operator_runtime.testing.call import as_tensor, build, out_specs
from operator_runtime.testing.layout import dense_strides, filled, place
from operator_runtime.testing.suite import DTYPE, INVALID, NOT_SUPPORTED, Call, Error

OTHER = {"f32": "f16", "f16": "bf16", "bf16": "f16", "i32": "f32", "i64": "f32"}


def expected_class(status):
    """What Python raises for a status: the builtin that it also is."""
    return {INVALID: ValueError, DTYPE: TypeError, NOT_SUPPORTED: RuntimeError}[status]


def arrays_of(error, d, suite):
    """The call's tensors as arrays: NumPy arrays as they are, everything else laid out contiguously."""

    def array(value):
        if value is None or isinstance(value, np.ndarray):
            return value
        spec = as_tensor(value, d.dtype)
        return place(spec, dense_strides(spec.shape)).view

    ins = [array(value) for value in error.call.inputs]
    out = error.call.out
    if out is None:
        raise ValueError(f"error case {error.name!r} does not say what its output is")
    outs = []
    for one in out if isinstance(out, list) else [out]:
        if one is None or isinstance(one, np.ndarray):
            outs.append(one)
        else:
            spec = out_specs(Call(out=one), d.out_dtype, ())[0]
            outs.append(place(spec, dense_strides(spec.shape)).view)
    return outs, ins


def contents(arrays):
    return [None if a is None else a.tobytes() for a in arrays]


def check(suite, operator, d, error):
    """A sentence if the call is not refused as it should be, else None."""
    outs, ins = arrays_of(error, d, suite)
    before = contents([*outs, *ins])
    try:
        with operator.prepare(outs, ins, error.call.params) as prepared:
            prepared.run()
    except OperatorRuntimeError as refusal:
        message = str(refusal)
        complaints = []
        if not isinstance(refusal, expected_class(error.status)):
            complaints.append(f"want {error.status}, got {type(refusal).__name__}")
        missing = [word for word in (operator.name, *error.says) if word not in message]
        if missing:
            complaints.append(f"the message does not say {', '.join(map(repr, missing))}")
        if contents([*outs, *ins]) != before:
            complaints.append("something was written all the same")
        return f"{'; '.join(complaints)}. The message: {message}" if complaints else None
    return "the call was accepted"


def free_errors(suite, operator, d):
    """The wrong calls that every operator must refuse, made from one of its right ones."""
    live = build(suite, d, suite.draw(d))
    outs, ins, params = live.out_views(), live.in_views(), live.params

    def wrong(name, status, says=(), **changed):
        """The right call with operands exchanged: out0=..., in1=..."""
        some_outs = [changed.get(f"out{i}", out) for i, out in enumerate(outs)]
        some_ins = [changed.get(f"in{i}", x) for i, x in enumerate(ins)]
        return Error(name, status, Call(*some_ins, out=some_outs, **params), says)

    def retyped(array, dtype):
        return np.zeros(array.shape, filled(0, dtype).dtype)

    operands = [(f"out{i}", placed) for i, placed in enumerate(live.outs)]
    operands += [(f"in{i}", placed) for i, placed in enumerate(live.ins) if placed]
    optional = operator.optional_inputs(len(outs))
    for key, placed in operands:
        floating = placed.dtype.startswith(("f", "b"))
        if "-" not in d.label:  # a cast takes any mix
            other = OTHER[placed.dtype]
            yield wrong(f"{key} of another dtype", DTYPE, (other,), **{key: retyped(placed.view, other)})
        if floating:
            yield wrong(f"{key} of integers", DTYPE, ("i32",), **{key: retyped(placed.view, "i32")})
        if key.startswith("out") or not optional[int(key[2:])]:
            yield wrong(f"{key} missing", INVALID, (), **{key: None})
        nine = np.zeros((1,) * 9, placed.view.dtype)
        yield wrong(f"{key} of rank 9", INVALID, ("9",), **{key: nine})
    for i, out in enumerate(outs):
        if out.size < 2:
            continue
        repeated = np.lib.stride_tricks.as_strided(out, out.shape, [0] * out.ndim)
        yield wrong(f"out{i} repeats an address", INVALID, ("address",), **{f"out{i}": repeated})
        for j, x in enumerate(ins):
            if x is None or x.size < 2:
                continue
            last = (x.nbytes - 1) // out.itemsize * out.itemsize  # the output starts where the input's last byte is
            memory = np.zeros(last + out.nbytes + x.nbytes, np.uint8)
            shifted = memory[last:][: out.nbytes].view(out.dtype).reshape(out.shape)
            source = memory[: x.nbytes].view(x.dtype).reshape(x.shape)
            source[...] = x
            yield wrong(f"out{i} overlaps in{j}", INVALID, ("overlap",), **{f"out{i}": shifted, f"in{j}": source})
