"""Models of categories, whichever kind they are: as a folder, and back.

A linear model is saved in the form that networks have (:mod:`honeyguide.models.deep.files`):
model.json beside a file of arrays, replaced at once, checked before it is believed, no pickle.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models.bag_of_words import KIND, Bags
from honeyguide.models.deep import files
from honeyguide.models.deep.files import checksum as checksum
from honeyguide.models.deep.model import CategoryModel

Categories = Bags | CategoryModel
"""What tells categories apart: judge, judge_many, strange, evidence; categories, settings, card."""

_HEAD = 16_000_000
_ARRAYS = 1_000_000_000


def save(model: Categories, folder: Path) -> None:
    """Write the model into a folder, in place of the one that is there."""
    if isinstance(model, CategoryModel):
        files.save(model, folder)
        return
    body = io.BytesIO()
    words = np.frombuffer(model.words.replace(" ", "\n").encode("utf-8", "replace"), np.uint8)
    tables = {"rarity": model.rarity, "weights": model.weights, "offsets": model.offsets}
    arrays = {name: table.astype(np.float32) for name, table in tables.items()}
    np.savez(body, allow_pickle=False, words=words, **arrays)
    data = body.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    name = f"arrays-{digest[:16]}.npz"
    head = {
        "format": files.FORMAT,
        "kind": KIND,
        "categories": list(model.categories),
        "settings": model.settings,
        "card": model.card,
        "arrays": {"file": name, "bytes": len(data), "sha256": digest},
    }
    try:
        header = json.dumps(head, ensure_ascii=False, indent=1, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"a model's settings and card must be plain JSON: {error}") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.put(folder / name, data)
        files.put(folder / "model.json", header)
        for old in folder.glob("arrays-*.npz"):
            if files.ARRAYS_NAME.fullmatch(old.name) and old.name != name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise ModelError(f"a model cannot be saved in {folder}: {error}") from error


def load(folder: Path, encoder: Path | None = None) -> Categories:
    """The model in a folder; ModelError if there is none, or it is damaged, or it needs an encoder,
    which is a program, and nobody named a folder with one."""
    head = _head(folder)
    if head.get("kind") != KIND:
        return files.load(folder, encoder)
    try:
        if head["format"] != files.FORMAT:
            raise ModelError(f"{folder} has a model of form {head['format']!a}")
        name, digest = head["arrays"]["file"], head["arrays"]["sha256"]
        if not files.ARRAYS_NAME.fullmatch(name):
            raise ValueError("its arrays have a strange name")
        data = files.read_bytes(folder / name, _ARRAYS)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError("its arrays are not those that were saved")
        arrays = files.unpacked(data)
        words = arrays["words"].tobytes().decode().replace("\n", " ")
        categories = files.texts(head["categories"])
        settings, card = files.plain(head["settings"]), files.plain(head["card"])
        rarity, weights, offsets = (arrays[key] for key in ("rarity", "weights", "offsets"))
        return Bags(categories, words, rarity, weights, offsets, settings, card)
    except files.DAMAGE as error:
        raise ModelError(f"the model in {folder} is damaged: {error}") from error


def _head(folder: Path) -> dict[str, Any]:
    data = files.read_bytes(folder / "model.json", _HEAD)
    try:
        return files.plain(json.loads(data))
    except files.DAMAGE as error:
        raise ModelError(f"the model in {folder} is damaged: {error}") from error
