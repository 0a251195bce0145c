"""Wrong calls: the right status, a message that helps, nothing written."""

import numpy as np

from operator_runtime import OperatorRuntimeError
from operator_runtime.testing.call import as_tensor, build, out_specs
from operator_runtime.testing.dtypes import FLOATS, NUMPY
from operator_runtime.testing.layout import dense_strides, place
from operator_runtime.testing.suite import DTYPE, INVALID, NOT_SUPPORTED, Call, Error

OTHER = {"f32": "f16", "f16": "bf16", "bf16": "f16", "i32": "f32", "i64": "f32"}


def expected_class(status):
    """What Python raises for a status: the builtin that it also is."""
    return {INVALID: ValueError, DTYPE: TypeError, NOT_SUPPORTED: RuntimeError}[status]


def arrays_of(error, d):
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


def check(operator, d, error):
    """A sentence if the call is not refused as it should be, else None."""
    outs, ins = arrays_of(error, d)
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
    says = "".join(f", and to say {word!r}" for word in error.says)
    return f"the call was accepted; it is to be refused with {error.status}{says}"


def free_errors(suite, operator, d, call):
    """The wrong calls that every operator must refuse, made from one of its right ones."""
    live = build(suite, d, call)
    outputs = len(live.outs)
    placed = dict(zip(operator.operands, [*live.outs, *live.ins], strict=False))
    views = {name: p and p.view for name, p in placed.items()}
    optional = dict(zip(operator.operands[outputs:], operator.optional_inputs(outputs), strict=False))

    def wrong(name, status, says, **exchanged):
        arrays = list({**views, **exchanged}.values())
        return Error(name, status, Call(*arrays[outputs:], out=arrays[:outputs], **live.params), says)

    for name, view in views.items():
        if view is None:
            continue
        dtype = placed[name].dtype
        if "-" not in d.label:  # a cast takes any mix
            other = np.zeros(view.shape, NUMPY[OTHER[dtype]])
            yield wrong(f"C24 {name} of another dtype", DTYPE, (OTHER[dtype],), **{name: other})
        if dtype in FLOATS:
            yield wrong(f"{name} of integers", DTYPE, ("i32",), **{name: np.zeros(view.shape, np.int32)})
        if not optional.get(name):
            yield wrong(f"{name} missing", INVALID, (name,), **{name: None})
        yield wrong(f"{name} of rank 9", INVALID, (name, "9"), **{name: np.zeros((1,) * 9, view.dtype)})
    big = {name: view for name, view in views.items() if view is not None and view.size > 1}
    for name in [name for name in operator.operands[:outputs] if name in big]:
        out = big[name]
        repeated = np.lib.stride_tricks.as_strided(out, out.shape, [0] * out.ndim)
        yield wrong(f"{name} repeats an address", INVALID, (name, "address"), **{name: repeated})
        for other in [other for other in operator.operands[outputs:] if other in big]:
            pair = overlapping(out, big[other])
            yield wrong(f"C29 {name} overlaps {other}", INVALID, (name, "overlap"), **{name: pair[0], other: pair[1]})


def overlapping(out, x):
    """An output like `out` that begins where an input like `x` has its last bytes."""
    last = (x.nbytes - 1) // out.itemsize * out.itemsize
    memory = np.zeros(last + out.nbytes + x.nbytes, np.uint8)
    source = memory[: x.nbytes].view(x.dtype).reshape(x.shape)
    source[...] = x
    return memory[last:][: out.nbytes].view(out.dtype).reshape(out.shape), source
