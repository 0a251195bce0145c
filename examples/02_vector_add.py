"""vector_add: a sum that broadcasts, prepared once and run on new data without another check.

python examples/02_vector_add.py
"""

import numpy as np
import operator_runtime as ort

a = np.array([[0.0], [10.0], [20.0]], np.float32)  # (3, 1)
b = np.arange(4, dtype=np.float32)  # (4,)
print(ort.vector_add(a, b))

out = np.empty((3, 4), np.float32)
with ort.prepare_vector_add(out, a, b) as add:
    a *= 2  # the prepared operator holds the memory, not its content
    add.run()
    assert np.array_equal(out, a + b)
    add.run_inputs(a + 1, b)  # other inputs of the same layout
    assert np.array_equal(out, a + 1 + b)

try:
    ort.vector_add(a, np.zeros(5, np.float16))
except TypeError as error:
    print(f"refused: {error}")
