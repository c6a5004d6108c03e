"""A neural category model: judging pages with it, and its folder on disk.

model.json names the file of arrays and its SHA-256. It is replaced atomically after the arrays are
on disk under a new name, so a reader sees the old model or the new one. A folder may come from a
stranger: sizes are checked before anything is read, and there is no pickle.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import tokenize
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep import torch_engine
from honeyguide.models.deep.embedding import TextEncoder, open_embedding
from honeyguide.models.deep.net import Floats, TextNet, softmax
from honeyguide.models.deep.vocabulary import (
    MAX_WORDS,
    SEGMENT_WORDS,
    VocabularyCoverage,
    WordVocabulary,
    low_coverage,
)
from honeyguide.models.untrusted import read_plain_file

WordSegments = Sequence[Sequence[str]]
"""A page as lists of words, at most 150 in each; longer ones are cut."""

MAX_CATEGORIES = 1_000
_ENCODED = 32
_MANY = 4_000
"""Segments from which on PyTorch and the GPU are worth their start-up time."""
_SURE = 1e-7
"""Least probability of a segment: a single one must not decide a whole page."""


@dataclass(frozen=True, eq=False)
class CategoryModel:
    """A network with its vocabulary, or with an encoder."""

    categories: tuple[str, ...]
    vocabulary: WordVocabulary
    net: TextNet
    settings: dict[str, Any] = field(default_factory=dict)
    """How texts were turned into words; plain JSON."""
    card: dict[str, Any] = field(default_factory=dict)
    """Facts for people: data, figures, date; plain JSON."""
    encoder: TextEncoder | None = None
    """Gives vectors of words in their context instead of the embedding."""

    def __post_init__(self) -> None:
        count = len(self.categories)
        if not 2 <= count <= MAX_CATEGORIES or len(set(self.categories)) != count:
            raise ModelError(f"a model distinguishes 2 to {MAX_CATEGORIES} categories")
        if self.net.categories != count:
            raise ModelError("a model is damaged: network and categories do not fit together")
        table = self.net.arrays.get("embedding")
        if table is None and self.encoder is None:
            raise ModelError("a model lacks the encoder that it was trained with")
        if table is not None and len(table) != self.vocabulary.size:
            raise ModelError("a model is damaged: network and vocabulary do not fit together")
        if table is None and self.encoder is not None and self.encoder.width != self.net.width:
            raise ModelError("a model's encoder is not the one that it was trained with")

    def probabilities(self, segments: WordSegments) -> Floats:
        """A row for each segment, a column for each category."""
        if not segments:
            return np.zeros((0, len(self.categories)), np.float32)
        if self.encoder is None:
            rows = self.vocabulary.to_rows(segments)
            if len(rows) >= _MANY and torch_engine.has_gpu():
                return torch_engine.torch_probabilities(self.net, rows)
            return self.net.probabilities(rows)
        parts = []
        for start in range(0, len(segments), _ENCODED):
            read = self.encoder.encode(segments[start : start + _ENCODED])
            parts.append(self.net.probabilities_of_vectors(read.vectors, read.lengths))
        return np.concatenate(parts)

    def judge(self, segments: WordSegments, weights: Sequence[float] = ()) -> Floats:
        """The probability of each category for one page: see :meth:`judge_many`."""
        answer: Floats = self.judge_many([(segments, weights)])[0]
        return answer

    def judge_many(self, pages: Sequence[tuple[WordSegments, Sequence[float]]]) -> Floats:
        """A row for each page of (segments, weights): the mean log-probability of its segments,
        each weighted by its number of words times its weight (default 1), normalised to sum 1. A
        page without words has equal probabilities.

        The paper says "sentence level" and has one row a page; segments and this mean are ours.
        """
        flat: list[Sequence[str]] = []
        counts: list[float] = []
        owners: list[int] = []
        for page, (segments, weights) in enumerate(pages):
            counted = weights if len(weights) else [1.0] * len(segments)
            if len(counted) != len(segments):
                raise ModelError("a page has as many weights as segments, or none")
            for segment, weight in zip(segments, counted, strict=True):
                if len(segment) and weight > 0:
                    flat.append(segment)
                    counts.append(min(len(segment), SEGMENT_WORDS) * weight)
                    owners.append(page)
        with np.errstate(over="ignore", invalid="ignore"):
            chances = self.probabilities(flat)
        if not np.isfinite(chances).all():
            raise ModelError("a model is damaged: its output for a text is not a number")
        logs = np.log(np.maximum(chances, _SURE))
        sums = np.zeros((len(pages), len(self.categories)))
        totals = np.zeros(len(pages))
        np.add.at(sums, owners, logs * np.array(counts)[:, None])
        np.add.at(totals, owners, counts)
        means = sums / np.where(totals > 0, totals, 1.0)[:, None]
        return softmax(means)

    def low_coverage(self, segments: WordSegments) -> VocabularyCoverage | None:
        """The vocabulary coverage if only buckets would decide; None: enough. With an encoder
        always None: it has pieces for any word."""
        if self.encoder is not None and any(map(len, segments)):
            return None
        return low_coverage(self.vocabulary.telling_words, segments)

    def top_words(
        self, segments: WordSegments, category: str, most: int = 10
    ) -> list[tuple[str, float]]:
        """The words with the most log-odds for a category, to the first order. Empty with an
        encoder, whose pieces are no words."""
        if self.encoder is not None or not segments:
            return []
        marks = self.net.word_evidence(
            self.vocabulary.to_rows(segments), self.categories.index(category)
        )
        found: dict[str, float] = {}
        for segment, row in zip(segments, marks.tolist(), strict=True):
            for word, mark in zip(segment, row, strict=False):
                if mark > 0:
                    found[word] = found.get(word, 0.0) + mark
        shares = [(word, mark / len(segments)) for word, mark in found.items()]
        return sorted(shares, key=lambda one: (-one[1], one[0]))[:most]


# --- Saving and loading ---


MODEL_FORMAT = 1
_JSON, _ARRAYS = 16_000_000, 1_000_000_000
"""Most bytes of each file."""
ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{16}\.npz")
_PARTS = 64
_TYPES = ("<f4", "<f2", "|u1")
DAMAGE_ERRORS = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, NotImplementedError,
    OverflowError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile,
)  # fmt: skip
"""What the libraries raise for damaged bytes; RecursionError is a RuntimeError."""


def save_net_model(model: CategoryModel, folder: Path) -> None:
    """Write the model into a folder, replacing the one in it."""
    arrays = {name: _halve_precision(array) for name, array in model.net.arrays.items()}
    head = {
        "kind": model.net.kind, "categories": list(model.categories), "settings": model.settings,
        "card": model.card, "buckets": model.vocabulary.buckets,
        "encoder": model.encoder.origin if model.encoder else None,
    }  # fmt: skip
    write_model_folder(folder, head, {**arrays, "words": _pack_words(model.vocabulary.words)})


def write_model_folder(folder: Path, head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write the arrays, then model.json with ``head``, and remove the arrays of an old model."""
    body = io.BytesIO()
    np.savez(body, allow_pickle=False, **arrays)
    data = body.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    name = f"arrays-{digest[:16]}.npz"
    described = {"file": name, "bytes": len(data), "sha256": digest}
    head = {"format": MODEL_FORMAT, **head, "arrays": described}
    try:
        header = json.dumps(head, ensure_ascii=False, indent=1, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"a model's settings and card must be plain JSON: {error}") from error
    if len(header) > _JSON or len(data) > _ARRAYS:
        raise ModelError("a model is too large to be saved")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(folder / name, data)
        write_durably(folder / "model.json", header)
        for old in folder.glob("arrays-*.npz"):
            if ARRAYS_NAME.fullmatch(old.name) and old.name != name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise ModelError(f"a model cannot be saved in {folder}: {error}") from error


