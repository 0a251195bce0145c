"""reduce_sum: sums along an axis, in f32 and in a tree, so that half precision does not stall.

python examples/03_reduce_sum.py
"""

import numpy as np
import operator_runtime as ort

x = np.arange(12, dtype=np.float32).reshape(3, 4)
print("columns", ort.reduce_sum(x, dim=0))
print("rows   ", ort.reduce_sum(x, dim=-1))

ones = np.ones((1, 4096), np.float16)
naive = np.float16(0)
for one in ones[0]:
    naive += one  # a running f16 sum: 2048 + 1 is 2048
total = ort.reduce_sum(ones, dim=1)
print(f"4096 ones in f16: oprt {total[0]}, one after another {naive}")
assert total[0] == 4096

kept = np.empty((3, 1), np.float32)  # an output of the same rank keeps the axis
ort.reduce_sum_(kept, x, dim=1)
assert np.array_equal(kept, x.sum(axis=1, keepdims=True))
