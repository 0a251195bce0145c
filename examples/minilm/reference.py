"""The same transformer in float64 NumPy, without padding, mask, fused products or oprt.

x holds all sentences' tokens one after another, [tokens, hidden]; attention looks at one sentence's rows at a time.
Only the checkpoint is shared with model.py, so that the two can check each other.
"""

import functools
import math

import numpy as np


def erfc(x):
    """NumPy has none. It is erfc because 0.5 * x * (1 + erf) cancels where x is far below 0."""
    return np.fromiter(map(math.erfc, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def gelu(x):
    return 0.5 * x * erfc(-x / math.sqrt(2))


def embed(checkpoint, token_ids):
    """The unit vectors of some sentences, [sentences, hidden], from their token ids."""

    @functools.cache
    def weight(name):
        return checkpoint.tensors[name].astype(np.float64)

    def linear(x, name):
        return x @ weight(f"{name}.weight").T + weight(f"{name}.bias")

    def layernorm(x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / np.sqrt(variance + checkpoint.eps) * weight(f"{name}.weight") + weight(f"{name}.bias")

    ends = np.cumsum([len(ids) for ids in token_ids])[:-1]

    def sentences(x):
        return np.split(x, ends)

    def heads(x):  # [tokens, hidden] -> [heads, tokens, head_dim]
        return x.reshape(len(x), checkpoint.heads, -1).transpose(1, 0, 2)

    def attend(q, k, v):
        scores = heads(q) @ heads(k).transpose(0, 2, 1) / math.sqrt(checkpoint.hidden // checkpoint.heads)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True) @ heads(v)).transpose(1, 0, 2).reshape(q.shape)

    def attention(x, name):
        q, k, v = (sentences(linear(x, f"{name}.{part}")) for part in ("query", "key", "value"))
        return np.concatenate(list(map(attend, q, k, v)))

    x = checkpoint.tensors["embeddings.word_embeddings.weight"][np.concatenate(token_ids)].astype(np.float64)
    x += weight("embeddings.position_embeddings.weight")[np.concatenate([range(len(ids)) for ids in token_ids])]
    x += weight("embeddings.token_type_embeddings.weight")[0]
    x = layernorm(x, "embeddings.LayerNorm")
    for i in range(checkpoint.layers):
        layer = f"encoder.layer.{i}"
        x = x + linear(attention(x, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
        x = layernorm(x, f"{layer}.attention.output.LayerNorm")
        x = x + linear(gelu(linear(x, f"{layer}.intermediate.dense")), f"{layer}.output.dense")
        x = layernorm(x, f"{layer}.output.LayerNorm")
    means = np.stack([rows.mean(axis=0) for rows in sentences(x)])
    return means / np.linalg.norm(means, axis=1, keepdims=True)