def load_net_model(folder: Path, encoder: Path | TextEncoder | None = None) -> CategoryModel:
    """The model in a folder. If it was trained with an encoder, that or its folder is given here:
    an encoder is a program, so nothing in the model says where to find it."""
    with damage_reported(folder):
        head = read_head(folder)
        arrays, categories, settings, card = read_arrays(folder, head)
        words = arrays.pop("words").tobytes().decode()
        vocabulary = WordVocabulary(
            tuple(words.split("\n")) if words else (), _check_count(head["buckets"])
        )
        reader = None if head["encoder"] is None else _open_encoder(head["encoder"], encoder)
        net = TextNet(str(head["kind"]), arrays)
        return CategoryModel(categories, vocabulary, net, settings, card, reader)


@contextmanager
def damage_reported(folder: Path) -> Iterator[None]:
    """Turn what the libraries raise for damaged bytes into a ModelError."""
    try:
        yield
    except DAMAGE_ERRORS as error:
        raise ModelError(f"the model in {folder} is damaged: {error}") from error


def read_head(folder: Path) -> dict[str, Any]:
    """The table in model.json."""
    return _check_table(json.loads(read_model_bytes(folder / "model.json", _JSON)))


def read_arrays(
    folder: Path, head: dict[str, Any]
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...], dict[str, Any], dict[str, Any]]:
    """The arrays that the head names, and the categories, settings and card in it."""
    if head["format"] != MODEL_FORMAT:
        raise ModelError(f"{folder} has a model of form {head['format']!a}, not {MODEL_FORMAT}")
    name, digest = head["arrays"]["file"], head["arrays"]["sha256"]
    if not ARRAYS_NAME.fullmatch(name):
        raise ValueError("its arrays have a strange name")
    data = read_model_bytes(folder / name, _ARRAYS)
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("its arrays are not those that were saved")
    arrays, categories = _unpack_arrays(data), head["categories"]
    if not isinstance(categories, list) or not all(isinstance(one, str) for one in categories):
        raise ValueError("its categories are not names")
    return arrays, tuple(categories), _check_table(head["settings"]), _check_table(head["card"])


