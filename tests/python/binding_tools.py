"""What the tests of the binding share: raw memory, DLPack by hand, and the loaded library."""

import ctypes
import functools
import re

import numpy as np

DTYPES = ("f32", "f16", "bf16")


def numpy_dtype(name):
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({"f32": "float32", "f16": "float16", "i32": "int32", "i64": "int64"}[name])


def peek(pointer, array):
    """The bytes at an address, as an array like `array`."""
    return np.frombuffer(ctypes.string_at(pointer, array.nbytes), array.dtype).reshape(array.shape)


def poke(pointer, array):
    """Overwrites the memory at an address behind the back of whoever owns it."""
    ctypes.memmove(pointer, np.ascontiguousarray(array).tobytes(), array.nbytes)


@functools.cache
def liboprt():
    """The library that the module has loaded, by ctypes."""
    with open("/proc/self/maps") as maps:
        path = re.search(r"\S*/liboprt\.so\S*", maps.read()).group()
    library = ctypes.CDLL(path)
    library.oprt_last_error_message.restype = ctypes.c_char_p
    return library


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


# DLPack's structs (third_party/dlpack/dlpack.h).


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):  # DLManagedTensor
    name = b"dltensor"
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class ManagedVersioned(ctypes.Structure):  # DLManagedTensorVersioned
    name = b"dltensor_versioned"
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_CAPSULE_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

USED = {Managed: b"used_dltensor", ManagedVersioned: b"used_dltensor_versioned"}


def managed_of(capsule, kind):
    """The managed tensor in a capsule that has not been consumed."""
    return kind.from_address(_python.PyCapsule_GetPointer(capsule, kind.name))


def consume(capsule, kind):
    """Does what a consumer does: takes the managed tensor and renames the capsule."""
    managed = managed_of(capsule, kind)
    _python.PyCapsule_SetName(capsule, USED[kind])
    return managed


class Producer:
    """A producer of DLPack capsules over an f32 NumPy array, which counts how often its deleter runs."""

    _alive = []  # a capsule keeps the address of its name and destructor, not the objects

    def __init__(self, array, kind=ManagedVersioned, *, flags=0, major=1, device=(1, 0), dtype=(2, 32, 1)):
        self.array, self.kind, self.device = array, kind, device
        self.pointer = array.ctypes.data
        self.deleted = 0
        self.requests = []
        self._flags, self._major, self._dtype = flags, major, dtype

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **request):
        if self.kind is Managed and request.keys() - {"stream"}:
            raise TypeError("unexpected keyword argument")  # as a producer from before DLPack 1.0
        self.requests.append(request)
        array, kind = self.array, self.kind
        managed = kind()
        managed.tensor = DLTensor(
            self.pointer,
            Device(*self.device),
            array.ndim,
            DataType(*self._dtype),
            (ctypes.c_int64 * 8)(*array.shape),
            (ctypes.c_int64 * 8)(*(s // array.itemsize for s in array.strides)),
            0,
        )
        if kind is ManagedVersioned:
            managed.major, managed.minor, managed.flags = self._major, 0, self._flags

        def delete(_):
            self.deleted += 1

        managed.deleter = DELETER(delete)

        def destroy(capsule):
            if ctypes.pythonapi.PyCapsule_IsValid(ctypes.c_void_p(capsule), kind.name):
                managed.deleter(ctypes.addressof(managed))

        destructor = _CAPSULE_DESTRUCTOR(destroy)
        self._alive.append((managed, destructor))
        return _python.PyCapsule_New(ctypes.addressof(managed), kind.name, ctypes.cast(destructor, ctypes.c_void_p))
