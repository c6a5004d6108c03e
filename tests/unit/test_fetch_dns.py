from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from honeyguide.errors import DnsError
from honeyguide.fetch import dns
from honeyguide.fetch.dns import DnsResolver, NoSuchName


class Names:
    """A lookup with a script and a count."""

    def __init__(self, ttl: float = 600.0) -> None:
        self.ttl = ttl
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def __call__(self, host: str) -> tuple[list[str], float]:
        self.asked.append(host)
        if self.gate is not None:
            await self.gate.wait()
        if host.startswith("no."):
            raise NoSuchName(host, "not found")
        if host.startswith("sick."):
            raise DnsError(host, "server failure")
        return ([] if host.startswith("empty.") else ["192.0.2.1"] * 20), self.ttl


def clock(times: list[float]) -> Callable[[], float]:
    return lambda: times[-1]


@pytest.mark.parametrize(("ttl", "keeps"), [(0, 300), (1000, 1000), (10**9, 21_600)])
def test_answers_are_kept_for_their_clamped_ttl(ttl: float, keeps: float) -> None:
    names, times = Names(ttl), [0.0]
    resolver = DnsResolver(names, clock=clock(times))

    async def main() -> None:
        assert await resolver.resolve("a.test") == ("192.0.2.1",) * dns.MAX_ADDRESSES
        times.append(keeps - 1)
        await resolver.resolve("a.test")
        assert names.asked == ["a.test"]
        times.append(keeps)
        await resolver.resolve("a.test")
        assert names.asked == ["a.test", "a.test"]
        await resolver.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "keeps"), [("no.test", 300), ("empty.test", 300), ("sick.test", 60)]
)
def test_failures_are_remembered_too(host: str, keeps: float) -> None:
    names, times = Names(), [0.0]
    resolver = DnsResolver(names, clock=clock(times))

    async def main() -> None:
        for now, asked in ((0.0, 1), (keeps - 1, 1), (keeps, 2)):
            times.append(now)
            with pytest.raises(DnsError) as caught:
                await resolver.resolve(host)
            assert caught.value.detail
            assert len(names.asked) == asked

    asyncio.run(main())


def test_one_question_at_a_time_and_a_cancelled_asker_harms_nobody() -> None:
    names = Names()

    async def main() -> None:
        names.gate = asyncio.Event()
        resolver = DnsResolver(names)
        first, second = (asyncio.create_task(resolver.resolve("a.test")) for _ in range(2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        names.gate.set()
        assert (await second)[0] == "192.0.2.1"
        with pytest.raises(asyncio.CancelledError):
            await first
        assert names.asked == ["a.test"]
        await resolver.aclose()

    asyncio.run(main())


def test_silence_is_a_dns_error() -> None:
    async def main() -> None:
        names = Names()
        names.gate = asyncio.Event()
        resolver = DnsResolver(names, timeout_s=0.01)
        with pytest.raises(DnsError, match="no answer"):
            await resolver.resolve("a.test")

    asyncio.run(main())


def test_closing_ends_what_is_asked() -> None:
    async def main() -> None:
        names = Names()
        names.gate = asyncio.Event()
        resolver = DnsResolver(names)
        asking = asyncio.create_task(resolver.resolve("a.test"))
        await asyncio.sleep(0)
        await resolver.aclose()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(main())


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "MAX_NAMES", 3)
    names = Names()
    resolver = DnsResolver(names)

    async def main() -> None:
        for host in ("a", "b", "c", "a", "d", "a", "b"):
            await resolver.resolve(host)

    asyncio.run(main())
    assert names.asked == ["a", "b", "c", "d", "b"]


def test_c_ares_reads_the_hosts_file() -> None:
    async def main() -> None:
        resolver = DnsResolver(timeout_s=5)
        try:
            assert "127.0.0.1" in await resolver.resolve("localhost")
        finally:
            await resolver.aclose()

    asyncio.run(main())
