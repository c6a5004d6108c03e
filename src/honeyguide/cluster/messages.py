"""Messages between shards and their coordinator, encoded with msgpack, and the outbox that
delivers batches of links reliably.

Every message may arrive twice, and nothing depends on the order of messages from different
senders.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from honeyguide.config.settings import Settings
from honeyguide.errors import HoneyguideError
from honeyguide.links.host_trust import SiteNews
from honeyguide.run_status import RunStatus
from honeyguide.store.codec import replace_surrogates
from honeyguide.store.shards import ShardMessageTable
from honeyguide.types import Link, Url

COORDINATOR = -1
"""Where messages to the coordinator go."""


class ShardPlan(msgspec.Struct, frozen=True):
    """The settings of one shard."""

    shard: int
    shards: int
    folder: str
    """Its own."""
    warc: str
    """Where WARC files go."""
    settings: Settings
    generation: int
    strategy: bytes
    mark: str = ""
    """By which the shard and its collection know each other."""
    suffixes: str = ""
    """Which list of public suffixes says what a domain is."""
    files: tuple[str, ...] = ()
    """WARC files that the collection has: on a cluster they lie elsewhere."""


class _Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class _PeerMessage(_Message, frozen=True):
    """From one shard to another."""

    by: int
    to: int


# -- between shards --------------------------------------------------------------------------


class LinkBatch(_PeerMessage, frozen=True):
    """A batch of links to another shard's hosts, numbered without gaps."""

    number: int
    data: bytes


class LinkBatchAck(_PeerMessage, frozen=True):
    """All batches up to this number are committed by the receiver."""

    number: int


class LeaseRequest(_PeerMessage, frozen=True):
    """A robots.txt moved to your host: may I ask it once?"""

    host: str
    ticket: float = 0.0
    """When it was asked for: an answer to an older question counts no more."""


class LeaseGrant(_PeerMessage, frozen=True):
    """You may, and nobody else will until you give it back."""

    host: str
    ticket: float = 0.0


class LeaseDeferral(_PeerMessage, frozen=True):
    """Not before that time: it is left alone, or rests for long. Ask again then."""

    host: str
    until: float
    ticket: float = 0.0


class LeaseReturn(_PeerMessage, frozen=True):
    """It was asked, or not: let it rest for so long."""

    host: str
    rest: float


# -- between shards and their coordinator, who passes it on --------------------------------------


class SiteUpdate(_Message, frozen=True):
    """What was learned of sites, for the trust in them."""

    news: SiteNews


# -- from the coordinator ---------------------------------------------------------------------


class VisitGrant(_Message, frozen=True):
    """So many visits you may have made, all in all; -1: as many as you like. Who has made more, or
    has more under way, keeps these."""

    visits: int
    turn: int = 0
    """Growing, so that an answer is known to be one to this."""


class GenerationUpdate(_Message, frozen=True):
    """This generation decides from now on."""

    number: int
    data: bytes


class LabelUpdate(_Message, frozen=True):
    """New labels of pages of the shard."""

    labels: dict[Url, float]


class SeedUpdate(_Message, frozen=True):
    """New seeds."""

    urls: list[Url]


class VisitSyncRequest(_Message, frozen=True):
    """Send visits after this one, at most so many."""

    after: int
    most: int


class VisitSyncAck(_Message, frozen=True):
    """The collection has your visits up to this one."""

    until: int


class TerminationProbe(_Message, frozen=True):
    """Say how you stand, and that you were asked."""

    round: int


class StopRequest(_Message, frozen=True):
    """Finish running visits; they will be collected."""

    reason: str


class ExitRequest(_Message, frozen=True):
    """End the process."""


# -- to the coordinator ----------------------------------------------------------------------


