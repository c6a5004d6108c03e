"""A vault: named objects on storage that all machines see. Made once, never changed.

Everything above rests on two promises: of several that create one name exactly one succeeds,
and who reads or lists sees all that was finished before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from honeyguide.errors import ClusterError, ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}(/[A-Za-z0-9][A-Za-z0-9._-]{0,127}){0,7}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")
LARGEST = 1 << 27
"""Bytes of the largest object that is read in one piece; larger ones only come as chunks."""


class Vault(Protocol):
    """All methods raise Unreached when the storage did not answer; a change may then have
    happened, may not have happened, and may even happen later."""

    def create(self, name: str, data: bytes) -> bool:
        """Make the object, whole or not at all. False: there is one of that name already."""

    def read(self, name: str) -> bytes | None:
        """The object's bytes; None: there is none now."""

    def names(self, prefix: str) -> list[str]:
        """All names in that folder (it ends in ``/``) and below, in order."""

    def delete(self, name: str) -> None:
        """Take the object away; fine if there is none."""

    def upload(self, name: str, path: Path) -> bool:
        """As :meth:`create`, from a file of any size."""

    def chunks(self, name: str) -> Iterator[bytes] | None:
        """An object of any size, piece by piece; None: there is none."""


def vault(place: str) -> Vault:
    """The vault at a folder (``/mnt/shared/crawl``) or in a bucket (``s3://bucket/prefix``)."""
    if place.startswith("s3://"):
        from honeyguide.cluster.vault.bucket import Bucket

        return _proved(Bucket(place), place)
    if _SCHEME.match(place):
        raise ConfigError(
            f"a vault is a folder that all machines see, or s3://bucket/prefix; not {place!r:.200}"
        )
    from honeyguide.cluster.vault.folder import Folder

    return _proved(Folder(Path(place)), place)


def _proved(vault: Vault, place: str) -> Vault:
    """Some storages accept the wish not to replace an object, and replace it."""
    name = f"probe/{token_hex(12)}"
    made = [vault.create(name, b"first"), vault.create(name, b"second")]
    kept = vault.read(name)
    vault.delete(name)
    if made != [True, False] or kept != b"first":
        raise ConfigError(
            f"{place} cannot hold a vault: it replaces what exists. Use a folder on a file system "
            "with hard links, or a storage that obeys If-None-Match"
        )
    return vault


def checked(name: str, *, folder: bool = False) -> str:
    """The name, if it cannot lead anywhere else; folders end in ``/``."""
    plain = name.removesuffix("/") if folder else name
    if not _NAME.fullmatch(plain) or (folder and not name.endswith("/")):
        raise ClusterError(f"{name!r:.200} is no name for something in a vault")
    return name
