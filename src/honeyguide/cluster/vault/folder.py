"""A vault in a folder: local, or on NFS or another file system that all machines mount.

Links are followed nowhere below the folder: somebody else may be able to write there, and a link
could make us read, publish or overwrite any file of ours.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from secrets import token_hex
from typing import ParamSpec, TypeVar

from honeyguide.cluster.vault.object_store import LARGEST, checked
from honeyguide.errors import ClusterError, ConfigError, Unreached

_CHUNK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

P = ParamSpec("P")
R = TypeVar("R")


def _told(work: Callable[P, R]) -> Callable[P, R]:
    """What the file system says, in our words."""

    @wraps(work)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return work(*args, **kwargs)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise ClusterError(
                    f"the vault holds a link or another odd thing where we keep our files "
                    f"({error}): somebody else put it there. Look at it, and take it away"
                ) from error
            raise Unreached(f"the vault's folder does not work: {error}") from error

    return wrapped


class Folder:
    """Objects are files. A temporary file is linked to its final name: atomic and exclusive, on
    NFS as well."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise ConfigError(
                f"there is no folder {path} for the vault; make it, or mount it, on every machine"
            )
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise ConfigError(f"the vault's folder {path} must be readable and writable for us")

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    @_told
    def create(self, name: str, data: bytes) -> bool:
        return self._make(name, lambda fd: _write(fd, data))

    @_told
    def upload(self, name: str, path: Path) -> bool:
        def copy(fd: int) -> None:
            with path.open("rb") as file:
                while piece := file.read(_CHUNK):
                    _write(fd, piece)

        return self._make(name, copy)

    def _make(self, name: str, fill: Callable[[int], None]) -> bool:
        with self._within(checked(name), make=True) as (at, last):
            temporary = f".{token_hex(12)}"
            fd = os.open(temporary, _WRITE, 0o644, dir_fd=at)
            try:
                fill(fd)
                os.fsync(fd)
                made = True
                try:
                    os.link(temporary, last, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
                except FileExistsError:
                    # NFS may send a request twice, and then the second finds what the first made.
                    made = os.fstat(fd).st_nlink == 2
            finally:
                os.close(fd)
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=at)
            os.fsync(at)
            return made

    @_told
    def read(self, name: str) -> bytes | None:
        fd = self._opened(name)
        if fd is None:
            return None
        with os.fdopen(fd, "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ClusterError(f"{name} in the vault is larger than anything we put there")
        return data

    def chunks(self, name: str) -> Iterator[bytes] | None:
        fd = _told(self._opened)(name)
        return None if fd is None else _pieces(fd)

    def _opened(self, name: str) -> int | None:
        try:
            with self._within(checked(name)) as (at, last):
                try:
                    fd = os.open(last, _READ, dir_fd=at)
                except FileNotFoundError:
                    # An NFS client may remember for a minute that a name was not there. After a
                    # change of our own in that folder it has to ask.
                    _stir(at)
                    fd = os.open(last, _READ, dir_fd=at)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise ClusterError(f"{name} in the vault is no plain file: somebody else put it there")
        return fd

    @_told
    def names(self, prefix: str) -> list[str]:
        try:
            with self._within(checked(prefix, folder=True) + "x") as (at, _):
                return sorted(_listed(at, prefix))
        except FileNotFoundError:
            return []

    @_told
    def delete(self, name: str) -> None:
        try:
            with self._within(checked(name)) as (at, last):
                os.unlink(last, dir_fd=at)
        except FileNotFoundError:
            return

    @contextmanager
    def _within(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that holds the object, open, and the object's name in there."""
        *folders, last = name.split("/")
        at = os.open(self.path, _FOLDER & ~os.O_NOFOLLOW)  # the user's own choice may be a link
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, 0o755, dir_fd=at)
                        os.fsync(at)
                below = os.open(folder, _FOLDER, dir_fd=at)
                os.close(at)
                at = below
            yield at, last
        finally:
            os.close(at)


def _stir(at: int) -> None:
    temporary = f".{token_hex(12)}"
    os.close(os.open(temporary, _WRITE, 0o644, dir_fd=at))
    os.unlink(temporary, dir_fd=at)


def _listed(at: int, prefix: str) -> Iterator[str]:
    _stir(at)  # for the reason given above
    with os.scandir(at) as found:
        for entry in found:
            if entry.name.startswith("."):
                continue  # half written, by somebody who may be dead
            if entry.is_dir(follow_symlinks=False):
                below = os.open(entry.name, _FOLDER, dir_fd=at)
                try:
                    yield from _listed(below, f"{prefix}{entry.name}/")
                finally:
                    os.close(below)
            else:
                yield prefix + entry.name


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _pieces(fd: int) -> Iterator[bytes]:
    with os.fdopen(fd, "rb") as file:
        while piece := file.read(_CHUNK):
            yield piece