class ShardState(RunStatus, frozen=True, array_like=True, tag=True, kw_only=True):
    """How a shard stands, and what the coordinator's protocols need to know of it."""

    shard: int
    allotted: int = 0
    """Visits allowed by the last :class:`VisitGrant`."""
    turn: int = 0
    """The turn of the last :class:`VisitGrant`."""
    made: int = 0
    """Visits, those under way included."""
    hungry: bool = False
    """Nothing is allotted any more, and something waits."""
    committed: int = 0
    """Number of its last visit in its journal."""
    letters: int = 0
    """Link batches sent to other shards in this run."""
    heard: int = 0
    """Link batches received from other shards in this run."""
    idle: str = ""
    """Why there is nothing to do; '': there is."""
    round: int = 0
    """The last probe that it received."""
    hopeless: str = ""
    """Nothing but failures was seen: the last ones."""
    letter_bytes: int = 0
    """Bytes of the link batches sent in this run."""
    letter_links: int = 0
    """Links in the link batches sent in this run."""
    unsaved: int = 0
    """On a cluster: visits in its journal that are not in the vault."""


class CheckpointStatus(_Message, frozen=True):
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
    """Batches that are not acknowledged."""


class ShardVisits(_Message, frozen=True):
    """Visits: a :class:`~honeyguide.store.shards.VisitTransferBatch`; empty if there are
    none."""

    shard: int
    first: int
    last: int
    data: bytes


class ShardEnded(_Message, frozen=True):
    """The crawl loop of a shard ended."""

    shard: int
    trouble: str = ""
    """What broke, as a traceback; '': nothing."""
    error: str = ""
    """Name of the exception class, if it is one of Honeyguide's."""
    message: str = ""
    """Message of that exception."""
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_error(cls, shard: int, error: Exception) -> ShardEnded:
        """What broke a shard; call it where the error is caught."""
        trouble = traceback.format_exc()
        if isinstance(error, HoneyguideError):
            return cls(shard, trouble, type(error).__name__, str(error))
        return cls(shard, trouble)


ToShard = (
    LinkBatch | LinkBatchAck | LeaseRequest | LeaseGrant | LeaseDeferral | LeaseReturn
    | VisitGrant | GenerationUpdate | LabelUpdate | SeedUpdate | VisitSyncRequest | VisitSyncAck
    | TerminationProbe | StopRequest | ExitRequest | SiteUpdate
)  # fmt: skip
ToCoordinator = ShardState | CheckpointStatus | ShardVisits | ShardEnded | SiteUpdate
Message = ToShard | ToCoordinator

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Message)
_LINKS_DECODER = msgspec.msgpack.Decoder(list[tuple[float, Link]])


def encode_message(message: Message) -> bytes:
    return _ENCODER.encode(message)


def decode_message(data: bytes) -> Message:
    message: Message = _DECODER.decode(data)
    return message


def message_recipient(message: Message) -> int:
    """The shard that a message of a shard is for, or the coordinator."""
    return message.to if isinstance(message, _PeerMessage) else COORDINATOR


def pack_links(links: list[tuple[float, Link]]) -> bytes:
    """Encode links with their scores for a batch."""
    try:
        return _ENCODER.encode(links)
    except UnicodeEncodeError:
        # A page can hold half a surrogate pair, which UTF-8 cannot.
        return _ENCODER.encode([(score, _clean_link(link)) for score, link in links])


def unpack_links(data: bytes) -> list[tuple[float, Link]]:
    return _LINKS_DECODER.decode(data)


def _clean_link(link: Link) -> Link:
    return Link._make(
        replace_surrogates(value) if isinstance(value, str) else value for value in link
    )


# -- Outbox of link batches --
#
# A batch is written in the transaction that writes its pages, sent when that is committed, and
# stored until the receiver acknowledges that it committed the batch. A window of batches is in
# flight to each shard; the others wait on disk.


IN_FLIGHT_WINDOW = 8
"""Batches to one shard that may be sent and not acknowledged."""
RESEND_S = 15.0
"""Seconds after which an unacknowledged batch is sent again."""
BACKLOG_LIMIT = 512
"""Batches that wait for one shard before ours slows down."""

DROP_TOGETHER = 64
"""Acknowledged batches that are deleted together, because each deletion costs a transaction."""


