"""C07: a contiguous view may start at any element.

Every operand alone and all together, at every offset from an aligned address, at lengths below, at and above whole
vectors: the bits must be those of the aligned call; of another library's kernel, within the bound.
"""

from operator_runtime.testing.call import build, judge
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.layout import filled

OFFSETS = range(1, 16)  # elements
LENGTHS = (*range(1, 34), 1024)


class LineDraw(Draw):
    """Draws one line of a given length wherever the operator leaves the shape to it."""

    def __init__(self, op, dtype, length):
        super().__init__(op, dtype, "contiguous", length, "line")
        self.length = length

    def shape(self, least=1, most=4, lengths=()):
        return (1,) * (least - 1) + (self.length,)

    def rows(self, lengths=(), least=1, most=4):
        return self.shape(least), -1

    def sizes(self, count, lengths=()):
        return (2,) * (count - 1) + (self.length,)

    def broadcastable(self, shape):
        return tuple(shape)


class Movable:
    """An operand's values, to be put at any offset."""

    def __init__(self, placed):
        self.values = placed.view.copy()
        self.memory = filled(placed.view.size + max(OFFSETS), placed.dtype)

    def at(self, offset):
        view = self.memory[offset : offset + self.values.size].reshape(self.values.shape)
        view[...] = self.values
        return view


def check(suite, operator, dtype, length):
    """A sentence if something is wrong, else None."""
    d = LineDraw(operator.name, dtype, length)
    call = suite.draw(d)
    live = build(suite, d, call)
    outs = [Movable(placed) for placed in live.outs]
    with operator.prepare(live.out_views(), live.in_views(), call.params) as prepared:
        prepared.run()
        foreign = prepared.kernel in suite.foreign
    complaints = judge(suite, live, operator.operands)
    if complaints:
        return f"already at aligned addresses: {complaints[0]}"
    right = [placed.view.tobytes() for placed in live.outs]
    operands = [*outs, *(placed and Movable(placed) for placed in live.ins)]
    present = [i for i, operand in enumerate(operands) if operand]
    for moved in (*([i] for i in present), present):
        for offset in OFFSETS:
            views = [operand and operand.at(offset if i in moved else 0) for i, operand in enumerate(operands)]
            with operator.prepare(views[: len(outs)], views[len(outs) :], call.params) as prepared:
                prepared.run()
            for placed, view in zip(live.outs, views[: len(outs)], strict=True):
                placed.view[...] = view
            same = [placed.view.tobytes() for placed in live.outs] == right
            if not same and not (foreign and not judge(suite, live, operator.operands)):
                who = ", ".join(operator.operands[i] for i in moved)
                return f"other bits than the aligned call with {who} {offset} elements further on"
    return None
