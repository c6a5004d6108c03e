"""Engines from elsewhere, the one in the manual among them."""

from __future__ import annotations

import asyncio
import re
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.settings import SearchSettings
from honeyguide.errors import ConfigError
from honeyguide.search import engines
from honeyguide.search.credentials import ApiKey
from honeyguide.search.engine import SearchEngine
from honeyguide.search.http_client import EngineHttpClient
from honeyguide.types import Request, Response
from tests.unit.engine_server import KEY, QUERY, Time


class Plugin:
    name = "mine"
    negatives = False
    price = 0.0

    def __init__(self, settings: SearchSettings, line: EngineHttpClient) -> None:
        self.line = line


def test_an_engine_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        EntryPoint("mine", f"{__name__}:Plugin", "honeyguide.engines"),
        EntryPoint("gone", "no.such.module:Engine", "honeyguide.engines"),
    ]
    monkeypatch.setattr(engines, "_plugin_engines", lambda: EntryPoints(entries))
    assert engines.engine_names() == ["brave", "gone", "json", "mine", "searxng"]
    made: Any = engines.make_engine(SearchSettings(engine="mine"), None, Time())  # type: ignore[arg-type]
    assert isinstance(made, Plugin)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        engines.make_engine(SearchSettings(engine="gone"), None, Time())  # type: ignore[arg-type]


class Canned:
    async def fetch(self, request: Request) -> Response:
        assert dict(request.headers)["X-Key"] == KEY
        body = b'{"hits":[{"url":"http://a.test/","text":"as the manual says"}]}'
        return Response(request.url, 200, (), body, body, b"", b"", "", 0.0, 0.0)

    async def aclose(self) -> None:
        pass


def test_the_engine_in_the_manual() -> None:
    manual = Path(__file__).parents[2] / "docs" / "reference" / "search-engines.md"
    (code,) = re.findall(r"```python\n(.*?)```", manual.read_text("utf-8"), re.DOTALL)
    room: dict[str, Any] = {}
    exec(code, room)
    engine: SearchEngine = room["Mine"](
        SearchSettings(), EngineHttpClient(Canned(), Time(), key=ApiKey(KEY))
    )
    (result,) = asyncio.run(engine.search(QUERY, 2)).results
    assert result.snippet == "as the manual says"
    assert engine.address(QUERY, 2) == "https://mine.example/?q=lupus+%22living+with%22&p=2"
