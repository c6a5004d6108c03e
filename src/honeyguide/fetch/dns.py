"""DNS lookups on asyncio with a cache."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from honeyguide.errors import DnsError

if TYPE_CHECKING:
    import pycares

DnsLookup = Callable[[str], Awaitable[tuple[list[str], float]]]
"""A host's addresses and how many seconds they hold; raises DnsError."""

MIN_TTL_S: Final = 300.0
MAX_TTL_S: Final = 21_600.0
"""Answers are kept at least five minutes and at most six hours, whatever their TTL."""
FAILURE_TTL_S: Final = 60.0
"""Seconds for which a failed lookup is not repeated."""
MISSING_TTL_S: Final = 300.0
"""Seconds for which a name that does not exist is not looked up again."""
MAX_NAMES: Final = 10_000
MAX_ADDRESSES: Final = 8
"""Most addresses of one name that are tried."""


class NoSuchName(DnsError):
    """The name servers know that there is no such name, or no address for it."""


class _DnsAnswer(NamedTuple):
    expires: float
    addresses: tuple[str, ...]
    error: DnsError | None


class DnsResolver:
    """A cache in front of a lookup. Questions about one name at one time are asked once."""

    def __init__(
        self,
        lookup: DnsLookup | None = None,
        *,
        timeout_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ares = CaresLookup(timeout_s) if lookup is None else None
        self._lookup = lookup or self._ares
        self._timeout = timeout_s
        self._clock = clock
        self._known: OrderedDict[str, _DnsAnswer] = OrderedDict()
        self._asked: dict[str, asyncio.Task[_DnsAnswer]] = {}

    async def resolve(self, host: str) -> tuple[str, ...]:
        """The host's addresses; raises DnsError."""
        answer = self._known.get(host)
        if answer is None or answer.expires <= self._clock():
            task = self._asked.get(host)
            if task is None:
                task = asyncio.create_task(self._look_up(host))
                self._asked[host] = task
            # Shielded: others may wait for the same answer when this caller is cancelled.
            answer = await asyncio.shield(task)
        else:
            self._known.move_to_end(host)
        if answer.error is not None:
            raise type(answer.error)(host, answer.error.detail)
        return answer.addresses

    async def aclose(self) -> None:
        for task in list(self._asked.values()):
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
        if self._ares is not None:
            self._ares.close()

    async def _look_up(self, host: str) -> _DnsAnswer:
        assert self._lookup is not None
        error: DnsError | None = None
        addresses: list[str] = []
        try:
            async with asyncio.timeout(self._timeout):
                addresses, ttl = await self._lookup(host)
            keep = min(MAX_TTL_S, max(MIN_TTL_S, ttl))
            if not addresses:
                error, keep = NoSuchName(host, "the name has no address"), MISSING_TTL_S
        except NoSuchName as missing:
            error, keep = missing, MISSING_TTL_S
        except DnsError as trouble:
            error, keep = trouble, FAILURE_TTL_S
        except TimeoutError:
            error, keep = DnsError(host, f"no answer in {self._timeout:g} s"), FAILURE_TTL_S
        finally:
            self._asked.pop(host, None)
        answer = _DnsAnswer(self._clock() + keep, tuple(addresses[:MAX_ADDRESSES]), error)
        self._known[host] = answer
        self._known.move_to_end(host)
        if len(self._known) > MAX_NAMES:
            self._known.popitem(last=False)
        return answer


class CaresLookup:
    """Lookups by c-ares: the hosts file first, then the system's name servers."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout = timeout_s
        self._channel: pycares.Channel | None = None

    async def __call__(self, host: str) -> tuple[list[str], float]:
        import pycares  # slow to load, and addresses in numbers do without it

        loop = asyncio.get_running_loop()
        answered: asyncio.Future[tuple[Any, int | None]] = loop.create_future()

        def settle(result: Any, status: int | None) -> None:
            if not answered.done():
                answered.set_result((result, status))

        def arrived(result: Any, status: int | None) -> None:
            # Called on c-ares' own thread, perhaps after our loop was closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, result, status)

        try:
            if self._channel is None:
                self._channel = pycares.Channel(
                    flags=pycares.ARES_FLAG_NOSEARCH, timeout=max(1.0, self._timeout / 4), tries=3
                )
            self._channel.getaddrinfo(host, None, callback=arrived)
        except (pycares.AresError, RuntimeError, ValueError) as error:
            raise DnsError(host, str(error)) from error
        result, status = await answered
        if status is not None:
            text = _ascii_text(pycares.errno.strerror(status))
            if status in (pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA):
                raise NoSuchName(host, text)
            raise DnsError(host, text)
        found = {_ascii_text(node.addr[0]): node.ttl for node in result.nodes}
        return list(found), float(min(found.values(), default=0))

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _ascii_text(name: str | bytes) -> str:
    return name.decode("ascii") if isinstance(name, bytes) else name
