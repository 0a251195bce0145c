"""relu with a slope: leaky below zero, and NaN stays NaN.

python examples/06_relu_slope.py
"""

import numpy as np
import operator_runtime as ort

x = np.array([-2, -0.5, 0, 1, np.nan], np.float32)
for slope in (0.0, 0.1):
    print(f"slope {slope}: {ort.relu(x, negative_slope=slope)}")

half = x.astype(np.float16)
ort.relu_(half, half, negative_slope=0.25)  # in place
assert np.array_equal(half, np.array([-0.5, -0.125, 0, 1, np.nan], np.float16), equal_nan=True)
