"""all-MiniLM-L6-v2 on oprt operators alone: sentences in, unit vectors out.

    x = layernorm(word[id] + position[t] + type[0])
    six times:  x = layernorm(x + attention(x));  x = layernorm(x + gelu(x W1 + b1) W2 + b2)
    sentence = sum of x over its tokens, divided by its length as a vector

Shapes: B sentences in a batch, padded to T tokens; H hidden (384) = A heads (12) of D (32); F intermediate (1536).

NumPy's part is memory, views and token ids: every number that depends on a weight is computed by an operator. Nothing
is ever transposed or cut apart in memory. Heads, transposes and the three thirds of the fused query-key-value product
are strided views, and operators take any strides. memory.py gives operators the same views on a GPU.
"""

import functools
import time
from collections import namedtuple

import memory as memories
import numpy as np
import operator_runtime as ort

HOST = memories.Host()

# Padded tokens in one batch: of 128, 256, 512 and 1024 the fastest. Fewer read the weights more often, more pad more
# and leave the cache.
BATCH_TOKENS = 512

Layer = namedtuple("Layer", "qkv attention_out attention_norm mlp_in mlp_out mlp_norm")  # (weight, bias) each


def empty(*shape, dtype=np.float32):
    """All the memory that the model writes comes from here."""
    return np.empty(shape, dtype)


def filled(value, *shape):
    out = empty(*shape)
    out.fill(value)
    return out