def model_checksum(folder: Path) -> str:
    """A checksum of all parts of a saved model."""
    return hashlib.sha256(read_model_bytes(folder / "model.json", _JSON)).hexdigest()


def _pack_words(words: Sequence[str]) -> NDArray[Any]:
    if any("\n" in word for word in words):
        raise ModelError("a word with a line break cannot be saved")
    try:
        return np.frombuffer("\n".join(words).encode(), np.uint8)
    except UnicodeEncodeError as error:
        raise ModelError(f"a word cannot be saved: {error}") from error


def _halve_precision(array: NDArray[Any]) -> NDArray[Any]:
    """The array in half precision if that loses nothing."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), array) else array


def _unpack_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays, without the loader of numpy, which trusts the sizes in a header."""
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = file.infolist()
        if len(parts) > _PARTS:
            raise ValueError("it has too many arrays")
        if sum(part.file_size for part in parts) > len(data):
            raise ValueError("its arrays lie inside each other")
        for part in parts:
            # We do not compress; what is not compressed cannot grow.
            if part.compress_type != zipfile.ZIP_STORED or part.file_size != part.compress_size:
                raise ValueError("its arrays are compressed")
            array = _read_array(file.read(part))
            name = part.filename.removesuffix(".npy")
            if (name == "words") is not (array.dtype.kind == "u"):
                raise ValueError("an array is of another type")  # to widen bytes is for a bomb
            arrays[name] = array if name == "words" else array.astype(np.float32)
    return arrays


def _read_array(data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("an array is of another form")
    shape, fortran, kind = npy.read_array_header_1_0(stream)
    if kind.str not in _TYPES or fortran or min(shape, default=0) < 0:
        raise ValueError("an array is of another type")
    rest = len(data) - stream.tell()
    if math.prod(shape) * kind.itemsize != rest:
        raise ValueError("an array is not as long as it says")
    return np.frombuffer(data, kind, offset=stream.tell()).reshape(shape)


def read_model_bytes(path: Path, most: int) -> bytes:
    """The bytes of a plain file that is not too large."""
    try:
        return read_plain_file(path, most)
    except FileNotFoundError as error:
        raise ModelError(f"there is no model in {path.parent}: {path.name} is missing") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from error


def write_durably(path: Path, data: bytes) -> None:
    """Write a file atomically and sync it to disk."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _open_encoder(origin: Any, encoder: Path | TextEncoder | None) -> TextEncoder:
    values = _check_table(origin)
    if encoder is None:
        raise ModelError(
            f"the model needs its encoder, which was in {str(values['folder'])[:200]!a}. "
            "An encoder is a program: if you trust it, name its folder "
            "(honeyguide classify --encoder FOLDER; in topic.toml, encoder under [strategy])"
        )
    if not isinstance(encoder, Path):
        found: object = encoder
    elif encoder.is_dir():
        found = open_embedding(encoder, str(values["engine"]), str(values["checksum"]))
    else:
        raise ModelError(f"there is no encoder in {encoder}")
    if not isinstance(found, TextEncoder) or found.origin["checksum"] != values["checksum"]:
        raise ModelError(f"{encoder} is not the encoder that the model was trained with")
    return found


def _check_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a part of it is not a table")
    return value


def _check_count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_WORDS:
        raise ValueError("a part of it is not a number")
    return value
