"""Where an operator runs, by name."""

from __future__ import annotations

from enum import Enum

from operator_runtime.errors import InvalidArgumentError, from_status

_NOT_SUPPORTED = 5


class Backend(str, Enum):
    """A backend's name. Functions take it, its name in any case, or None: the backend where the data lives."""

    NVIDIA = "nvidia"
    TILELANG = "tilelang"
    METAX = "metax"
    CPU = "cpu"

    def __str__(self) -> str:
        return self.value


BackendName = str | Backend | None  # what every function's `backend` takes


def normalize_backend(backend: str | Backend) -> Backend:
    """The Backend of a name, whatever its case. ValueError for an unknown one."""
    try:
        return Backend(backend.lower())
    except (AttributeError, ValueError):
        names = ", ".join(b.value for b in Backend)
        raise InvalidArgumentError(f"backend: expected one of {names}, got {backend!r}") from None


def refuse_backend(op: str, backend: object) -> None:
    """Raises for a backend that the C layer has no name for: one of Python's own, or none at all."""
    try:
        name = normalize_backend(backend)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{op}: {error}") from None
    raise from_status(_NOT_SUPPORTED, f"{op}: backend: expected a backend that this build has, got {name.value}")
