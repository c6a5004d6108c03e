"""Hosts that are lent to another shard: a robots.txt may have moved to a host that lives there.

Whoever wants it asks its owner, who lends it when it is rested and leaves it alone meanwhile; so no
host is ever asked by two at once. A loan that does not come back is taken back after a time in
which every request is long over.
"""

from __future__ import annotations

from collections.abc import Callable

from honeyguide.cluster.messages import Borrow, Lent, Returned
from honeyguide.frontier.frontier import LinkFrontier

_ASK_S = 0.25
"""When to come again for a host that was asked for."""
_UNUSED_S = 20.0
"""A host that was lent and not wanted any more goes back."""
_PATIENCE_S = 10.0
"""An owner that did not answer is asked again."""


class Loans:
    def __init__(
        self,
        here: int,
        own: LinkFrontier,
        longest_s: float,
        send: Callable[[Borrow | Lent | Returned], None],
    ) -> None:
        """``longest_s``: no request takes longer."""
        self._here = here
        self._own = own
        self._lost_s = 2 * longest_s + _UNUSED_S
        self._send = send
        self._asked: dict[str, float] = {}
        self._have: dict[str, tuple[int, float]] = {}
        """Hosts that we may ask, whose they are, and since when."""
        self._used: dict[str, int] = {}
        self._wanted: dict[str, list[int]] = {}
        """Hosts of ours that others wait for."""
        self._lent: dict[str, tuple[int, float]] = {}

    # -- who borrows -------------------------------------------------------------------------

    def take(self, host: str, owner: int, now: float) -> float:
        """0 when the host is ours for one request, else when to ask again."""
        if host in self._have:
            self._used[host] = self._have.pop(host)[0]
            return 0.0
        if now - self._asked.get(host, float("-inf")) > _PATIENCE_S:
            self._asked[host] = now
            self._send(Borrow(self._here, owner, host))
        return now + _ASK_S

    def got(self, message: Lent, now: float) -> None:
        self._asked.pop(message.host, None)
        self._have[message.host] = message.by, now

    def give_back(self, host: str, rest: float) -> None:
        owner = self._used.pop(host, None)
        if owner is not None:
            self._send(Returned(self._here, owner, host, rest))

    # -- who lends ---------------------------------------------------------------------------

    def asked(self, message: Borrow, now: float) -> None:
        lent = self._lent.get(message.host)
        if lent is not None and lent[0] == message.by:
            self._send(Lent(self._here, message.by, message.host))  # it did not arrive
            return
        waiting = self._wanted.setdefault(message.host, [])
        if message.by not in waiting:
            waiting.append(message.by)
        self._lend(message.host, now)

    def returned(self, message: Returned, now: float) -> None:
        lent = self._lent.get(message.host)
        if lent is not None and lent[0] == message.by:
            del self._lent[message.host]
            self._own.release(message.host, now, message.rest)

    def tick(self, now: float) -> None:
        """Lend what is rested by now; take back, and give back, what nobody needs."""
        for host in list(self._wanted):
            self._lend(host, now)
        for host, (_, since) in list(self._lent.items()):
            if now - since > self._lost_s:
                del self._lent[host]
                self._own.release(host, now, 0.0)
        for host, (owner, since) in list(self._have.items()):
            if now - since > _UNUSED_S:
                del self._have[host]
                self._send(Returned(self._here, owner, host, 0.0))

    def _lend(self, host: str, now: float) -> None:
        if host in self._lent or self._own.take(host, now):
            return
        to = self._wanted[host].pop(0)
        if not self._wanted[host]:
            del self._wanted[host]
        self._lent[host] = to, now
        self._send(Lent(self._here, to, host))
