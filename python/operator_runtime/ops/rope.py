"""rope: rotary position embedding, on interleaved or half-split pairs.

Contract: oprt/ops/rope/rope.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, choice, finish, like

__all__ = ["prepare_rope", "rope", "rope_"]

_rope = _native.operator("rope")

_PAIRS = {"interleaved": 0, "half": 1}  # oprt_rope_t


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
