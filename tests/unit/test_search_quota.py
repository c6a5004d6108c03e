"""The month's account: counted before a request leaves, for all processes together."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.settings import SearchSettings
from honeyguide.errors import ConfigError, SearchError
from honeyguide.search import engines
from honeyguide.search.credentials import ApiKey
from honeyguide.search.http_client import MonthlyQuota, MonthlyUsage, state_file
from tests.unit.engine_server import KEY, QUERY, Says, Time, ask, says, serving, settings, use

MARCH = datetime(2026, 3, 31, 23, 59, 0, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HONEYGUIDE_THE_KEY", KEY)
    return tmp_path / "state" / "honeyguide" / "spending.sqlite"


def account(
    path: Path, most: int = 0, key: str = "some-key", time: Time | None = None
) -> MonthlyQuota:
    return MonthlyQuota(path, "brave", ApiKey(key), most, time or Time(MARCH))


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    assert state_file() == Path("/s/honeyguide/spending.sqlite")
    usual = Path.home() / ".local/state/honeyguide/spending.sqlite"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert state_file() == usual
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_file() == usual


def test_a_month(home: Path) -> None:
    time = Time(MARCH)
    one = account(home, 2, time=time)
    assert one.current_usage() == MonthlyUsage("2026-03")
    assert one.count_request(0.5) == MonthlyUsage("2026-03", 1, 0.5)
    assert account(home, 2).count_request(0.5).requests == 2, "another collection of the same user"
    with pytest.raises(SearchError, match="2026-03") as caught:
        one.count_request(0.5)
    assert (caught.value.kind, caught.value.wait) == ("spent", 60.0)
    assert "search.per_month allows 2" in caught.value.detail
    assert one.current_usage() == MonthlyUsage("2026-03", 2, 1.0)
    assert account(home, 2, "other-key").count_request(0.0).requests == 1
    assert account(home).count_request(0.0).requests == 3, "without a limit it is still counted"
    time.now += 60
    assert one.count_request(0.5) == MonthlyUsage("2026-04", 1, 0.5)


def test_it_is_nobody_elses_business(home: Path) -> None:
    old = os.umask(0)
    try:
        account(home, key="some-secret-key").count_request(1.0)
    finally:
        os.umask(old)
    assert stat.S_IMODE(home.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700
    assert b"some-secret" not in home.read_bytes()


def test_many_at_once(home: Path) -> None:
    """However many ask, no more than the budget is let through."""
    passed: list[MonthlyUsage] = []
    refused: list[str] = []

    def work() -> None:
        for _ in range(10):
            try:
                passed.append(account(home, 25).count_request(1.0))
            except SearchError as error:
                refused.append(error.kind)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(spent.requests for spent in passed) == list(range(1, 26))
    assert refused == ["spent"] * 35
    assert account(home).current_usage().requests == 25


def _damage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def _odd(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("UPDATE spending SET requests = 'many'")
    file.close()


def _other(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE spending (x)")
    file.close()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [_damage, _odd, _other, _folder])
def test_damage_stops_the_spending(home: Path, damage: Any) -> None:
    account(home, 5).count_request(0.0)
    damage(home)
    with pytest.raises(SearchError) as caught:
        account(home, 5).count_request(0.0)
    assert (caught.value.kind, caught.value.wait) == ("spent", float("inf"))
    assert str(home) in caught.value.detail
    assert "move it away" in caught.value.detail
    with serving(says({"results": []})) as server:
        search = settings("brave", server.origin, per_month=5)
        if damage is _odd:
            with sqlite3.connect(home) as file:
                file.execute("DELETE FROM salt")
                file.execute("INSERT INTO salt VALUES (1, 'x')")
            file.close()
        with pytest.raises(ConfigError, match=r"spending\.sqlite"):
            ask(search)
        assert server.asked == []


def test_damage_in_the_middle_of_a_run(home: Path) -> None:
    with serving(says({"results": []})) as server:

        async def work(engine: Any) -> None:
            await engine.search(QUERY, 1)
            _damage(home)
            with pytest.raises(SearchError, match="cannot be counted"):
                await engine.search(QUERY, 2)

        use(settings("brave", server.origin, price=5.0), work)
        assert len(server.asked) == 1


def test_every_try_is_counted_before_it_leaves(home: Path) -> None:
    seen: list[int] = []
    with serving(Says(status=500)) as server:
        search = settings("brave", server.origin, per_month=4, price=5.0)

        async def work(engine: Any) -> None:
            assert engine.price == 0.005
            for kind in ("down", "spent"):
                with pytest.raises(SearchError) as caught:
                    await engine.search(QUERY, 1)
                assert caught.value.kind == kind
                seen.append(len(server.asked))
                time.now += 60

        time = Time()
        use(search, work, time)
    # Three tries, and the fourth request of the month.
    assert seen == [3, 4]
    spending = engines.make_quota(search, time)
    assert spending is not None
    assert spending.current_usage().requests == 4
    assert spending.current_usage().cost == pytest.approx(0.02)


def test_nothing_is_opened_without_a_budget_or_in_the_lab(home: Path) -> None:
    with serving(says({"results": []})) as server:
        ask(settings("searxng", server.origin))
        search = settings("brave", server.origin, per_month=1, price=1.0)
        use(search, lambda engine: engine.search(QUERY, 1), lab=True)
    assert not home.parent.exists()
    free = SearchSettings(engine="searxng", url="http://a.test/", key_env="HONEYGUIDE_THE_KEY")
    assert engines.make_quota(free, Time()) is None, "its key is not sent"


def test_whoever_uses_the_key_is_counted(home: Path) -> None:
    """Also where no budget is set, and whatever the engine is called: the bill is one."""
    with serving(says({"web": {"results": []}, "results": []})) as server:
        plain = settings("brave", server.origin)
        other = settings("json-header", server.origin, per_month=3)
        ask(plain)
        ask(other)
        limited = settings("brave", server.origin, per_month=3)
        ask(limited)
        for search in (limited, other):
            with pytest.raises(SearchError, match="3 requests"):
                ask(search)
        assert len(server.asked) == 3
        elsewhere = settings("brave", "http://other.test", per_month=3)
        assert engines.make_quota(elsewhere, Time()).current_usage().requests == 0  # type: ignore[union-attr]


def test_two_questions_at_once_take_turns(home: Path) -> None:
    with serving(says({"results": []}, delay=0.05)) as server:
        time = Time()

        async def work(engine: Any) -> None:
            await asyncio.gather(engine.search(QUERY, 1), engine.search(QUERY, 2))

        use(settings("brave", server.origin, per_minute=30, per_month=9), work, time)
        assert len(server.asked) == 2
    assert time.slept == [2.0]
