"""The first layer of a network: a table that is trained, or an encoder that is not.

    nothing          a table of random numbers, trained from scratch
    WordVectors      word vectors, such as a word2vec file: the table begins with them
    a TextEncoder    vectors of words in their context, as of BERT: frozen, instead of the table

Alqaraleh & Sırın found BERT best. Encoders come from a folder that the user names; nothing is ever
downloaded.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models.deep import torch_engine
from honeyguide.models.deep.net import Floats, Ints
from honeyguide.models.deep.vocabulary import SEGMENT_WORDS
from honeyguide.models.untrusted import open_plain_file, read_plain_file


class EncodedTexts(NamedTuple):
    """Vectors of the pieces of some texts."""

    vectors: Floats
    """[texts, at most 150 pieces, width], float32."""
    lengths: Ints
    """Pieces of each text; the rest is padding."""


@runtime_checkable
class TextEncoder(Protocol):
    """Vectors of words in their context."""

    @property
    def width(self) -> int: ...
    @property
    def origin(self) -> dict[str, str]:
        """Engine, folder and checksum, to find it when a model is loaded."""
        ...

    def encode(self, segments: Sequence[Sequence[str]]) -> EncodedTexts: ...


def open_embedding(path: Path, engine: str = "auto", expected: str | None = None) -> Embedding:
    """The word vectors in a file, or the encoder in a folder: with ``model.onnx`` through ONNX
    Runtime, else through transformers. ``engine`` is auto, onnx or transformers. An encoder is a
    program: open only folders that the user named. ``expected``: the checksum that it must have."""
    if engine not in ("auto", "onnx", "transformers"):
        raise ModelError(f"an encoder's engine is auto, onnx or transformers, not {engine[:40]!a}")
    if path.is_file():
        return WordVectors(path)
    if not path.is_dir():
        raise ModelError(f"{path} is neither a file of word vectors nor a folder with an encoder")
    if engine == "onnx" or (engine == "auto" and (path / "model.onnx").exists()):
        return OnnxEncoder.open(path, expected)

    return TransformersEncoder.open(path, expected)


# --- Word vectors from a file ---


MAX_VECTOR_WIDTH = 2_000
"""Numbers of a word."""
_MOST = 20_000_000
"""Most words of a file; a small gzip file may unpack to more."""
_WORD = 1_000
"""Most bytes of a word."""
_LINE = _WORD + 40 * MAX_VECTOR_WIDTH
_LARGE = 1e4
_FASTTEXT = (793_712_314).to_bytes(4, "little")


@dataclass(frozen=True)
class WordVectors:
    """Word vectors in a file: word2vec text (.vec, .txt) or binary (.bin), or GloVe text,
    perhaps gzipped. Only vectors of requested words are kept, so a file of any size can be read."""

    path: Path

    def __post_init__(self) -> None:
        _ = self.width  # A file that is none is told before anything is trained.

    @property
    def is_binary(self) -> bool:
        return ".bin" in self.path.suffixes[-2:]

    @cached_property
    def width(self) -> int:
        with _open_vectors(self.path) as file:
            return self._read_header(file)[0]

    def vectors(self, words: Sequence[str]) -> dict[str, Floats]:
        """The vectors of the words that the file contains; of duplicates the first."""
        wanted = {word.encode("utf-8", "replace"): word for word in words}
        found: dict[str, Floats] = {}
        with _open_vectors(self.path) as file:
            width, headed = self._read_header(file)
            read = _read_binary if self.is_binary else _read_text
            if not headed:
                file.seek(0)
            for where, name, vector in read(file, wanted, width, self.path, 1 + headed):
                if not (np.abs(vector) < _LARGE).all():
                    raise ModelError(f"{self.path}, {where}: a number is not finite, or too large")
                found.setdefault(wanted[name], vector)
                if len(found) == len(wanted):
                    break
        return found

    def _read_header(self, file: IO[bytes]) -> tuple[int, bool]:
        """Width of the vectors, and whether a first line states it: GloVe has none."""
        line = file.readline(_LINE)
        if line.startswith(_FASTTEXT):
            raise ModelError(
                f"{self.path} is a fastText model; its word vectors are in the .vec file"
            )
        fields = line.split()
        headed = len(fields) == 2 and all(field.isdigit() for field in fields)
        if not headed and self.is_binary:
            raise ModelError(f"{self.path}, line 1: not the number and width of word vectors")
        width = int(fields[1][:9]) if headed else len(fields) - 1
        if not 2 <= width <= MAX_VECTOR_WIDTH:
            raise ModelError(
                f"{self.path}, line 1: word vectors have 2 to {MAX_VECTOR_WIDTH} numbers"
            )
        return width, headed


@contextmanager
def _open_vectors(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked file; errors while reading become a ModelError."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as file:
            yield file  # type: ignore[misc]  # GzipFile reads as any file does
    except (OSError, EOFError, zlib.error) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error


Embedding = WordVectors | TextEncoder
FoundVectors = Iterator[tuple[str, bytes, Floats]]
"""Place in the file, word, vector."""


def _read_text(
    file: IO[bytes], wanted: dict[bytes, str], width: int, path: Path, first: int
) -> FoundVectors:
    firsts = {word.split(b" ", 1)[0] for word in wanted}
    for number in range(first, _MOST + first):
        line = file.readline(_LINE)
        if not line:
            return
        if not line.endswith(b"\n") and len(line) >= _LINE:
            raise ModelError(f"{path}, line {number}: longer than word vectors are")
        if line.partition(b" ")[0] not in firsts:
            continue
        fields = line.rstrip().split(b" ")
        if len(fields) <= width:
            raise ModelError(f"{path}, line {number}: not {width} numbers")
        word = b" ".join(fields[:-width])
        if word not in wanted:  # a name of several words
            continue
        try:
            yield f"line {number}", word, np.array(fields[-width:], np.float32)
        except ValueError as error:
            raise ModelError(f"{path}, line {number}: {error}") from error
    raise ModelError(f"{path} has more than {_MOST} words")


def _read_binary(
    file: IO[bytes], wanted: dict[bytes, str], width: int, path: Path, first: int
) -> FoundVectors:
    size = 4 * width
    left = b""
    for number in range(first, _MOST + first):
        while b" " not in left[: _WORD + 1]:
            more = file.read(1 << 16) if len(left) <= _WORD else b""
            if not more:
                if left.strip():
                    raise ModelError(
                        f"{path}, word {number - 1}: it ends too soon, or is not a word"
                    )
                return
            left += more
        word, _, rest = left.partition(b" ")
        while len(rest) < size:
            more = file.read(1 << 16)
            if not more:
                raise ModelError(f"{path}, word {number - 1}: it ends in the middle of a vector")
            rest += more
        left = rest[size:]
        word = word.lstrip(b"\n")
        if word in wanted:
            yield f"word {number - 1}", word, np.frombuffer(rest[:size], "<f4").astype(np.float32)
    raise ModelError(f"{path} has more than {_MOST} words")


# --- Encoders in folders ---


@dataclass(frozen=True, eq=False)
class _FolderEncoder(ABC):
    """A :class:`TextEncoder` in a folder, which is a program: open only trusted ones."""

    engine: ClassVar[str]
    folder: Path
    checksum: str
    model: Any
    tokenizer: Any

    @property
    def origin(self) -> dict[str, str]:
        folder = str(self.folder.resolve())
        return {"engine": self.engine, "folder": folder, "checksum": self.checksum}

    @cached_property
    def width(self) -> int:
        return int(self.encode([["a"]]).vectors.shape[2])

    def encode(self, segments: Sequence[Sequence[str]]) -> EncodedTexts:
        words = [list(segment[:SEGMENT_WORDS]) or [""] for segment in segments]
        try:
            vectors, lengths = self._encode_words(words)
        except Exception as error:  # whatever the folder's model and tokenizer may do
            raise ModelError(f"the encoder in {self.folder} failed: {error}") from error
        return check_encoded(EncodedTexts(vectors, lengths), self.folder)

    @abstractmethod
    def _encode_words(self, words: list[list[str]]) -> tuple[Floats, Ints]:
        """Vectors of the pieces of each text, and the number of its pieces."""


# --- Encoders through ONNX Runtime ---


_MODEL, _TOKENIZER = 2_000_000_000, 100_000_000
"""Most bytes of each file."""
MAX_ENCODER_WIDTH = 8_192
_GROWTH = 1_000
"""How much longer the normaliser of a tokenizer may make a text."""
_OUTSIDE = "session.model_external_initializers_file_folder_path"
_KNOWN = ("input_ids", "attention_mask", "token_type_ids")


class OnnxEncoder(_FolderEncoder):
    """A :class:`TextEncoder` through ONNX Runtime, from model.onnx and tokenizer.json: the last
    layer for the pieces of the tokenizer, special ones included, at most 150.

    Both files are programs, which may loop or use all memory: open only trusted ones. Nothing is
    downloaded.
    """

    engine = "onnx"

    @classmethod
    def open(cls, folder: Path, expected: str | None = None) -> OnnxEncoder:
        """The encoder in a folder; ModelError if it has not the expected checksum."""
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ModelError("this encoder needs pip install honeyguide[onnx]") from error
        model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
        try:
            graph, rules = read_plain_file(model, _MODEL), read_plain_file(tokenizer, _TOKENIZER)
        except OSError as error:
            raise ModelError(f"{folder} has no encoder: {error}") from error
        digest = hashlib.sha256(graph + rules).hexdigest()
        check_encoder(folder, digest, expected)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # A graph may name files with its weights. Below a file, there are none.
        options.add_session_config_entry(_OUTSIDE, str(model))
        ready = set(onnxruntime.get_available_providers())
        order = [p for p in ("CUDAExecutionProvider", "CPUExecutionProvider") if p in ready]
        try:
            session = onnxruntime.InferenceSession(graph, options, providers=order)
            pieces = tokenizers.Tokenizer.from_buffer(rules)
            pieces.enable_truncation(SEGMENT_WORDS)
            pieces.no_padding()
            if pieces.normalizer is not None:
                _check_growth(json.loads(pieces.normalizer.__getstate__()))
        except Exception as error:  # both libraries raise bare Exceptions for damaged files
            raise ModelError(f"{folder} has no encoder that can be read: {error}") from error
        unknown = [i.name for i in session.get_inputs() if i.name not in _KNOWN]
        if unknown or not session.get_outputs():
            raise ModelError(f"{model} wants {', '.join(unknown)[:200]}, which no text has")
        found = cls(folder, digest, session, pieces)
        _ = found.width  # One that cannot read is told now.
        return found

    def _encode_words(self, words: list[list[str]]) -> tuple[Floats, Ints]:
        pieces = [one.ids for one in self.tokenizer.encode_batch(words, is_pretokenized=True)]
        lengths = np.array([len(ids) for ids in pieces], np.int64)
        wide = max(int(lengths.max(initial=0)), 1)
        if wide > SEGMENT_WORDS:
            raise ValueError("its tokenizer makes more pieces than it was asked for")
        ids = np.zeros((len(pieces), wide), np.int64)
        for row, one in zip(ids, pieces, strict=True):
            row[: len(one)] = one
        inputs = {
            "input_ids": ids,
            "attention_mask": (np.arange(wide) < lengths[:, None]).astype(np.int64),
            "token_type_ids": np.zeros_like(ids),
        }
        named = {one.name: inputs[one.name] for one in self.model.get_inputs()}
        first = self.model.get_outputs()[0].name
        return np.asarray(self.model.run([first], named)[0]), lengths


def _check_growth(normalizer: Any) -> None:
    """Refuse normalisers that replace short words by long ones again and again: they would fill all
    memory, and their library then ends the process."""
    growth, parts = 1.0, [normalizer]
    while parts:
        match parts.pop():
            case list(several):
                parts += several
            case dict(rule):
                parts += [part for part in rule.values() if isinstance(part, list | dict)]
                old, new = rule.get("pattern"), rule.get("content", rule.get("prepend"))
                short = len(str(old.get("String", ""))) if isinstance(old, dict) else 0
                growth *= max(1.0, len(str(new or "")) / (short or 1))
    if growth > _GROWTH:
        raise ValueError("its tokenizer makes texts too long")


def encoder_checksum(*files: tuple[Path, int]) -> str:
    """A checksum of the files; ModelError if one is missing or larger than its limit."""
    digest = hashlib.sha256()
    for path, most in files:
        try:
            with open_plain_file(path, most) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ModelError(f"{path.parent} has no encoder: {error}") from error
    return digest.hexdigest()


def check_encoder(folder: Path, digest: str, expected: str | None) -> None:
    """Compare the checksum before anything in the folder is used."""
    if expected is not None and digest != expected:
        raise ModelError(f"{folder} is not the encoder that the model was trained with")


def check_encoded(read: EncodedTexts, folder: Path) -> EncodedTexts:
    """Check that the vectors are finite, one for each piece."""
    vectors, lengths = read
    if (
        vectors.ndim != 3
        or vectors.dtype.kind != "f"
        or not 2 <= vectors.shape[2] <= MAX_ENCODER_WIDTH
    ):
        raise ModelError(f"the encoder in {folder} gives no vectors of words")
    if len(vectors) != len(lengths) or vectors.shape[1] < int(lengths.max(initial=0)):
        raise ModelError(f"the encoder in {folder} gives fewer vectors than there are words")
    if not np.isfinite(vectors).all():
        raise ModelError(f"the encoder in {folder} gives numbers that are not finite")
    return EncodedTexts(vectors.astype(np.float32), lengths)


# --- Encoders through transformers ---


_CONFIG, _TOKENIZER_FILE, _WEIGHTS = 1_000_000, 100_000_000, 8_000_000_000
"""Most bytes of each file."""
_ENDS = (".json", ".txt", ".model", ".jinja")


class TransformersEncoder(_FolderEncoder):
    """A :class:`TextEncoder` through transformers: the last hidden layer of any model that
    AutoModel knows (BERT, XLNet, …), on the GPU if there is one.

    Reads config.json, a tokenizer and model.safetensors. Nothing is downloaded, no code of the
    folder is run, and pickled weights are refused.
    """

    engine = "transformers"

    @classmethod
    def open(cls, folder: Path, expected: str | None = None) -> TransformersEncoder:
        """The encoder in a folder; ModelError if it has not the expected checksum."""
        # Read when huggingface_hub is imported: with it not even a question leaves the machine.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError as error:
            raise ModelError("this encoder needs pip install honeyguide[bert]") from error
        files = [(folder / "config.json", _CONFIG), (folder / "model.safetensors", _WEIGHTS)]
        files += [(path, _TOKENIZER_FILE) for path in _tokenizer_files(folder)]
        digest = encoder_checksum(*files)
        check_encoder(folder, digest, expected)
        local = {"local_files_only": True, "trust_remote_code": False}
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), use_fast=True, **local)
            model = AutoModel.from_pretrained(str(folder), use_safetensors=True, **local)
            model = model.eval().requires_grad_(False).to(torch_engine.torch_device())
        except Exception as error:  # it raises nearly everything for a damaged folder
            raise ModelError(f"{folder} has no encoder that can be read: {error}") from error
        found = cls(folder, digest, model, tokenizer)
        _ = found.width  # One that cannot read is told now.
        return found

    def _encode_words(self, words: list[list[str]]) -> tuple[Floats, Ints]:
        inputs = self.tokenizer(
            words,
            is_split_into_words=True,
            truncation=True,
            max_length=SEGMENT_WORDS,
            padding=True,
            padding_side="right",
            return_tensors="pt",
        ).to(self.model.device)
        vectors = self.model(**inputs).last_hidden_state.float().cpu().numpy()
        return vectors, inputs["attention_mask"].sum(dim=1).cpu().numpy().astype(np.int64)


def _tokenizer_files(folder: Path) -> list[Path]:
    """Files that a tokenizer may consist of."""
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix in _ENDS)
    except OSError as error:
        raise ModelError(f"{folder} has no encoder: {error}") from error
    return [path for path in found if path.name != "config.json"]
