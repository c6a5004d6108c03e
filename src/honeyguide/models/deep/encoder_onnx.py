"""A BERT-like encoder through ONNX Runtime, from a folder with model.onnx and tokenizer.json.

The only file that knows onnxruntime and tokenizers. Nothing is downloaded, and no other file is
read. Both files are programs, which may loop or ask for all memory: open only whom you trust.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models.deep.embedding import Read
from honeyguide.models.deep.plain_file import contents, opened
from honeyguide.models.deep.vocabulary import LENGTH

_MODEL, _TOKENIZER = 2_000_000_000, 100_000_000
"""Most bytes of each file."""
WIDEST = 8_192
_GROWTH = 1_000
"""How many times longer a tokenizer's normaliser may make a text."""
_OUTSIDE = "session.model_external_initializers_file_folder_path"
_KNOWN = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """An :class:`~honeyguide.models.deep.embedding.Encoder`: the last layer's vectors of the pieces
    that its tokenizer makes of the words, special ones included, 150 at most."""

    folder: Path
    checksum: str
    width: int
    session: Any
    tokenizer: Any

    @classmethod
    def open(cls, folder: Path, expected: str | None = None) -> OnnxEncoder:
        """The encoder in a folder, if its checksum is the expected one, should there be one."""
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ModelError("this encoder needs pip install honeyguide[onnx]") from error
        model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
        try:
            graph, rules = contents(model, _MODEL), contents(tokenizer, _TOKENIZER)
        except OSError as error:
            raise ModelError(f"{folder} has no encoder: {error}") from error
        digest = hashlib.sha256(graph + rules).hexdigest()
        known(folder, digest, expected)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # A graph may name files with its weights. Below a file, there are none.
        options.add_session_config_entry(_OUTSIDE, str(model))
        ready = set(onnxruntime.get_available_providers())
        order = [p for p in ("CUDAExecutionProvider", "CPUExecutionProvider") if p in ready]
        try:
            session = onnxruntime.InferenceSession(graph, options, providers=order)
            pieces = tokenizers.Tokenizer.from_buffer(rules)
            pieces.enable_truncation(LENGTH)
            pieces.no_padding()
            if pieces.normalizer is not None:
                _bounded(json.loads(pieces.normalizer.__getstate__()))
        except Exception as error:  # both libraries raise bare Exceptions for damaged files
            raise ModelError(f"{folder} has no encoder that can be read: {error}") from error
        unknown = [i.name for i in session.get_inputs() if i.name not in _KNOWN]
        if unknown or not session.get_outputs():
            raise ModelError(f"{model} wants {', '.join(unknown)[:200]}, which no text has")
        width = cls(folder, digest, 0, session, pieces).read([["a"]]).vectors.shape[2]
        return cls(folder, digest, width, session, pieces)

    @property
    def origin(self) -> dict[str, str]:
        return {"engine": "onnx", "folder": str(self.folder.resolve()), "checksum": self.checksum}

    def read(self, segments: Sequence[Sequence[str]]) -> Read:
        words = [list(segment[:LENGTH]) or [""] for segment in segments]
        try:
            pieces = [one.ids for one in self.tokenizer.encode_batch(words, is_pretokenized=True)]
            lengths = np.array([len(ids) for ids in pieces], np.int64)
            wide = max(int(lengths.max(initial=0)), 1)
            if wide > LENGTH:
                raise ValueError("its tokenizer makes more pieces than it was told to")
            ids = np.zeros((len(pieces), wide), np.int64)
            for row, one in zip(ids, pieces, strict=True):
                row[: len(one)] = one
            given = {
                "input_ids": ids,
                "attention_mask": (np.arange(wide) < lengths[:, None]).astype(np.int64),
                "token_type_ids": np.zeros_like(ids),
            }
            named = {one.name: given[one.name] for one in self.session.get_inputs()}
            first = self.session.get_outputs()[0].name
            vectors = np.asarray(self.session.run([first], named)[0])
        except Exception as error:  # whatever the model's graph and the tokenizer's rules may do
            raise ModelError(f"the encoder in {self.folder} failed: {error}") from error
        return sound(Read(vectors, lengths), self.folder)


def _bounded(normalizer: Any) -> None:
    """Whether texts stay texts: rules that put long words for short ones, one after the other,
    would fill all memory, and their library ends the process then."""
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


def checksum(*files: tuple[Path, int]) -> str:
    """Stands for the files; a ModelError where one is missing or larger than its limit."""
    digest = hashlib.sha256()
    for path, most in files:
        try:
            with opened(path, most) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ModelError(f"{path.parent} has no encoder: {error}") from error
    return digest.hexdigest()


def known(folder: Path, digest: str, expected: str | None) -> None:
    """Looked at before anything in the folder is believed."""
    if expected is not None and digest != expected:
        raise ModelError(f"{folder} is not the encoder that the model was trained with")


def sound(read: Read, folder: Path) -> Read:
    """Whether it is what an encoder gives: finite vectors, one a piece."""
    vectors, lengths = read
    if vectors.ndim != 3 or vectors.dtype.kind != "f" or not 2 <= vectors.shape[2] <= WIDEST:
        raise ModelError(f"the encoder in {folder} gives no vectors of words")
    if len(vectors) != len(lengths) or vectors.shape[1] < int(lengths.max(initial=0)):
        raise ModelError(f"the encoder in {folder} gives fewer vectors than there are words")
    if not np.isfinite(vectors).all():
        raise ModelError(f"the encoder in {folder} gives numbers that are not finite")
    return Read(vectors.astype(np.float32), lengths)
