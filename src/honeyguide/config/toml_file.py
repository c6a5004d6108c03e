"""Reading a TOML file that may come from elsewhere: bounded, plain files only.

A file that is none, that is endless, or that would keep the parser busy for hours is a
:class:`ConfigError`, like one that is no TOML.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from honeyguide.errors import ConfigError

MAX_TOML_BYTES = 1_000_000
"""Bytes of a file."""
_MAX_KEY_PARTS = 200
_LONG_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MAX_KEY_PARTS}}}"""
).search
"""A dotted key: tomllib takes a time that grows with the square of its parts."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables in that file. Raises FileNotFoundError if there is none."""
    try:
        text = _read_bytes(path).decode("utf-8").replace("\r\n", "\n")
        if _LONG_KEY(text):
            raise ConfigError(f"{path} has a key of more than {_MAX_KEY_PARTS} parts")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise ConfigError(f"{path} is not valid TOML: {error}") from error
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ConfigError(f"{path} cannot be read: {why}") from error


def _read_bytes(path: Path) -> bytes:
    # A link could lead out of the collection; opening a pipe would wait for its other end.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError:
        if path.is_symlink():
            raise ConfigError(f"{path} is a link; put the file itself in its place") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError(f"{path} is not a plain file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_TOML_BYTES + 1)
    if len(content) > MAX_TOML_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_TOML_BYTES // 1_000_000} MB")
    return content


def path_exists(path: Path) -> bool:
    """Whether there is such a file or folder; a name that no file can have is none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
