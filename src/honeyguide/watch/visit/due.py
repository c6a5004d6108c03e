"""A page that is due, and what came of its revisit: the values that enter and leave the flow."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, Literal, NamedTuple, TypeVar

from honeyguide.types import Failure, Response, Url

Found = TypeVar("Found")

OutcomeState = Literal["unchanged", "changed", "aside", "failed", "later"]
"""``aside``: an answer that is no page (gone, moved, refused, trouble); ``later``: not asked, since
its host must not be asked before :attr:`RevisitOutcome.retry_at`."""


class DuePage(NamedTuple):
    """A page to revisit, with what is known of its last version."""

    url: Url
    key: int = 0
    """Whatever the caller knows it by."""
    etag: str = ""
    modified: str = ""
    """Validators, as its server sent them."""
    digest: bytes = b""
    """Of its last body, by :func:`body_digest`; empty: there is none."""
    size: int = 0
    """Bytes of its last body."""


@dataclass(frozen=True, slots=True)
class RevisitOutcome(Generic[Found]):
    page: DuePage
    state: OutcomeState
    at: float
    """When the request went out; for one that was not asked, now."""
    status: int = 0
    elapsed: float = 0.0
    etag: str = ""
    modified: str = ""
    """Validators for the next time; also learned from a page that did not change."""
    digest: bytes = b""
    response: Response | None = None
    """As it came; None if nothing did."""
    found: Found | None = None
    """What the comparison said of a changed body."""
    failure: Failure | None = None
    retry_at: float = 0.0
    validator_lied: bool = False
    """The body changed under an unchanged validator: do not send this page's any more."""

    @property
    def size(self) -> int:
        """Bytes that its response holds."""
        if self.response is None:
            return 0
        body, payload = self.response.body, self.response.payload
        return len(body) + (0 if payload is body else len(payload))


def body_digest(body: bytes) -> bytes:
    """Sixteen bytes by which two bodies are told apart."""
    return blake2b(body, digest_size=16).digest()
