"""What shards and their coordinator say to each other: small typed values in msgpack.

Everything may be said twice, and nothing depends on the order in which different speakers are
heard.
"""

from __future__ import annotations

import msgspec

from honeyguide.store.codec import clean
from honeyguide.types import Link, Url

COORDINATOR = -1
"""Where messages to the coordinator go."""


class _Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


# -- between shards --------------------------------------------------------------------------


class Letter(_Message, frozen=True):
    """Links to another shard's hosts: letters to it are numbered without gaps."""

    by: int
    to: int
    number: int
    data: bytes


class Heard(_Message, frozen=True):
    """All letters up to this one are committed where they belong."""

    by: int
    to: int
    number: int


class Borrow(_Message, frozen=True):
    """A robots.txt moved to your host: may I ask it once?"""

    by: int
    to: int
    host: str
    ticket: float = 0.0
    """When it was asked for: an answer to an older question counts no more."""


class Lent(_Message, frozen=True):
    """You may, and nobody else will until you give it back."""

    by: int
    to: int
    host: str
    ticket: float = 0.0


class Later(_Message, frozen=True):
    """Not before that time: it is left alone, or rests for long. Ask again then."""

    by: int
    to: int
    host: str
    until: float
    ticket: float = 0.0


class Returned(_Message, frozen=True):
    """It was asked, or not: let it rest for so long."""

    by: int
    to: int
    host: str
    rest: float


# -- from the coordinator ---------------------------------------------------------------------


class Allot(_Message, frozen=True):
    """So many visits you may have made, all in all; -1: as many as you like. Who has made more, or
    has more under way, keeps these."""

    visits: int
    turn: int = 0
    """Growing, so that an answer is known to be one to this."""


class Taught(_Message, frozen=True):
    """This generation decides from now on."""

    number: int
    data: bytes


class Said(_Message, frozen=True):
    """What people said of your pages."""

    labels: dict[Url, float]


class Sow(_Message, frozen=True):
    """Somebody wants these visited."""

    urls: list[Url]


class Gather(_Message, frozen=True):
    """Send visits after this one, at most so many."""

    after: int
    most: int


class Gathered(_Message, frozen=True):
    """The collection has your visits up to this one."""

    until: int


class Probe(_Message, frozen=True):
    """Say how you stand, and that you were asked."""

    round: int


class Stop(_Message, frozen=True):
    """Finish what is under way; your visits will be gathered."""

    reason: str


class Leave(_Message, frozen=True):
    """Nothing more is wanted of you."""


# -- to the coordinator ----------------------------------------------------------------------


class State(_Message, frozen=True):
    """How a shard stands."""

    shard: int
    visits: int
    pages: int
    relevant: int
    failures: int
    waiting: int
    busy: int
    sites: int
    generation: int
    allotted: int
    """As :class:`Allot` has it …"""
    turn: int
    """… and which one of them was the last."""
    made: int
    """Visits, those under way included."""
    hungry: bool
    """Nothing is allotted any more, and something waits."""
    committed: int
    """Number of its last visit in its journal."""
    letters: int
    """Written to others in this run …"""
    heard: int
    """… and taken in from them."""
    idle: str = ""
    """Why there is nothing to do; '': there is."""
    round: int = 0
    """The last probe that it heard."""
    now: Url | None = None
    next_at: float | None = None
    last_failure: str = ""
    hopeless: str = ""
    """Nothing but failures was seen: the last ones."""
    letter_bytes: int = 0
    """Of the letters that it wrote in this run …"""
    letter_links: int = 0
    """… and links in them."""
    unsaved: int = 0
    """On a cluster: visits in its journal that are not in the vault."""


class Kept(_Message, frozen=True):
    """On a cluster: how a shard stands with its vault."""

    shard: int
    epoch: int
    """How many owners it has had, this one included."""
    machine: str
    window: float
    """So many seconds of work are lost with a machine."""
    saved_at: float
    """Seconds since 1970; 0: not yet."""
    lost: int
    """Visits whose records in WARC files were lost with machines."""
    under_way: int
    """Letters that are not where they belong."""


class Bundle(_Message, frozen=True):
    """Visits: a :class:`~honeyguide.store.visit_transfer.Parcel`; empty if there are none."""

    shard: int
    first: int
    last: int
    data: bytes


class Ended(_Message, frozen=True):
    """The ring stands still."""

    shard: int
    trouble: str = ""
    """What broke, as a traceback; '': nothing."""
    error: str = ""
    """The name of one of our own errors, and …"""
    message: str = ""
    """… what it says."""
    warnings: tuple[str, ...] = ()


ToShard = (
    Letter | Heard | Borrow | Lent | Later | Returned
    | Allot | Taught | Said | Sow | Gather | Gathered | Probe | Stop | Leave
)  # fmt: skip
ToCoordinator = State | Kept | Bundle | Ended
Message = ToShard | ToCoordinator

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Message)
_LINKS = msgspec.msgpack.Decoder(list[tuple[float, Link]])


def encode(message: Message) -> bytes:
    return _ENCODER.encode(message)


def decode(data: bytes) -> Message:
    message: Message = _DECODER.decode(data)
    return message


def addressee(message: Message) -> int:
    """The shard that a message of a shard is for, or the coordinator."""
    if isinstance(message, Letter | Heard | Borrow | Lent | Later | Returned):
        return message.to
    return COORDINATOR


def pack(links: list[tuple[float, Link]]) -> bytes:
    """Links with their scores, as a letter has them."""
    try:
        return _ENCODER.encode(links)
    except UnicodeEncodeError:
        # A page can hold half a surrogate pair, which UTF-8 cannot.
        return _ENCODER.encode([(score, _sound(link)) for score, link in links])


def unpack(data: bytes) -> list[tuple[float, Link]]:
    return _LINKS.decode(data)


def _sound(link: Link) -> Link:
    return Link._make(clean(value) if isinstance(value, str) else value for value in link)
