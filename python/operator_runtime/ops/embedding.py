"""embedding: the rows of a table that ids name.

Contract: oprt/ops/embedding/embedding.h.
"""

from __future__ import annotations

from operator_runtime import _native
from operator_runtime.tensor import BackendName, PreparedOp, T, empty, finish

__all__ = ["embedding", "embedding_", "prepare_embedding"]

_embedding = _native.operator("embedding")


def embedding(table: T, ids: T, backend: BackendName = None) -> T:
    """table[ids]: table is [rows, width], ids i32 or i64 of any rank; the result is [*ids.shape, width]."""
    out = empty(_embedding, lambda table, ids: ids + table[1:], table, ids)
    return finish(_embedding(backend, out, table, ids))


def embedding_(out: T, table: T, ids: T, backend: BackendName = None) -> T:
    """table[ids] into out. Returns out."""
    return _embedding(backend, out, table, ids)


def prepare_embedding(out: T, table: T, ids: T, backend: BackendName = None) -> PreparedOp:
    """embedding_ checked once, to be run many times."""
    return _embedding.prepare(backend, out, table, ids)