@dataclass(slots=True)
class _InFlight:
    """Numbers of the batches to one shard."""

    written: int
    sent: int
    heard: int
    """The last batch that is acknowledged."""
    dropped: int
    """The last batch that is deleted."""
    since: float = 0.0
    """When the oldest unacknowledged batch was sent."""


@dataclass
class LinkOutbox:
    here: int
    shards: int
    letters: ShardMessageTable
    send: Callable[[LinkBatch | LinkBatchAck], None]
    window: int = IN_FLIGHT_WINDOW
    again_s: float = RESEND_S

    def __post_init__(self) -> None:
        self._ways: dict[int, _InFlight] = {}
        for shard in range(self.shards):
            if shard != self.here:
                kept = self.letters.messages_after(shard, 0, 1)
                newest = self.letters.last_number(shard)
                heard = kept[0][0] - 1 if kept else newest
                self._ways[shard] = _InFlight(newest, heard, heard, heard)
        self._heard = self.letters.received_numbers()
        self._fresh: dict[int, int] = {}
        """Number of the last batch from each shard that is received and not committed."""
        self._answers: dict[int, int] = {}
        self.written = self.taken = self.bytes = 0
        """Letters of this run: to others, and from others; and bytes of the first."""

    @property
    def is_settled(self) -> bool:
        """Whether every sent batch is acknowledged and every received one committed."""
        return not self._fresh and all(way.heard == way.written for way in self._ways.values())

    @property
    def unacknowledged(self) -> int:
        """Batches that are not acknowledged."""
        return sum(way.written - way.heard for way in self._ways.values())

    @property
    def is_full(self) -> bool:
        """Whether another shard does not keep up."""
        return any(way.written - way.heard > BACKLOG_LIMIT for way in self._ways.values())

    def queue_batch(self, shard: int, data: bytes) -> None:
        """Store a batch, inside the transaction of its pages."""
        way = self._ways[shard]
        self.letters.add_message(shard, way.written + 1, data)
        way.written += 1
        self.written += 1
        self.bytes += len(data)

    def is_next_batch(self, by: int, number: int) -> bool:
        """Whether this batch is the next one from that shard; an older one is
        acknowledged again."""
        known = self._heard.get(by, 0)
        if number <= known:
            if by not in self._fresh:
                self.send(LinkBatchAck(self.here, by, known))
            return False
        # If the one before it was lost, both will come again.
        return number == known + 1

    def mark_received(self, by: int, number: int) -> None:
        """Its links are in the frontier, to be written with the next transaction."""
        self._heard[by] = self._fresh[by] = number
        self.taken += 1

    def record_ack(self, by: int, number: int, now: float) -> None:
        way = self._ways[by]
        if way.heard < number <= way.written:
            way.heard = number
            way.sent = max(way.sent, number)
            way.since = now
            self.send_pending(now)

    def flush(self) -> None:
        """Store what was received and what was acknowledged, inside a transaction."""
        for shard, number in self._fresh.items():
            self.letters.mark_received(shard, number)
        if sum(way.heard - way.dropped for way in self._ways.values()) >= DROP_TOGETHER:
            for shard, way in self._ways.items():
                if way.heard > way.dropped:
                    self.letters.delete_until(shard, way.heard)
                    way.dropped = way.heard
        self._answers, self._fresh = self._fresh, {}

    def confirm_flush(self, now: float) -> None:
        """It is committed: say so, and send what was written."""
        answers, self._answers = self._answers, {}
        for shard, number in answers.items():
            self.send(LinkBatchAck(self.here, shard, number))
        self.send_pending(now)

    def send_pending(self, now: float) -> None:
        """Send what the windows allow, and again what was not acknowledged in time."""
        for shard, way in self._ways.items():
            if way.sent > way.heard and now - way.since > self.again_s:
                way.sent = way.heard
            room = self.window - (way.sent - way.heard)
            if way.sent == way.written or room <= 0:
                continue
            if way.sent == way.heard:
                way.since = now
            for number, data in self.letters.messages_after(shard, way.sent, room):
                self.send(LinkBatch(self.here, shard, number, data))
                way.sent = number
