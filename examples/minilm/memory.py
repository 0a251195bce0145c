"""Where the model's arrays lie for the operators: in host memory, as NumPy has them, or in copies on a GPU.

On a GPU every block of host memory that an array is a view of has a twin. Views of the block become views of the twin,
of the same shape and strides, so the model is written once, in NumPy's words for memory and views.
"""

import numpy as np
import operator_runtime as ort


class Host:
    def place(self, array):
        """What an operator is given for the array."""
        return array

    def scope(self):
        """A place for arrays of a shorter life, which sees this one's too."""
        return self

    def send(self, *arrays):
        """What was written to whole arrays here is there before the operators that come next."""

    def fetch(self, array):
        """The array, whole, as the operators before left it."""
        return array

    def wait(self):
        """Returns when every operator is done."""


class Gpu(Host):
    def __init__(self, outer=None):
        self.outer = outer
        self.twins = {}  # by the address of a block; the block is kept alive with its twin
        self.flag = outer.flag if outer else ort.DeviceBuffer(1)

    def place(self, array):
        twin, address = self.twin(array)
        strides = [stride // array.itemsize for stride in array.strides]
        dtype = {"float32": "f32", "int32": "i32"}[array.dtype.name]
        return twin.view(dtype, array.shape, strides, array.ctypes.data - address)

    def twin(self, array):
        """The twin of the array's block, made with the block's contents where there is none yet, and the address."""
        block = array
        while isinstance(block.base, np.ndarray):
            block = block.base
        address = block.ctypes.data
        memory = self
        while memory:
            if address in memory.twins:
                return memory.twins[address][0], address
            memory = memory.outer
        twin = ort.DeviceBuffer(block.nbytes)
        twin.copy_from(block)
        self.twins[address] = twin, block
        return twin, address

    def scope(self):
        return Gpu(self)

    def send(self, *arrays):
        for array in arrays:
            self.twin(array)[0].copy_from(array)

    def fetch(self, array):
        self.twin(array)[0].copy_to(array)
        return array

    def wait(self):
        self.flag.copy_to(bytearray(1))  # a copy on the stream of the operators


def on(backend):
    """The memory of a backend by name; None is the CPU. OperatorRuntimeError where the backend is not there."""
    if backend in (None, "cpu"):
        return Host()
    if backend == "nvidia":
        return Gpu()
    raise ort.InvalidArgumentError(f"backend: expected cpu or nvidia, got {backend}")
