"""softmax: along any axis, in place, and right where the inputs are large or masked.

python examples/04_softmax.py
"""

import numpy as np
import operator_runtime as ort

inf = np.float32(np.inf)
scores = np.array([[1, 2, 3], [1000, 1001, 1002], [0, -inf, 0]], np.float32)  # -inf: a masked position
print(ort.softmax(scores, dim=-1))

columns = ort.softmax(scores[:2], dim=0)
assert np.allclose(columns.sum(axis=0), 1)

ort.softmax_(scores, scores, dim=-1)  # into its own input
assert np.allclose(scores.sum(axis=-1), 1) and scores[2, 1] == 0
