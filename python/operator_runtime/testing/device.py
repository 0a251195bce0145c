"""A call on a GPU for checks that look at host arrays: the arrays' memory is mirrored there, before a run and after it.

The whole memory that an array is a view of is mirrored, once for all arrays in it, at an address that is the same
modulo 256. So views keep their strides, alignment, neighbours and overlaps, and what a kernel reads or writes outside
shows.
"""

import ctypes

import numpy as np

from operator_runtime import _native
from operator_runtime.testing.dtypes import NUMPY

ALIGNMENT = 256  # bytes, of a DeviceBuffer's address


class Mirror:
    """The memory of one NumPy array that owns its own, and its like on the device."""

    def __init__(self, owner):
        reach = [(length - 1) * stride for length, stride in zip(owner.shape, owner.strides, strict=True)]
        low = owner.ctypes.data + sum(r for r in reach if r < 0)
        high = owner.ctypes.data + sum(r for r in reach if r > 0) + owner.itemsize
        self.low = low
        self.shift = low % ALIGNMENT
        self.owner = owner  # keeps the memory alive
        self.device = _native.DeviceBuffer(self.shift + high - low)
        self.staged = np.zeros(self.shift + high - low, np.uint8)
        self.host = self.staged[self.shift :]
        self.memory = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))

    def view(self, array):
        strides = [stride // array.itemsize for stride in array.strides]
        offset = array.ctypes.data - self.low + self.shift
        dtype = next((name for name, known in NUMPY.items() if known == array.dtype), str(array.dtype))
        return self.device.view(dtype, array.shape, strides, offset)

    def to_device(self):
        self.host[...] = self.memory
        self.device.copy_from(self.staged)

    def to_host(self):
        self.device.copy_to(self.staged)
        if self.memory.tobytes() != self.host.tobytes():  # an owner may be read-only, and then it is unchanged
            self.memory[...] = self.host


def owner_of(array):
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


class OnDevice:
    """Has the face of PreparedOp: `prepare(*views)` is called with the arrays' mirrors."""

    def __init__(self, prepare, arrays):
        self._mirrors = {}
        self._prepared = prepare(*(self._view(array) for array in arrays))

    def _view(self, array):
        if not isinstance(array, np.ndarray) or array.size == 0:
            return array
        owner = owner_of(array)
        if not isinstance(owner, np.ndarray):  # memory of something else than NumPy
            owner = array
        if id(owner) not in self._mirrors:
            self._mirrors[id(owner)] = Mirror(owner)
        return self._mirrors[id(owner)].view(array)

    @property
    def kernel(self):
        return self._prepared.kernel

    def upload(self):
        for mirror in self._mirrors.values():
            mirror.to_device()

    def launch(self):
        """The call alone."""
        self._prepared.run()

    def run(self):
        self.upload()
        self.launch()
        for mirror in self._mirrors.values():
            mirror.to_host()

    def destroy(self):
        self._prepared.destroy()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.destroy()