class Weights:
    """The checkpoint's tensors as the forward pass wants them; what can be computed once is computed here."""

    def __init__(self, checkpoint, memory):
        tensors = checkpoint.tensors
        self.sizes = checkpoint
        self.memory = memory
        place = memory.place
        self.words = tensors["embeddings.word_embeddings.weight"]
        # Every token is of type 0, so the type's row goes into the positions' table.
        self.positions = empty(checkpoint.max_tokens, checkpoint.hidden)
        ort.vector_add_(
            place(self.positions),
            place(tensors["embeddings.position_embeddings.weight"][: checkpoint.max_tokens]),
            place(tensors["embeddings.token_type_embeddings.weight"][0]),
        )
        self.norm = self.pair(tensors, "embeddings.LayerNorm")
        self.layers = [self.layer(tensors, f"encoder.layer.{i}") for i in range(checkpoint.layers)]
        # rmsnorm(x) = gamma x / sqrt(sum x^2 / H), which is x / |x| where gamma is 1 / sqrt(H).
        self.unit_gamma = filled(checkpoint.hidden**-0.5, checkpoint.hidden)

    @staticmethod
    def pair(tensors, name):
        return tensors[f"{name}.weight"], tensors[f"{name}.bias"]

    def layer(self, tensors, name):
        pair = functools.partial(self.pair, tensors)
        return Layer(
            self.fused_qkv(pair, f"{name}.attention.self"),
            pair(f"{name}.attention.output.dense"),
            pair(f"{name}.attention.output.LayerNorm"),
            pair(f"{name}.intermediate.dense"),
            pair(f"{name}.output.dense"),
            pair(f"{name}.output.LayerNorm"),
        )

    def fused_qkv(self, pair, name):
        """Query, key and value as one product, [3H, H]. The queries' part carries the scores' 1 / sqrt(D)."""
        hidden, place = self.sizes.hidden, self.memory.place
        weight, bias = empty(3 * hidden, hidden), empty(3 * hidden)
        scale = filled((hidden // self.sizes.heads) ** -0.5)
        for third, part in enumerate(("query", "key", "value")):
            rows = slice(third * hidden, (third + 1) * hidden)
            for fused, own in zip((weight, bias), pair(f"{name}.{part}"), strict=True):
                if part == "query":
                    ort.mul_(place(fused[rows]), place(own), place(scale))
                else:
                    ort.copy_(place(fused[rows]), place(own))
        return weight, bias


class Program:
    """The forward pass of one batch shape: its buffers, and its operators prepared on them, in order.

    Preparing checks arguments and chooses kernels once; running is then a list of plain calls that allocate nothing.
    """

    def __init__(self, weights, batch, length):
        self.weights, self.batch, self.length = weights, batch, length
        self.memory = weights.memory.scope()
        self.steps = []
        hidden, heads = weights.sizes.hidden, weights.sizes.heads
        self.ids = empty(batch, length, dtype=np.int32)
        self.kept = empty(batch, length, 1)  # 1 at a sentence's tokens, 0 at padding
        self.key_bias = empty(batch, 1, 1, length)  # 0 at a sentence's tokens, -inf at padding: no query sees them
        self.x = empty(batch, length, hidden)
        self.y = empty(batch, length, hidden)
        self.qkv = empty(batch, length, 3, heads, hidden // heads)
        self.scores = empty(batch, heads, length, length)
        self.context = empty(batch, length, heads, hidden // heads)
        self.inner = empty(batch * length, weights.sizes.intermediate)
        self.pooled = empty(batch, hidden)
        self.sentences = empty(batch, hidden)  # the result

        self.embed()
        for layer in weights.layers:
            self.attention(layer)
            self.feed_forward(layer)
        self.pool()

    def step(self, operator, *tensors, **options):
        placed = [self.memory.place(tensor) for tensor in tensors]
        self.steps.append((operator, getattr(ort, f"prepare_{operator}")(*placed, **options)))

    def rows(self, x):
        """[B, T, ...] as a matrix of B T rows: a view."""
        return x.reshape(self.batch * self.length, -1)

    def linear(self, out, x, weight_and_bias, **options):
        weight, bias = weight_and_bias  # stored [outputs, inputs]
        self.step("matmul", self.rows(out), self.rows(x), weight.T, bias, **options)

    def add_and_norm(self, gamma_and_beta):
        self.step("vector_add", self.x, self.x, self.y)
        self.step("layernorm", self.x, self.x, *gamma_and_beta, eps=self.weights.sizes.eps)

    def embed(self):
        self.step("embedding", self.x, self.weights.words, self.ids)
        self.step("vector_add", self.x, self.x, self.weights.positions[: self.length])
        self.step("layernorm", self.x, self.x, *self.weights.norm, eps=self.weights.sizes.eps)

    def attention(self, layer):
        q, k, v = (self.qkv[:, :, third].transpose(0, 2, 1, 3) for third in range(3))  # [B, A, T, D]
        self.linear(self.qkv, self.x, layer.qkv)
        self.step("matmul", self.scores, q, k.transpose(0, 1, 3, 2))
        self.step("vector_add", self.scores, self.scores, self.key_bias)
        self.step("softmax", self.scores, self.scores, dim=-1)
        self.step("matmul", self.context.transpose(0, 2, 1, 3), self.scores, v)
        self.linear(self.y, self.context, layer.attention_out)
        self.add_and_norm(layer.attention_norm)

    def feed_forward(self, layer):
        self.linear(self.inner, self.x, layer.mlp_in)
        self.step("gelu", self.inner, self.inner, approximate="none")
        self.linear(self.y, self.inner, layer.mlp_out)
        self.add_and_norm(layer.mlp_norm)

    def pool(self):
        """The mean over a sentence's tokens as a unit vector; the mean's division by their count cancels out."""
        self.step("mul", self.x, self.x, self.kept)
        self.step("reduce_sum", self.pooled, self.x, dim=1)
        self.step("rmsnorm", self.sentences, self.pooled, self.weights.unit_gamma, eps=0.0)

    def load(self, token_ids):
        """Takes a batch's token ids: at most T of them in each of the B lists."""
        self.ids.fill(0)
        self.kept.fill(0)
        self.key_bias.fill(-np.inf)
        for row, tokens in enumerate(token_ids):
            self.ids[row, : len(tokens)] = tokens
            self.kept[row, : len(tokens)] = 1
            self.key_bias[row, ..., : len(tokens)] = 0
        self.memory.send(self.ids, self.kept, self.key_bias)

    def run(self, record=None):
        """Runs the pass; record(operator, kernel, seconds), where given, hears of every step, and waits for each."""
        for operator, prepared in self.steps:
            start = time.perf_counter()
            prepared.run()
            if record:
                self.memory.wait()
                record(operator, prepared.kernel, time.perf_counter() - start)


class MiniLM:
    def __init__(self, checkpoint, memory=HOST):
        self.weights = Weights(checkpoint, memory)
        # A program holds buffers of a few MB, so only the shapes used last are kept.
        self.program = functools.lru_cache(maxsize=8)(functools.partial(Program, self.weights))

    def embed(self, token_ids, record=None):
        """The sentences' unit vectors, [len(token_ids), H], in their order."""
        order = sorted(range(len(token_ids)), key=lambda i: len(token_ids[i]))
        memory = self.weights.memory.scope()
        by_length = empty(len(order), self.weights.sizes.hidden)
        for first, last in batches([len(token_ids[i]) for i in order]):
            program = self.program(last - first, len(token_ids[order[last - 1]]))
            program.load([token_ids[i] for i in order[first:last]])
            program.run(record)
            ort.copy_(memory.place(by_length[first:last]), program.memory.place(program.sentences))
        place = empty(len(order), dtype=np.int32)  # of each sentence in by_length
        place[order] = range(len(order))
        vectors = empty(len(order), self.weights.sizes.hidden)
        ort.embedding_(*map(memory.place, (vectors, by_length, place)))
        return memory.fetch(vectors)


def batches(lengths):
    """Cuts ascending lengths into (first, last) ranges of at most BATCH_TOKENS tokens, padding included."""
    first = 0
    for i, length in enumerate(lengths):
        if i > first and (i - first + 1) * length > BATCH_TOKENS:
            yield first, i
            first = i
    if first < len(lengths):
        yield first, len(lengths)


def cosines(vectors, memory=HOST):
    """Every pair's cosine, [n, n], of n unit vectors."""
    memory = memory.scope()
    out = empty(len(vectors), len(vectors))
    ort.matmul_(*map(memory.place, (out, vectors, vectors.T)))
    return memory.fetch(out)
