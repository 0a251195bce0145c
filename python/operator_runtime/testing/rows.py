"""Batch invariance: a row's bits are the same in every batch, at every place in it, and at every address."""

import numpy as np

from operator_runtime.testing.call import as_tensor, build
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.dtypes import rounded
from operator_runtime.testing.layout import filled

BATCHES = (1, 2, 17, 33, 128, 255, 256, 257, 1024)
MOVED = ((1, 1), (1, 0), (0, 1), (3, 6))  # elements by which a row's inputs and outputs lie past where they lay
SHORT = (1, 31, 33, 128, 1025)


def places(rows):
    return sorted({0, rows // 2, rows - 1})


def batch_of(row, rows, rng, dtype):
    """Rows like the given one, shuffled and disturbed: the neighbours that it must not depend on."""
    batch = filled(rows * row.size, dtype).reshape(rows, *row.shape[1:])
    copies = np.resize(row.astype(np.float64), (8, row.size))
    shuffled = rng.permuted(copies, axis=1) + rng.standard_normal(copies.shape)
    batch[...] = np.resize(rounded(shuffled, dtype), batch.shape)
    return batch


def lengths(suite):
    """The suite's own row lengths, at its kernels' switches, and a few short ones."""
    return sorted({*suite.row_lengths, *SHORT})


def check(suite, operator, dtype, length):
    """A sentence if a row of this length depends on its batch, else None."""
    d = Draw(operator.name, dtype, "contiguous", 0, f"row {length}")
    return check_call(suite, operator, d, suite.row(d, length))


def check_call(suite, operator, d, call):
    alone = build(suite, d, call, reference=False)
    with operator.prepare(alone.out_views(), alone.in_views(), call.params) as prepared:
        prepared.run()
    right = [out.view.tobytes() for out in alone.outs]
    specs = [as_tensor(value, d.dtype) for value in call.inputs]
    most = max(BATCHES)
    big = {
        i: batch_of(alone.ins[i].view, most, d.rng, specs[i].dtype) for i in suite.row_inputs if specs[i] is not None
    }
    outs = [filled(most * out.view.size, out.dtype).reshape(most, *out.view.shape[1:]) for out in alone.outs]
    for rows in BATCHES:
        for place in places(rows):
            ins = [big[i][:rows] if i in big else placed and placed.view for i, placed in enumerate(alone.ins)]
            kept = {i: big[i][place].copy() for i in big}
            for i in big:
                big[i][place] = alone.ins[i].view[0]
            here = [out[:rows] for out in outs]
            with operator.prepare(here, ins, call.params) as prepared:
                prepared.run()
            for i in big:
                big[i][place] = kept[i]
            if [out[place].tobytes() for out in here] != right:
                return f"row {place} of {rows} has other bits than the same row alone"
    for by_in, by_out in MOVED:
        ins = [moved(placed, by_in) if i in big else placed and placed.view for i, placed in enumerate(alone.ins)]
        here = [moved(out, by_out) for out in alone.outs]
        with operator.prepare(here, ins, call.params) as prepared:
            prepared.run()
        if [out.tobytes() for out in here] != right:
            return f"a row whose inputs lie {by_in} and whose outputs lie {by_out} elements further has other bits"
    return None


def moved(placed, by):
    """A copy that begins so many elements past an aligned address."""
    copy = filled(placed.view.size + by, placed.dtype)[by:].reshape(placed.view.shape)
    copy[...] = placed.view
    return copy
