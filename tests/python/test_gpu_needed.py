"""A library with a GPU backend loads where there is no driver: neither it nor cuBLAS is linked, both are looked for."""

import pathlib
import subprocess

import operator_runtime
import pytest
from operator_runtime import _native


def needed(path):
    """The shared objects that the loader wants."""
    said = subprocess.run(["readelf", "--dynamic", path], capture_output=True, text=True, check=True).stdout
    return [line.split("[")[1].rstrip("]") for line in said.splitlines() if "(NEEDED)" in line]


def test_no_driver_and_no_cublas_is_linked():
    package = pathlib.Path(operator_runtime.__file__).parent
    tree = package.parents[1]
    objects = [*package.glob("*.so*"), *(path for path in tree.glob("liboprt.so.1") if path.exists())]
    assert objects
    for path in objects:
        wrong = [name for name in needed(path) if name.startswith(("libcuda.", "libcublas", "libnv"))]
        assert not wrong, path


def test_a_machine_without_a_gpu_is_told_what_it_lacks():
    if not _native.kernels("relu", "nvidia"):
        pytest.skip("built without the NVIDIA backend")
    try:
        _native.DeviceBuffer(16)
    except operator_runtime.OperatorRuntimeError as refusal:
        assert "driver" in str(refusal)
    else:
        pytest.skip("there is a GPU")
