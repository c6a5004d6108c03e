"""Object stores: named objects that are created once and never changed, and the implementation
in a shared folder.

Everything above rests on two promises: of several that create one name exactly one succeeds,
and who reads or lists sees all that was finished before.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from honeyguide.errors import ClusterError, ConfigError, StorageUnreachable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}(/[A-Za-z0-9][A-Za-z0-9._-]{0,127}){0,7}")
MAX_OBJECT_BYTES = 1 << 27
"""Bytes of the largest object that is read in one piece; larger ones only come as chunks."""


class ObjectStore(Protocol):
    """All methods raise Unreached when the storage did not answer; a change may then have
    happened, may not have happened, and may even happen later."""

    def create(self, name: str, data: bytes) -> bool:
        """Make the object, whole or not at all. False: there is one of that name already."""

    def read(self, name: str) -> bytes | None:
        """The object's bytes; None: there is none now."""

    def list_names(self, prefix: str) -> list[str]:
        """All names in that folder (it ends in ``/``) and below, in order."""

    def delete(self, name: str) -> None:
        """Take the object away; fine if there is none."""

    def upload(self, name: str, path: Path) -> bool:
        """As :meth:`create`, from a file of any size."""

    def read_chunks(self, name: str) -> Iterator[bytes] | None:
        """An object of any size, piece by piece; None: there is none."""


def checked_object_name(name: str, *, folder: bool = False) -> str:
    """The name, if it cannot lead anywhere else; folders end in ``/``."""
    plain = name.removesuffix("/") if folder else name
    if not _NAME.fullmatch(plain) or (folder and not name.endswith("/")):
        raise ClusterError(f"{name!r:.200} is not a valid name in a vault")
    return name


# -- Objects as files in a folder --
#
# Links are followed nowhere below the folder: somebody else may be able to write there, and a link
# could make us read, publish or overwrite any file of ours.


_CHUNK = 1 << 20
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def _translate_os_errors() -> Iterator[None]:
    """What the file system says, in our words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ClusterError(
                "the vault holds a link or another unexpected entry where Honeyguide keeps "
                f"its files ({error}): another program put it there. Check it and remove it"
            ) from error
        raise StorageUnreachable(f"the vault's folder does not work: {error}") from error


class FolderStore:
    """Objects are files. A temporary file is linked to its final name: atomic and exclusive, on
    NFS as well."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise ConfigError(
                f"there is no folder {path} for the vault; make it, or mount it, on every machine"
            )
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise ConfigError(
                f"the vault's folder {path} must be readable and writable for Honeyguide"
            )

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    @_translate_os_errors()
    def create(self, name: str, data: bytes) -> bool:
        return self._create_file(name, lambda fd: _write_all(fd, data))

    @_translate_os_errors()
    def upload(self, name: str, path: Path) -> bool:
        def copy(fd: int) -> None:
            with path.open("rb") as file:
                while piece := file.read(_CHUNK):
                    _write_all(fd, piece)

        return self._create_file(name, copy)

    def _create_file(self, name: str, fill: Callable[[int], None]) -> bool:
        with self._open_parent(checked_object_name(name), make=True) as (at, last):
            temporary = f".{token_hex(12)}"
            fd = os.open(temporary, _WRITE_FLAGS, 0o644, dir_fd=at)
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

    @_translate_os_errors()
    def read(self, name: str) -> bytes | None:
        fd = self._open_object(name)
        if fd is None:
            return None
        with os.fdopen(fd, "rb") as file:
            data = file.read(MAX_OBJECT_BYTES + 1)
        if len(data) > MAX_OBJECT_BYTES:
            raise ClusterError(f"{name} in the vault is larger than anything Honeyguide writes")
        return data

    def read_chunks(self, name: str) -> Iterator[bytes] | None:
        with _translate_os_errors():
            fd = self._open_object(name)
        return None if fd is None else _read_pieces(fd)

    def _open_object(self, name: str) -> int | None:
        try:
            with self._open_parent(checked_object_name(name)) as (at, last):
                try:
                    fd = os.open(last, _READ_FLAGS, dir_fd=at)
                except FileNotFoundError:
                    # An NFS client may remember for a minute that a name was not there. After a
                    # change of our own in that folder it has to ask.
                    _refresh_nfs_cache(at)
                    fd = os.open(last, _READ_FLAGS, dir_fd=at)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise ClusterError(
                f"{name} in the vault is not a plain file: another program put it there"
            )
        return fd

    @_translate_os_errors()
    def list_names(self, prefix: str) -> list[str]:
        try:
            with self._open_parent(checked_object_name(prefix, folder=True) + "x") as (at, _):
                return sorted(_list_objects(at, prefix))
        except FileNotFoundError:
            return []

    @_translate_os_errors()
    def delete(self, name: str) -> None:
        try:
            with self._open_parent(checked_object_name(name)) as (at, last):
                os.unlink(last, dir_fd=at)
        except FileNotFoundError:
            return

    @contextmanager
    def _open_parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that holds the object, open, and the object's name in there."""
        *folders, last = name.split("/")
        at = os.open(
            self.path, _FOLDER_FLAGS & ~os.O_NOFOLLOW
        )  # the user's own choice may be a link
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, 0o755, dir_fd=at)
                        os.fsync(at)
                below = os.open(folder, _FOLDER_FLAGS, dir_fd=at)
                os.close(at)
                at = below
            yield at, last
        finally:
            os.close(at)


def _refresh_nfs_cache(at: int) -> None:
    temporary = f".{token_hex(12)}"
    os.close(os.open(temporary, _WRITE_FLAGS, 0o644, dir_fd=at))
    os.unlink(temporary, dir_fd=at)


def _list_objects(at: int, prefix: str) -> Iterator[str]:
    _refresh_nfs_cache(at)  # for the reason given above
    with os.scandir(at) as found:
        for entry in found:
            if entry.name.startswith("."):
                continue  # half written, by somebody who may be dead
            if entry.is_dir(follow_symlinks=False):
                below = os.open(entry.name, _FOLDER_FLAGS, dir_fd=at)
                try:
                    yield from _list_objects(below, f"{prefix}{entry.name}/")
                finally:
                    os.close(below)
            else:
                yield prefix + entry.name


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read_pieces(fd: int) -> Iterator[bytes]:
    with os.fdopen(fd, "rb") as file:
        while piece := file.read(_CHUNK):
            yield piece
