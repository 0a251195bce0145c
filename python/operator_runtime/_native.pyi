"""liboprt for Python. The public functions are in operator_runtime.ops."""

from types import TracebackType
from typing import Any

from numpy import float32
from numpy.typing import NDArray

def matmul_library() -> str: ...
def version() -> str: ...
def abi_version() -> int: ...
def cpu_target() -> str: ...
def operator(name: str) -> Operator: ...
def operators() -> list[str]: ...
def kernels(op: str, backend: str | None) -> list[str]: ...
def last_kernel() -> str: ...
def empty(op: str, shape: tuple[int, ...], dtype: str, gpu: int = -1) -> Allocation: ...
def take_device_errors() -> int: ...
def rope_table(
    max_position: int,
    rotary_dim: int,
    theta: float,
    kind: int,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position: int,
) -> tuple[NDArray[float32], NDArray[float32]]: ...

class Operator:
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> list[str]: ...
    @property
    def outputs(self) -> list[str]: ...
    def __call__(self, backend: str | None, /, *arguments: Any) -> Any: ...
    def prepare(self, backend: str | None, /, *arguments: Any) -> PreparedOp: ...

class PreparedOp:
    """An operator checked once for given tensors, which it keeps alive. Made by prepare_<op>."""

    def run(self) -> Any:
        """Runs on the prepared tensors; returns the output or outputs."""
    def run_kernel(self) -> Any:
        """As run."""
    def run_inputs(self, *inputs: Any) -> Any:
        """Runs on other inputs of the same dtype, shape and strides; the outputs stay the prepared ones."""
    def destroy(self) -> None:
        """Lets go of the tensors; a second call does nothing."""
    def execute_seconds(self, count: int) -> float:
        """Runs count times, and returns the seconds of the host for one: a C program's cost."""
    def __enter__(self) -> PreparedOp: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    @property
    def kernel(self) -> str:
        """The kernel's name, or "none" for empty tensors."""
    @property
    def workspace_bytes(self) -> int: ...

class Allocation:
    """Memory for a result, given to a framework once by DLPack. Made by empty()."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class DeviceView:
    """A tensor in a DeviceBuffer. Made by DeviceBuffer.view()."""

class DeviceBuffer:
    """A block of memory on the first GPU; its contents are undefined. Copies wait for the default stream."""

    def __init__(self, bytes: int) -> None: ...
    def copy_from(self, host: Any) -> None:
        """Fills the beginning with an object's bytes."""
    def copy_to(self, host: Any) -> None:
        """Fills an object's bytes with the beginning, after all work on the default stream."""
    def view(self, dtype: str, shape: Any, strides: Any, byte_offset: int) -> DeviceView:
        """A tensor in this memory; strides in elements."""
