"""A BERT-like encoder through transformers, from a folder with config.json, a tokenizer and
model.safetensors. The only file that knows transformers. Nothing is downloaded, no code of the
folder is run, and weights that are pickled are refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models.deep import with_torch
from honeyguide.models.deep.embedding import Read
from honeyguide.models.deep.encoder_onnx import checksum, known, sound
from honeyguide.models.deep.vocabulary import LENGTH

_CONFIG, _TOKENIZER, _WEIGHTS = 1_000_000, 100_000_000, 8_000_000_000
"""Most bytes of each file."""
_ENDS = (".json", ".txt", ".model", ".jinja")


@dataclass(frozen=True, eq=False)
class TransformersEncoder:
    """An :class:`~honeyguide.models.deep.embedding.Encoder`: the last hidden layer of any model
    that AutoModel knows (BERT, XLNet, …), on the GPU where there is one."""

    folder: Path
    checksum: str
    width: int
    model: Any
    tokenizer: Any

    @classmethod
    def open(cls, folder: Path, expected: str | None = None) -> TransformersEncoder:
        """The encoder in a folder, if its checksum is the expected one, should there be one."""
        # Read when huggingface_hub is imported: with it not even a question leaves the machine.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError as error:
            raise ModelError("this encoder needs pip install honeyguide[bert]") from error
        files = [(folder / "config.json", _CONFIG), (folder / "model.safetensors", _WEIGHTS)]
        files += [(path, _TOKENIZER) for path in _others(folder)]
        digest = checksum(*files)
        known(folder, digest, expected)
        here = {"local_files_only": True, "trust_remote_code": False}
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), use_fast=True, **here)
            model = AutoModel.from_pretrained(str(folder), use_safetensors=True, **here)
            model = model.eval().requires_grad_(False).to(with_torch.device())
        except Exception as error:  # it raises nearly everything for a damaged folder
            raise ModelError(f"{folder} has no encoder that can be read: {error}") from error
        width = cls(folder, digest, 0, model, tokenizer).read([["a"]]).vectors.shape[2]
        return cls(folder, digest, width, model, tokenizer)

    @property
    def origin(self) -> dict[str, str]:
        folder = str(self.folder.resolve())
        return {"engine": "transformers", "folder": folder, "checksum": self.checksum}

    def read(self, segments: Sequence[Sequence[str]]) -> Read:
        words = [list(segment[:LENGTH]) or [""] for segment in segments]
        try:
            given = self.tokenizer(
                words,
                is_split_into_words=True,
                truncation=True,
                max_length=LENGTH,
                padding=True,
                padding_side="right",
                return_tensors="pt",
            ).to(self.model.device)
            vectors = self.model(**given).last_hidden_state.float().cpu().numpy()
            lengths = given["attention_mask"].sum(dim=1).cpu().numpy().astype(np.int64)
        except Exception as error:  # whatever the folder's model may do
            raise ModelError(f"the encoder in {self.folder} failed: {error}") from error
        return sound(Read(vectors, lengths), self.folder)


def _others(folder: Path) -> list[Path]:
    """What tokenizers may be made of, by many names; a pipe among them must not be opened."""
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix in _ENDS)
    except OSError as error:
        raise ModelError(f"{folder} has no encoder: {error}") from error
    return [path for path in found if path.name != "config.json"]
