"""rope: rotary position embedding, on interleaved or half-split pairs.

Contract: oprt/ops/rope/rope.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operator_runtime import _native
from operator_runtime.errors import InvalidArgumentError
from operator_runtime.tensor import BackendName, PreparedOp, T, choice, finish, like

__all__ = ["prepare_rope", "rope", "rope_", "rope_table"]

_rope = _native.operator("rope")

_SCALINGS = {"none": 0, "linear": 1, "llama3": 2}  # oprt_rope_scaling_kind_t
_SCALING_NUMBERS = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position")
_PAIRS = {"interleaved": 0, "half": 1}  # oprt_rope_t


def rope(src: T, cos: T, sin: T, positions: T, mode: str, backend: BackendName = None) -> T:
    """src, [tokens, heads, head_dim] or [batch, tokens, heads, head_dim], rotated by its positions.

    cos and sin are f32 tables as rope_table makes them; positions, i32 or i64, are [tokens] or [batch, tokens]. mode is
    "interleaved" (pairs 2i, 2i+1) or "half" (pairs i, i + rotary_dim / 2). Past rotary_dim src is copied.
    """
    return finish(_rope(backend, like(_rope, src), src, cos, sin, positions, choice("rope", "mode", _PAIRS, mode)))


def rope_(out: T, src: T, cos: T, sin: T, positions: T, mode: str, backend: BackendName = None) -> T:
    """rope into out, which may be src. Returns out."""
    return _rope(backend, out, src, cos, sin, positions, choice("rope", "mode", _PAIRS, mode))


def prepare_rope(out: T, src: T, cos: T, sin: T, positions: T, mode: str, backend: BackendName = None) -> PreparedOp:
    """rope_ checked once, to be run many times."""
    return _rope.prepare(backend, out, src, cos, sin, positions, choice("rope", "mode", _PAIRS, mode))


def rope_table(
    max_position: int, rotary_dim: int, theta: float = 10000.0, scaling: Mapping[str, Any] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(cos, sin) for rope, each [max_position, rotary_dim / 2]: of position * theta^(-2i / rotary_dim), in float64.

    scaling, if any, holds "kind" and its numbers: {"kind": "linear", "factor": 2.0}, or "llama3" with factor,
    low_freq_factor, high_freq_factor and original_max_position.
    """
    if scaling is None:
        return _native.rope_table(max_position, rotary_dim, theta, 0, 0, 0, 0, 0)
    if not isinstance(scaling, Mapping):
        raise InvalidArgumentError(f"rope_table: scaling: expected a mapping or None, got {type(scaling).__name__}")
    numbers = dict(scaling)
    kind = choice("rope_table", "scaling kind", _SCALINGS, numbers.pop("kind", None))
    values = [numbers.pop(name, 0) for name in _SCALING_NUMBERS]
    if numbers:
        raise InvalidArgumentError(
            f"rope_table: scaling: expected kind, {', '.join(_SCALING_NUMBERS)}, got {', '.join(map(str, numbers))}"
        )
    return _native.rope_table(max_position, rotary_dim, theta, kind, *values)
