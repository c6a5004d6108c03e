"""Hosts that are lent to another shard: a robots.txt may have moved to a host that lives there.

Whoever wants it asks its owner, who lends it when it is rested and leaves it alone meanwhile; so no
host is ever asked by two at once. A loan that does not come back is taken back after a time in
which every request is long over.
"""

from __future__ import annotations

from collections.abc import Callable

from honeyguide.cluster.messages import Borrow, Later, Lent, Returned
from honeyguide.frontier.frontier import LinkFrontier

_ASK_S = 0.25
"""When to come again for a host that was asked for."""
_UNUSED_S = 20.0
"""A host that was lent and not wanted any more goes back."""
_SOON_S = 5.0
"""Who wants a host that is not ready by then is told when it will be."""
_PATIENCE_S = 10.0
"""An owner that did not answer is asked again."""


class Loans:
    def __init__(
        self,
        here: int,
        own: LinkFrontier,
        longest_s: float,
        send: Callable[[Borrow | Lent | Later | Returned], None],
        note: Callable[[list[str]], None] | None = None,
        lend: Callable[[Lent], None] | None = None,
    ) -> None:
        """``longest_s``: no request takes longer. On a cluster, ``note`` writes down which hosts
        are lent, for who comes after us, and ``lend`` says so once that is safe."""
        self._here = here
        self._own = own
        self._lost_s = 2 * longest_s + _UNUSED_S
        self._send = send
        self._note = note or (lambda _: None)
        self._tell = lend or send
        self._asked: dict[str, float] = {}
        self._later: dict[str, float] = {}
        """Hosts that are not to be had before a time."""
        self._have: dict[str, tuple[int, float]] = {}
        """Hosts that we may ask, whose they are, and since when."""
        self._used: dict[str, int] = {}
        self._wanted: dict[str, dict[int, float]] = {}
        """Hosts of ours that others wait for, and their tickets."""
        self._lent: dict[str, tuple[int, float]] = {}

    @property
    def settled(self) -> bool:
        """Nothing is lent or borrowed, and nobody waits for an answer."""
        return not (self._asked or self._have or self._used or self._wanted or self._lent)

    # -- who borrows -------------------------------------------------------------------------

    def take(self, host: str, owner: int, now: float) -> float:
        """0 when the host is ours for one request, else when to ask again."""
        if host in self._have:
            by, since = self._have.pop(host)
            if now - since <= _UNUSED_S:
                self._used[host] = by
                return 0.0
            self._send(Returned(self._here, by, host, 0.0))  # its owner may have it back by now
        if (until := self._later.get(host, 0.0)) > now:
            return until
        self._later.pop(host, None)
        if now - self._asked.get(host, float("-inf")) > _PATIENCE_S:
            self._asked[host] = now
            self._send(Borrow(self._here, owner, host, now))
        return now + _ASK_S

    def got(self, message: Lent) -> None:
        if self._asked.get(message.host) != message.ticket:
            # It answers what we, or one before us, asked long ago: who knows whose it is by now.
            if not any(message.host in known for known in (self._asked, self._have, self._used)):
                self._send(Returned(self._here, message.by, message.host, 0.0))
            return
        del self._asked[message.host]
        self._have[message.host] = message.by, message.ticket

    def told(self, message: Later) -> None:
        if self._asked.get(message.host) == message.ticket:
            del self._asked[message.host]
            self._later[message.host] = message.until

    def give_back(self, host: str, rest: float) -> None:
        owner = self._used.pop(host, None)
        if owner is not None:
            self._send(Returned(self._here, owner, host, rest))

    def recall(self, hosts: list[str], now: float) -> None:
        """Hosts that one before us had lent: they are left alone until whoever has them is done."""
        for host in hosts:
            self._own.park(host, now + self._lost_s)

    # -- who lends ---------------------------------------------------------------------------

    def asked(self, message: Borrow, now: float) -> None:
        lent = self._lent.get(message.host)
        if lent is not None and lent[0] == message.by:
            self._lent[message.host] = message.by, now
            self._tell(Lent(self._here, message.by, message.host, message.ticket))  # it was lost
            return
        self._wanted.setdefault(message.host, {})[message.by] = message.ticket
        self._lend(message.host, now)

    def returned(self, message: Returned, now: float) -> None:
        lent = self._lent.get(message.host)
        if lent is not None and lent[0] == message.by:
            del self._lent[message.host]
            self._note(list(self._lent))
            self._own.release(message.host, now, message.rest)

    def lend(self, now: float) -> None:
        """Lend what is rested by now: who waits for a host goes before our own links."""
        for host in list(self._wanted):
            self._lend(host, now)

    def tick(self, now: float) -> None:
        """Lend what is rested by now; take back, and give back, what nobody needs."""
        self.lend(now)
        for host, (_, since) in list(self._lent.items()):
            if now - since > self._lost_s:
                del self._lent[host]
                self._own.release(host, now, 0.0)
        for host, at in list(self._asked.items()):
            if now - at > self._lost_s:
                del self._asked[host]  # nobody answered, and nobody here asked again
        for host, (owner, since) in list(self._have.items()):
            if now - since > _UNUSED_S:
                del self._have[host]
                self._send(Returned(self._here, owner, host, 0.0))

    def _lend(self, host: str, now: float) -> None:
        if host in self._lent:
            return
        if at := self._own.take(host, now):
            if at - now > _SOON_S:
                for to, ticket in self._wanted.pop(host).items():
                    self._send(Later(self._here, to, host, at, ticket))
            return
        to = next(iter(self._wanted[host]))
        ticket = self._wanted[host].pop(to)
        if not self._wanted[host]:
            del self._wanted[host]
        self._lent[host] = to, now
        self._note(list(self._lent))
        self._tell(Lent(self._here, to, host, ticket))
