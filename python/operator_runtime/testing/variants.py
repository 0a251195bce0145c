"""Calls for CUDA kernels that none of an operator's cases launches: one kernel's name stands for many instances of a
template, which differ by how many elements there are, where they lie, how long a row is and how many there are.

Each function yields (elements, what the call is, the arrays that `prepare` takes, test): arrays without data for a
look at what the call launches, and a function that runs it and returns complaints. Sizes are those on either side of
what a GPU's kernels look at: threads that fill it once, a row that a thread, a warp, a block or some of them hold.
"""

from operator_runtime.testing import call as calls
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.dtypes import name_of
from operator_runtime.testing.layout import dense_strides, filled, place, unfilled
from operator_runtime.testing.suite import Tensor

# Rows and columns: a tile of a transpose and its edges; what makes threads take several pieces each.
SMALL, LARGE = ((17, 40), (40, 72)), ((260, 264), (520, 520))
LONG_COLUMNS = (520, 4105)
# m, n and k: tiles of each kind, as many of the largest as fill a GPU; whole words whichever way they lie, and not.
PRODUCTS = {
    (17, 40): ((16, 40, 72), (13, 40, 72)),
    (40, 72): ((40, 72, 72), (41, 72, 72)),
    (260, 264): ((1416, 1288, 8), (1409, 1288, 8)),
    (520, 520): ((72, 40, 136), (67, 40, 136)),
}
LAYOUTS = ("contiguous", "transposed", "offset")
DRAWS, TURNED = 12, 8  # of a size and layout; of a size and an input that is turned

LENGTHS = (8, 64, 128, 256, 512, 768, 1024, 1536, 2048, 4096, 8192, 16_384, 17_408, 32_768, 65_536, 131_072)
# Rows of a power of two of threads, as many as do not fit at once into 132 multiprocessors, or into two rounds of them.
COUNTS = (2, 17, 70, 130, 270, 540, 1080, 2160, 4300, 8500, 17_000, 34_000, 136_000)
MOST = 18 << 20  # elements


class Sized(Draw):
    """Draws a given size wherever the operator leaves the shape to it."""

    def __init__(self, op, dtype, layout, index, size, dry=False):
        super().__init__(op, dtype, layout, index, f"size {size}", dry)
        self.size = size

    def shape(self, least=1, most=4, lengths=()):
        return (1,) * (least - 2) + self.size

    def rows(self, lengths=(), least=1, most=4):
        return self.shape(), 0

    def sizes(self, count, lengths=()):
        return PRODUCTS[self.size][self.index // 4 % 2] if count == 3 else (2,) * count

    def broadcastable(self, shape):
        return tuple(shape)


def places(suite):
    """(size, layout, index of the draw)"""
    for size in (*SMALL, *LARGE):
        for layout in LAYOUTS if size in SMALL else ("contiguous", "transposed"):
            yield from ((size, layout, index) for index in range(DRAWS))
    if suite.row:
        yield LONG_COLUMNS, "contiguous", 0


def sized(suite, operator, dtype):
    """Draws of these sizes; of row operators along the outer axis."""
    for size, layout, index in places(suite):

        def drawn(dry, size=size, layout=layout, index=index):
            d = Sized(operator.name, dtype, layout, index, size, dry)
            return d, suite.draw(d)

        def test(drawn=drawn):
            return calls.run(suite, operator, *drawn(dry=False), times=1)[0]

        live = calls.build(suite, *drawn(dry=True), reference=False)
        elements = sum(placed.view.size for placed in live.all())
        yield elements, f"{layout} {list(size)} {index}", (live.out_views(), live.in_views(), live.params), test


def turned(suite, operator, dtype):
    """Draws of which one input alone lies with its last two axes turned round, or all of them do."""
    for size in (*SMALL, LARGE[0]):
        for index in range(TURNED):

            def built(which, reference, size=size, index=index):
                d = Sized(operator.name, dtype, "contiguous", index, size, dry=not reference)
                live = calls.build(suite, d, suite.draw(d), reference=reference)
                for i in which:
                    view = live.ins[i].view
                    order = [*range(view.ndim - 2), view.ndim - 1, view.ndim - 2]
                    tensor = Tensor(view.shape, lambda view=view: view, live.ins[i].dtype)
                    live.ins[i] = place(tensor, dense_strides(view.shape, order))
                return live

            matrices = [i for i, x in enumerate(built((), reference=False).ins) if x is not None and x.view.ndim >= 2]
            for which in sorted({*((i,) for i in matrices), tuple(matrices)} - {()}):
                live = built(which, reference=False)
                elements = sum(placed.view.size for placed in live.all())
                views = live.out_views(), live.in_views(), live.params
                yield (
                    elements,
                    f"inputs {which} turned {list(size)} {index}",
                    views,
                    lambda which=which, built=built: judged(suite, operator, built(which, reference=True)),
                )


def judged(suite, operator, live):
    with operator.prepare(live.out_views(), live.in_views(), live.params) as prepared:
        prepared.run()
    return calls.judge(suite, live, operator.operands)


def batches(suite, operator, dtype):
    """Rows of these lengths, so many, at aligned addresses and odd ones. Each must have the bits that it has alone."""
    for length in LENGTHS:
        d = Draw(operator.name, dtype, "contiguous", 0, f"a row of {length}")
        row = suite.row(d, length)
        live = calls.build(suite, d, row, reference=False)
        for count in COUNTS:
            for offset in (0, 1):
                if (offset and count > 2) or count * length > MOST:
                    continue

                def operands(make, live=live, count=count, offset=offset):
                    ins = [placed and placed.view for placed in live.ins]
                    for i in suite.row_inputs:
                        row, ins[i] = ins[i], room(ins[i], count, offset, make)
                        if make is filled:
                            ins[i][...] = row
                    return [room(placed.view, count, offset, make) for placed in live.outs], ins, live.params

                def test(d=d, row=row, live=live, operands=operands):
                    return compare(suite, operator, d, row, live, operands(filled))

                views = operands(unfilled)
                elements = sum(view.size for view in (*views[0], *views[1]) if view is not None)
                yield elements, f"{count} rows of {length}", views, test


def room(row, count, offset, make):
    """Memory for as many of the one row, so many elements past an aligned address."""
    return make(count * row.size + offset, name_of(row.dtype))[offset:].reshape(count, *row.shape[1:])


def compare(suite, operator, d, row, live, operands):
    complaints, _ = calls.run(suite, operator, d, row, times=1)
    if complaints:
        return complaints
    for outs, ins, params in ((live.out_views(), live.in_views(), live.params), operands):
        with operator.prepare(outs, ins, params) as prepared:
            prepared.run()
    for alone, batch in zip(live.outs, operands[0], strict=True):
        if batch.tobytes() != alone.view.tobytes() * len(batch):
            return [f"of {len(batch)} rows of {alone.view.size} elements some have other bits than the row alone"]
    return []
