"""An object store in a bucket of Amazon S3, or of storage with the same interface.

The only file that knows obstore. Credentials are found by it where Amazon's own tools look for
them (AWS_ACCESS_KEY_ID and so on, or the machine's role); they pass through no hand of ours.
The storage must refuse to replace an object when asked to (``If-None-Match: *``), as S3, MinIO,
R2 and Ceph do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

from honeyguide.cluster.object_store import MAX_OBJECT_BYTES, checked_object_name
from honeyguide.errors import ClusterError, ConfigError, StorageUnreachable

try:
    import obstore
    from obstore import exceptions as errors
    from obstore.store import S3Store
except ImportError as error:
    raise ConfigError(
        "a vault in a bucket needs an extra: pip install 'honeyguide[cluster]'"
    ) from error

_AT_ONCE = 64_000_000
"""Files up to this size are sent in one request, from memory."""
_ABSENT = (FileNotFoundError, errors.NotFoundError)
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}


@contextmanager
def _translate_errors() -> Iterator[None]:
    """What the storage says, in our words."""
    try:
        yield
    except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
        raise ClusterError(
            "access to the bucket of the vault is denied: check AWS_ACCESS_KEY_ID and the "
            "rights to get, put, list and delete"
        ) from error
    except errors.NotSupportedError as error:
        raise ClusterError(f"this storage cannot hold a vault: {error}") from error
    except errors.BaseError as error:
        raise StorageUnreachable(
            f"the bucket of the vault did not answer: {_short_message(error)}"
        ) from error


class BucketStore:
    """Objects are objects. Creation is exclusive by the storage's own word."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._store = S3Store.from_url(
                url, retry_config=_RETRIES, copy_if_not_exists="multipart"
            )
        except (errors.BaseError, ValueError) as error:
            text = f"{url} cannot be used as a vault: {_short_message(error)}"
            raise ConfigError(text) from error
        self._check_bucket()

    def __repr__(self) -> str:
        return f"Bucket({self.url!r})"

    @_translate_errors()
    def _check_bucket(self) -> None:
        try:
            for _ in obstore.list(self._store, chunk_size=1):
                return
        except errors.BaseError as error:
            if "NoSuchBucket" in str(error):
                raise ConfigError(f"there is no bucket for {self.url}; make it first") from error
            raise

    @_translate_errors()
    def create(self, name: str, data: bytes) -> bool:
        return self._put_exclusive(checked_object_name(name), data)

    def _put_exclusive(self, name: str, data: bytes) -> bool:
        try:
            obstore.put(self._store, name, data, mode="create", use_multipart=False)
        except (errors.AlreadyExistsError, errors.PreconditionError):
            return False
        return True

    @_translate_errors()
    def read(self, name: str) -> bytes | None:
        found = self._get_object(checked_object_name(name))
        if found is None:
            return None
        if found.meta["size"] > MAX_OBJECT_BYTES:
            raise ClusterError(f"{name} in the vault is larger than anything Honeyguide writes")
        return bytes(found.bytes())

    @_translate_errors()
    def list_names(self, prefix: str) -> list[str]:
        listed = obstore.list(
            self._store, checked_object_name(prefix, folder=True), chunk_size=1000
        )
        names = [each["path"] for some in listed for each in some]
        return sorted(name for name in names if "/." not in name)

    @_translate_errors()
    def delete(self, name: str) -> None:
        try:
            obstore.delete(self._store, checked_object_name(name))
        except _ABSENT:
            return

    @_translate_errors()
    def upload(self, name: str, path: Path) -> bool:
        """A large file is sent in pieces to a name of its own first: only a copy within the
        storage can be both large and exclusive."""
        if path.stat().st_size <= _AT_ONCE:
            return self._put_exclusive(checked_object_name(name), path.read_bytes())
        folder, _, last = checked_object_name(name).rpartition("/")
        temporary = f"{folder}/.{last}-{token_hex(8)}"
        try:
            obstore.put(self._store, temporary, path)
            obstore.copy(self._store, temporary, name, overwrite=False)
        except (errors.AlreadyExistsError, errors.PreconditionError):
            return False
        finally:
            obstore.delete(self._store, temporary)
        return True

    def read_chunks(self, name: str) -> Iterator[bytes] | None:
        found = self._get_object(checked_object_name(name))
        return None if found is None else (bytes(piece) for piece in found.stream())

    @_translate_errors()
    def _get_object(self, name: str) -> Any:
        try:
            return obstore.get(self._store, name)
        except _ABSENT:
            return None


def _short_message(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
