"""The exceptions of the package. Each carries the C layer's message: operator, argument, expected, got."""

__all__ = ["InvalidArgumentError", "OperatorRuntimeError", "UnsupportedDtypeError"]


class OperatorRuntimeError(RuntimeError):
    """An operator refused its arguments or failed. `status` is the C layer's code (oprt/api/status.h)."""

    status = 3


class InvalidArgumentError(OperatorRuntimeError, ValueError):
    """An argument is missing, out of range, or does not fit the others."""

    status = 1


class UnsupportedDtypeError(OperatorRuntimeError, TypeError):
    """The operator does not take this dtype, or this mix of dtypes."""

    status = 2


_CLASSES = {1: InvalidArgumentError, 2: UnsupportedDtypeError}


def from_status(status, message):
    """The exception for a status of the C layer."""
    error = _CLASSES.get(status, OperatorRuntimeError)(message)
    error.status = status
    return error
