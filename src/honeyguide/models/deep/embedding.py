"""What a network's first layer may be: a table that is learned, or an encoder that is not.

    nothing         a table of random numbers, learned from scratch
    a Table         word vectors, such as a word2vec file: the table begins with them and is learned
    an Encoder      vectors of words in their context, as of BERT: frozen, they replace the table

Alqaraleh & Sırın found BERT best. Encoders come from a folder that the user names; nothing is
ever downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]


class Read(NamedTuple):
    vectors: Floats
    """[texts, at most 150 pieces, width], float32."""
    lengths: Ints
    """Pieces of each text; what lies beyond is padding."""


@runtime_checkable
class Table(Protocol):
    """Vectors of single words."""

    @property
    def width(self) -> int: ...
    def vectors(self, words: Sequence[str]) -> dict[str, Floats]:
        """Of those words that are known."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Vectors of words in their context."""

    @property
    def width(self) -> int: ...
    @property
    def origin(self) -> dict[str, str]:
        """What finds it again when a model is loaded: engine, folder, checksum."""
        ...

    def read(self, segments: Sequence[Sequence[str]]) -> Read: ...


Embedding = Table | Encoder


def embedding_of(path: Path, engine: str = "auto", expected: str | None = None) -> Embedding:
    """The word vectors in a file, or the encoder in a folder: with ``model.onnx`` through ONNX
    Runtime, else through transformers; ``engine`` is one of auto, onnx, transformers. An encoder
    is a program: only for a path that the user named, and with the expected checksum, if any."""
    if engine not in ("auto", "onnx", "transformers"):
        raise ModelError(f"an encoder's engine is auto, onnx or transformers, not {engine[:40]!a}")
    if path.is_file():
        from honeyguide.models.deep.word_vectors import WordVectors

        return WordVectors(path)
    if not path.is_dir():
        raise ModelError(f"{path} is neither a file of word vectors nor a folder with an encoder")
    if engine == "onnx" or (engine == "auto" and (path / "model.onnx").exists()):
        from honeyguide.models.deep.encoder_onnx import OnnxEncoder

        return OnnxEncoder.open(path, expected)
    from honeyguide.models.deep.encoder_transformers import TransformersEncoder

    return TransformersEncoder.open(path, expected)
