"""Are learned arrays what they claim to be? A saved model may come from a stranger, and numpy and
scipy believe every index that they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from honeyguide.errors import ModelError

_LARGE = 1e30
"""Weights beyond this come from no lesson, and their products are not finite."""


def numbers(what: str, *arrays: Any) -> None:
    """One-dimensional arrays of finite numbers."""
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "fiub":
            raise ModelError(f"{what} is damaged: it lacks a row of numbers")
        if array.dtype.kind == "f" and not (np.abs(array) < _LARGE).all():
            raise ModelError(f"{what} is damaged: not all of its numbers are finite")


def places(what: str, array: Any, size: int) -> None:
    """Whole numbers that count from 0 to less than ``size``."""
    numbers(what, array)
    if array.dtype.kind not in "iu" or (len(array) and not 0 <= array.min() <= array.max() < size):
        raise ModelError(f"{what} is damaged: it points beyond its end")


def starts(what: str, array: Any, rows: int, entries: int) -> None:
    """Where each of so many rows begins among so many entries; one more for the end."""
    places(what, array, entries + 1)
    fits = len(array) == rows + 1 and array[0] == 0 and array[-1] == entries
    if not fits or (np.diff(array.astype(np.int64)) < 0).any():
        raise ModelError(f"{what} is damaged: its rows do not fit together")


def equal(what: str, *lengths: int) -> None:
    if len(set(lengths)) > 1:
        raise ModelError(f"{what} is damaged: its parts are not equally long")
