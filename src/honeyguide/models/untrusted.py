"""Checks of arrays and files from strangers.

numpy and scipy trust every index that they are given, so saved arrays are checked before they are
used. Only regular files up to a size are opened.
"""

from __future__ import annotations

import os
from errno import EFBIG, EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import numpy as np

from honeyguide.errors import ModelError

_LARGE = 1e30
"""Larger weights come from no training, and their products are not finite."""


def check_numbers(what: str, *arrays: Any) -> None:
    """Check for one-dimensional arrays of finite numbers."""
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "fiub":
            raise ModelError(f"{what} is damaged: it lacks a row of numbers")
        if array.dtype.kind == "f" and not (np.abs(array) < _LARGE).all():
            raise ModelError(f"{what} is damaged: not all of its numbers are finite")


def check_places(what: str, array: Any, size: int) -> None:
    """Check for whole numbers from 0 to less than ``size``."""
    check_numbers(what, array)
    if array.dtype.kind not in "iu" or (len(array) and not 0 <= array.min() <= array.max() < size):
        raise ModelError(f"{what} is damaged: it points beyond its end")


def check_starts(what: str, array: Any, rows: int, entries: int) -> None:
    """Check for the starts of so many rows among so many entries, and the end."""
    check_places(what, array, entries + 1)
    fits = len(array) == rows + 1 and array[0] == 0 and array[-1] == entries
    if not fits or (np.diff(array.astype(np.int64)) < 0).any():
        raise ModelError(f"{what} is damaged: its rows do not fit together")


def check_lengths(what: str, *lengths: int) -> None:
    if len(set(lengths)) > 1:
        raise ModelError(f"{what} is damaged: its parts are not equally long")


# --- Files ---


def open_plain_file(path: Path, most: int) -> BinaryIO:
    """Open for reading; OSError if it is no regular file or larger than ``most`` bytes."""
    # Without O_NONBLOCK, opening a pipe would wait for somebody at its other end.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(number)
        if not S_ISREG(found.st_mode):
            raise OSError(EINVAL, "it is not a plain file", str(path))
        if found.st_size > most:
            raise OSError(EFBIG, "it is too large", str(path))
        return os.fdopen(number, "rb")
    except OSError:
        os.close(number)
        raise


def read_plain_file(path: Path, most: int) -> bytes:
    """All bytes of a regular file that is not too large."""
    with open_plain_file(path, most) as file:
        return file.read(most)
