"""A stranger's topic.toml does not choose where a key goes, nor what is asked at home."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from honeyguide.api.search import allow_engine as agree_to
from honeyguide.api.search import engine_problem
from honeyguide.config.settings import SearchSettings, Settings
from honeyguide.errors import ConfigError, SearchError
from honeyguide.search import credentials
from honeyguide.search.credentials import config_folder, is_private_url
from honeyguide.search.engines import configured_engine, make_engine, make_engine_fetcher
from tests.unit.engine_server import HOME, KEY, QUERY, Time, says, serving, settings

ENV = "HONEYGUIDE_THE_KEY"
FAR = SearchSettings(engine="brave", url="https://evil.example/x", key_env=ENV)
NEAR = SearchSettings(engine="searxng", url="http://127.0.0.1:8080/search", key_env="")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(ENV, KEY)
    return tmp_path / "config" / "honeyguide" / "engines.json"


def of(search: SearchSettings) -> Settings:
    return replace(HOME, search=search)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (FAR, ("https://evil.example", ENV)),
        (replace(FAR, engine="json", url="https://evil.example/?q={query}&k={key}"), (ENV,)),
        (replace(FAR, engine="json", url="https://evil.example/{query}", header="X"), (ENV,)),
        (replace(FAR, engine="searxng", header="X"), ("https://evil.example", ENV)),
        (NEAR, ("http://127.0.0.1:8080", "private network")),
        (replace(NEAR, url="http://intranet/search"), ("http://intranet",)),
        (replace(NEAR, url="http://wiki.corp/search"), ("http://wiki.corp",)),
        (replace(NEAR, url="http://[fd00::1]/search"), ("private network",)),
        (replace(NEAR, engine="json", url="http://192.168.1.1/reboot?x={query}"), ("192.168",)),
    ],
)
def test_nothing_is_asked_before_the_user_agreed(
    tmp_path: Path, search: SearchSettings, words: tuple[str, ...]
) -> None:
    problem = engine_problem(of(search), tmp_path)
    assert f"honeyguide queries allow {tmp_path}" in problem
    assert all(word in problem for word in words)
    assert KEY not in problem
    assert agree_to(of(search), tmp_path) is not None
    assert engine_problem(of(search), tmp_path) == ""


@pytest.mark.parametrize(
    "search",
    [
        replace(NEAR, url="https://searx.example/search"),
        replace(NEAR, url="https://searx.example/search", key_env=ENV),  # which is not sent
        replace(NEAR, engine="json", url="https://api.example/?q={query}", key_env=ENV),
        replace(FAR, engine="json", url="https://a.example/{query}", key_env=""),
    ],
)
def test_a_public_engine_without_a_key_needs_nobody(tmp_path: Path, search: SearchSettings) -> None:
    assert engine_problem(of(search), tmp_path) == ""


def test_it_holds_for_that_folder_engine_server_and_key_only(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    agree_to(of(FAR), folder)
    assert engine_problem(of(FAR), tmp_path / "link") == "", "the same folder"
    assert engine_problem(of(replace(FAR, url="https://evil.example/other")), folder) == ""
    for search in (
        replace(FAR, url="https://evil.example:8443/x"),
        replace(FAR, url="http://evil.example/x"),
        replace(FAR, url="https://more.evil.example/x"),
        replace(FAR, engine="searxng", header="X"),
    ):
        assert "queries allow" in engine_problem(of(search), folder)
    assert "queries allow" in engine_problem(of(FAR), tmp_path / "other")
    wanted = credentials.required_consent(replace(FAR, key_env="HONEYGUIDE_OTHER"), folder)
    assert not credentials.has_consent(wanted)


def test_the_lab_needs_nobody(tmp_path: Path, file: Path) -> None:
    lab = replace(HOME, search=NEAR, fetch=replace(HOME.fetch, lab="http://127.0.0.1:8787"))
    assert engine_problem(lab, tmp_path) == ""
    assert agree_to(lab, tmp_path) is None
    assert not file.exists()
    assert make_engine(FAR, None, Time(), lab=True, folder=tmp_path)  # type: ignore[arg-type]


def test_a_name_that_leads_home(tmp_path: Path) -> None:
    """Who is public by name may lead into the private network: asked before each connection."""
    with serving(says({"results": []})) as server:
        search = settings("searxng", server.origin)

        async def ask(folder: Path) -> int:
            fetcher = make_engine_fetcher(of(search), folder)
            try:
                engine = make_engine(search, fetcher, Time(), lab=True)
                assert engine is not None
                return len((await engine.search(QUERY, 1)).results)
            finally:
                await fetcher.aclose()

        with pytest.raises(SearchError, match="honeyguide queries allow NAME") as caught:
            asyncio.run(ask(tmp_path))
        assert (caught.value.kind, server.asked) == ("refused", [])
        agree_to(of(search), tmp_path)
        assert asyncio.run(ask(tmp_path)) == 0
        assert len(server.asked) == 1


def test_the_file_is_the_users_own(tmp_path: Path, file: Path) -> None:
    assert agree_to(of(FAR), tmp_path) == file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert KEY not in file.read_text()
    agree_to(of(FAR), tmp_path)
    assert len(json.loads(file.read_text())["agreed"]) == 1, "said twice, noted once"
    assert list(file.parent.iterdir()) == [file]
    file.chmod(0o666)
    with pytest.raises(ConfigError, match="chmod 600"):
        configured_engine(of(FAR), tmp_path, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"agreed": 1}', '{"agreed": [1]}', '{"agreed": [{"folder": "x"}]}', "\0",
     "[" * 100_000, '{"agreed": {}}', " " * 1_000_001, '"agreed"'],
)  # fmt: skip
def test_what_is_damaged_allows_nothing(tmp_path: Path, file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o600)
    for work in (
        lambda: configured_engine(of(FAR), tmp_path, None),  # type: ignore[arg-type]
        lambda: agree_to(of(FAR), tmp_path),
    ):
        with pytest.raises(ConfigError, match="Move it away") as caught:
            work()
        assert str(file) in str(caught.value)
    assert file.read_text() == text


def test_a_public_engine_does_without_the_file(tmp_path: Path, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("{")
    search = replace(NEAR, url="https://searx.example/search")
    fetcher = make_engine_fetcher(of(search), tmp_path)
    assert configured_engine(of(search), tmp_path, fetcher).name == "searxng"
    asyncio.run(fetcher.aclose())


def test_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", lost)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(ConfigError, match="XDG_CONFIG_HOME"):
        config_folder()


def test_what_cannot_be_written_is_told(tmp_path: Path, file: Path) -> None:
    file.parent.parent.write_text("not a folder")
    with pytest.raises(ConfigError, match="cannot be"):
        agree_to(of(FAR), tmp_path)


def test_many_agree_at_once(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / str(n) for n in range(8)]
    threads = [threading.Thread(target=agree_to, args=(of(FAR), folder)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(
        credentials.has_consent(credentials.required_consent(FAR, folder)) for folder in folders
    )
    monkeypatch.setattr(credentials, "MAX_CONSENTS", 3)
    agree_to(of(FAR), tmp_path / "last")
    kept = [one["folder"] for one in json.loads(file.read_text())["agreed"]]
    assert (len(kept), kept[-1]) == (3, str(tmp_path / "last")), "the oldest are forgotten"


@pytest.mark.parametrize(
    ("url", "ip", "hidden"),
    [
        ("https://a.example/", "", False),
        ("https://a.example/", "93.184.215.14", False),
        ("https://a.example/", "10.0.0.7", True),
        ("https://a.example/", "::1", True),
        ("http://93.184.215.14/", "", False),
        ("http://10.0.0.7/", "", True),
        ("http://[::ffff:127.0.0.1]/", "", True),
        ("http://localhost:8080/", "", True),
        ("http://wiki/", "", True),
        ("http://wiki.internal./", "", True),
        ("http://notlocal/", "", True),
        ("http://thelocal.se/", "", False),
        ("file://localhost/home/me/x.html", "", True),
    ],
)
def test_what_is_private(url: str, ip: str, hidden: bool) -> None:
    assert is_private_url(url, ip) is hidden


@pytest.mark.parametrize(
    ("url", "proxied", "warned"),
    [
        ("http://127.0.0.1:8080/", False, False),
        ("http://127.0.0.1:8080/", True, True),
        ("http://far.example/", False, True),
        ("https://far.example/", True, False),
    ],
)
def test_a_key_in_the_open(
    url: str, proxied: bool, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Through a proxy, what is meant for this machine goes through a network, too."""
    with caplog.at_level(logging.WARNING):
        make_engine(replace(FAR, url=url), None, Time(), proxied=proxied)  # type: ignore[arg-type]
    assert ("unencrypted" in caplog.text) is warned
    assert ("fetch.proxy" in caplog.text) is (warned and proxied)


def test_a_crawls_proxy_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    search = replace(FAR, url="http://127.0.0.1:8080/")
    through = replace(of(search), fetch=replace(HOME.fetch, proxy="http://10.1.1.1:3128"))
    agree_to(through, tmp_path)
    configured_engine(through, tmp_path, None)  # type: ignore[arg-type]
    assert "unencrypted through fetch.proxy" in caplog.text
