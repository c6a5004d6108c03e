"""Files of a stranger: only plain ones are opened, and none beyond its limit."""

from __future__ import annotations

import os
from errno import EFBIG, EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO


def opened(path: Path, most: int) -> BinaryIO:
    """To be read; an OSError if it is anything but a file, or has more bytes than that."""
    # Without O_NONBLOCK, opening a pipe would wait for somebody at its other end.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(number)
        if not S_ISREG(found.st_mode):
            raise OSError(EINVAL, "it is no plain file", str(path))
        if found.st_size > most:
            raise OSError(EFBIG, "it is too large", str(path))
        return os.fdopen(number, "rb")
    except OSError:
        os.close(number)
        raise


def contents(path: Path, most: int) -> bytes:
    """All of a plain file that is not too large."""
    with opened(path, most) as file:
        return file.read(most)
