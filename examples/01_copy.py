"""Copy: any strides to any strides. The input is a view that no memcpy could move: transposed, backwards, every second
column.

    python examples/01_copy.py
"""

import numpy as np
import operator_runtime as ort

x = np.arange(24, dtype=np.float32).reshape(4, 6)
view = x.T[::-2]  # (3, 4); strides in elements: (-2, 6)

packed = ort.copy(view)  # a new contiguous array
assert packed.flags.c_contiguous
assert np.array_equal(packed, view)

out = np.empty((2, 3, 4), np.float32)
ort.copy_(out, view)  # the input broadcasts to an output that you own
assert np.array_equal(out, np.broadcast_to(view, out.shape))

print(packed)
