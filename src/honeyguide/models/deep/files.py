"""A model of categories as a folder: model.json, and its arrays beside it. No pickle.

model.json names the file of arrays and its SHA-256; it is replaced at once, after the arrays are
on disk under a new name, so whoever loads meets the old model or the new one. A folder may come
from a stranger: sizes are looked at before anything is read, and nothing in it is believed.
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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep.embedding import Encoder, embedding_of
from honeyguide.models.deep.model import CategoryModel
from honeyguide.models.deep.net import Net
from honeyguide.models.deep.plain_file import contents
from honeyguide.models.deep.vocabulary import MOST, Vocabulary

FORMAT = 1
_JSON, _ARRAYS = 16_000_000, 1_000_000_000
"""Most bytes of each file."""
ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{16}\.npz")
_PARTS = 64
_TYPES = ("<f4", "<f2", "|u1")
DAMAGE = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, NotImplementedError,
    OverflowError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile,
)  # fmt: skip
"""What the libraries say of damaged bytes; RecursionError is a RuntimeError."""


def save(model: CategoryModel, folder: Path) -> None:
    """Write the model into a folder, in place of the one that is there."""
    data = _packed(model)
    digest = hashlib.sha256(data).hexdigest()
    name = f"arrays-{digest[:16]}.npz"
    head = {
        "format": FORMAT,
        "kind": model.net.kind,
        "categories": list(model.categories),
        "settings": model.settings,
        "card": model.card,
        "buckets": model.vocabulary.buckets,
        "encoder": model.encoder.origin if model.encoder else None,
        "arrays": {"file": name, "bytes": len(data), "sha256": digest},
    }
    try:
        header = json.dumps(head, ensure_ascii=False, indent=1, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"a model's settings and card must be plain JSON: {error}") from error
    if len(header) > _JSON or len(data) > _ARRAYS:
        raise ModelError("a model is too large to be saved")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        put(folder / name, data)
        put(folder / "model.json", header)
        for old in folder.glob("arrays-*.npz"):
            if ARRAYS_NAME.fullmatch(old.name) and old.name != name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise ModelError(f"a model cannot be saved in {folder}: {error}") from error


def load(folder: Path, encoder: Path | Encoder | None = None) -> CategoryModel:
    """The model in a folder. If it was trained with an encoder, that is given here, or the folder
    that it is in: an encoder is a program, so nothing in the model says where to look for it."""
    header = read_bytes(folder / "model.json", _JSON)
    try:
        head = json.loads(header)
        if head["format"] != FORMAT:
            raise ModelError(f"{folder} has a model of form {head['format']!a}, not {FORMAT}")
        name, digest = head["arrays"]["file"], head["arrays"]["sha256"]
        if not ARRAYS_NAME.fullmatch(name):
            raise ValueError("its arrays have a strange name")
        data = read_bytes(folder / name, _ARRAYS)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError("its arrays are not those that were saved")
        arrays = unpacked(data)
        words = arrays.pop("words").tobytes().decode()
        vocabulary = Vocabulary(tuple(words.split("\n")) if words else (), _whole(head["buckets"]))
        reader = None if head["encoder"] is None else _encoder(head["encoder"], encoder)
        categories = texts(head["categories"])
        settings, card = plain(head["settings"]), plain(head["card"])
        net = Net(str(head["kind"]), arrays)
        return CategoryModel(categories, vocabulary, net, settings, card, reader)
    except DAMAGE as error:
        raise ModelError(f"the model in {folder} is damaged: {error}") from error


def checksum(folder: Path) -> str:
    """Stands for all that is in a saved model: whoever refers to it can see that it is the same."""
    return hashlib.sha256(read_bytes(folder / "model.json", _JSON)).hexdigest()


def _packed(model: CategoryModel) -> bytes:
    words = model.vocabulary.words
    if any("\n" in word for word in words):
        raise ModelError("a word with a line break cannot be saved")
    try:
        text = "\n".join(words).encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"a word cannot be saved: {error}") from error
    body = io.BytesIO()
    arrays = {name: _small(array) for name, array in model.net.arrays.items()}
    np.savez(body, allow_pickle=False, **arrays, words=np.frombuffer(text, np.uint8))
    return body.getvalue()


def _small(array: NDArray[Any]) -> NDArray[Any]:
    """In half precision where that loses nothing."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), array) else array


def unpacked(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays, without numpy's own loader, which believes what a header says of its size."""
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
            array = _array(file.read(part))
            name = part.filename.removesuffix(".npy")
            if (name == "words") is not (array.dtype.kind == "u"):
                raise ValueError("an array is of another type")  # to widen bytes is for a bomb
            arrays[name] = array if name == "words" else array.astype(np.float32)
    return arrays


def _array(data: bytes) -> NDArray[Any]:
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


def read_bytes(path: Path, most: int) -> bytes:
    """A plain file's, if it is not too large."""
    try:
        return contents(path, most)
    except FileNotFoundError as error:
        raise ModelError(f"there is no model in {path.parent}: {path.name} is missing") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from error


def put(path: Path, data: bytes) -> None:
    """All of it or nothing, also if the machine stops."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _encoder(origin: Any, given: Path | Encoder | None) -> Encoder:
    values = plain(origin)
    if given is None:
        raise ModelError(
            f"the model needs its encoder, which was in {str(values['folder'])[:200]!a}. "
            "An encoder is a program: if you trust it, name its folder "
            "(honeyguide classify --encoder FOLDER; in topic.toml, encoder under [strategy])"
        )
    if not isinstance(given, Path):
        found: object = given
    elif given.is_dir():
        found = embedding_of(given, str(values["engine"]), str(values["checksum"]))
    else:
        raise ModelError(f"there is no encoder in {given}")
    if not isinstance(found, Encoder) or found.origin["checksum"] != values["checksum"]:
        raise ModelError(f"{given} is not the encoder that the model was trained with")
    return found


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("its categories are no names")
    return tuple(value)


def plain(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a part of it is no table")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        raise ValueError("a part of it is no number")
    return value
