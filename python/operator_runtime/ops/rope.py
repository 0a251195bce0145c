"""rope: rotary position embedding, on interleaved or half-split pairs.

Contract: oprt/ops/rope/rope.h.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from operator_runtime import _native
from operator_runtime.errors import InvalidArgumentError
from operator_runtime.tensor import BackendName, PreparedOp, T, choice, finish, like

__all__ = ["prepare_rope", "rope", "rope_", "rope_table"]

_rope = _native.operator("rope")

_PAIRS = {"interleaved": 0, "half": 1}  # oprt_rope_t
_SCALINGS = {"none": 0, "linear": 1, "llama3": 2}  # oprt_rope_scaling_kind_t
_SCALING_FIELDS = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position")


def rope(src: T, cos: T, sin: T, positions: T, mode: str, backend: BackendName = None) -> T:
    """src, [tokens, heads, head_dim] or [batch, tokens, heads, head_dim], rotated by its positions.

    cos and sin are f32 tables as rope_table makes them; positions, i32 or i64, are [tokens] or [batch, tokens]. mode is
    "interleaved" (pairs 2i, 2i+1) or "half" (pairs i, i + rotary_dim / 2). Past rotary_dim src is copied.
    """
    return finish(_rope(backend, like(_rope, src), src, cos, sin, positions, choice(_rope, "mode", _PAIRS, mode)))


def rope_(out: T, src: T, cos: T, sin: T, positions: T, mode: str, backend: BackendName = None) -> T:
    """rope into out, which may be src. Returns out."""
    return _rope(backend, out, src, cos, sin, positions, choice(_rope, "mode", _PAIRS, mode))


def prepare_rope(out: T, src: T, cos: T, sin: T, positions: T, mode: str, backend: BackendName = None) -> PreparedOp:
    """rope_ checked once, to be run many times."""
    return _rope.prepare(backend, out, src, cos, sin, positions, choice(_rope, "mode", _PAIRS, mode))


def rope_table(
    max_position: int, rotary_dim: int, theta: float = 10000.0, scaling: Mapping | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin, f32 [max_position, rotary_dim / 2], of the angles position * theta^(-2i / rotary_dim) in float64.

    scaling stretches them to longer contexts: {"kind": "linear", "factor": 4.0}, or {"kind": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position": 8192}.
    """
    given = dict(scaling or {"kind": "none"})
    kind = _SCALINGS.get(given.pop("kind", None))
    if kind is None or not given.keys() <= set(_SCALING_FIELDS):
        raise InvalidArgumentError(
            f"rope_table: scaling: expected a kind ({', '.join(_SCALINGS)}) and numbers for {', '.join(_SCALING_FIELDS)}, "
            f"got {scaling!r}"
        )
    shape = max(max_position, 0), max(rotary_dim, 0) // 2  # what is negative is the C layer's to refuse
    cos, sin = np.empty(shape, np.float32), np.empty(shape, np.float32)
    numbers = [given.get(field, 0) for field in _SCALING_FIELDS]
    _native.rope_table(cos.ctypes.data, sin.ctypes.data, max_position, rotary_dim, theta, kind, *numbers)
    return cos, sin
