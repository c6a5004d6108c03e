"""A language model behind any API that speaks OpenAI's chat protocol: Ollama, llama.cpp, vLLM, or a
service that is paid for. Limits, the month's account and the key are kept here.

What a question may cost at most is counted before it leaves, and corrected by the answer's own
count of tokens, so that a crash or a silent server never makes the account too small.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from honeyguide import __version__
from honeyguide.config.settings import Settings, TeacherSettings
from honeyguide.errors import ConfigError, SearchError
from honeyguide.fetch.http import CurlFetcher, make_user_agent
from honeyguide.protocols import Fetcher
from honeyguide.search import credentials, http_client
from honeyguide.search.credentials import EngineConsent
from honeyguide.search.engine import field_at, list_entries, parse_json_answer, text_value
from honeyguide.types import Url
from honeyguide.url import site_origin

EXAMPLE_URL = "http://localhost:11434/v1"
_TABLE = "teacher"
_ANSWER_TOKENS = 400
"""Most tokens of an answer; also what an answer is taken to cost before it is there."""
_CHARS_PER_TOKEN = 2.0
"""ASCII characters of a token, at the least, where nobody counted; further bytes are tokens."""
_MAX_TOKENS = 10_000_000
_MAX_ANSWER_CHARS = 20_000
_MODEL_CHARS = 200
_USAGE = ("prompt", "completion")
_HINTS = {
    401: "the key is wrong or missing",
    404: "teacher.url usually ends in /v1, and teacher.model must be a model that the server has",
}


class ChatAnswer(NamedTuple):
    """What the model said, and what that cost."""

    text: str
    tokens_in: int
    tokens_out: int
    counted: bool
    """Whether the server counted the tokens; else they are estimated from above."""
    cost: float


class ChatModel:
    """One model at one address; :meth:`ask_question` raises SearchError, and never tells the key.

    ``folder``: the collection's, for which the user must have agreed to the address if it gets a
    key or lies in a private network; raises ConfigError.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        clock: Callable[[], float],
        fetcher: Fetcher | None = None,
    ) -> None:
        teacher = check_teacher(settings)
        key = credentials.load_api_key(teacher, folder, _TABLE)
        self._url = _completions_url(teacher, key)
        wanted = teacher_consent(teacher, folder)
        command = f"honeyguide teach {shlex.quote(str(folder))} --allow"
        credentials.check_consent(wanted, bool(key), "teacher.url", command)
        if key:
            http_client.warn_unencrypted_key(
                wanted.origin, proxied=bool(settings.fetch.proxy), table=_TABLE
            )
        self._settings = teacher
        self._key = key
        self._clock = clock
        self._quota = http_client.MonthlyQuota(
            http_client.state_file(), wanted.origin, key, teacher.per_month, clock,
            most_cost=teacher.most_cost, table=_TABLE,
        )  # fmt: skip
        self._fetcher = fetcher or _make_fetcher(settings, private=wanted.is_private)
        self._client = http_client.EngineHttpClient(
            self._fetcher, clock, key=key, per_minute=teacher.per_minute, backoff=()
        )
        self._plain = False
        """Whether the server refuses to be told that the answer is JSON."""

    @property
    def model_name(self) -> str:
        return self._settings.model

    def month_usage(self) -> http_client.MonthlyUsage:
        """What all collections with this key asked and paid this month; raises ConfigError."""
        return self._quota.current_usage()

    async def ask_question(self, system: str, question: str) -> ChatAnswer:
        """One question, one answer, which should be a JSON object."""
        try:
            return await self._ask_once(system, question)
        except SearchError as error:
            if self._plain or error.kind != "refused" or "it answered 400" not in error.detail:
                raise
        self._plain = True  # older servers do not know response_format
        return await self._ask_once(system, question)

    def redact_key(self, text: str) -> str:
        """What the model said, without the key."""
        return self._key.redact(text)

    async def aclose(self) -> None:
        await self._fetcher.aclose()

    async def _ask_once(self, system: str, question: str) -> ChatAnswer:
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": question},
            ],
            "temperature": 0,
            "max_tokens": _ANSWER_TOKENS,
            "stream": False,
        }
        if not self._plain:
            body["response_format"] = {"type": "json_object"}
        headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
        if self._key:
            headers.append(("Authorization", f"Bearer {self._key.reveal()}"))
        likely_in = _most_tokens(system + question)
        most = self._price(likely_in, _ANSWER_TOKENS)
        month = self._quota.count_request(most).month
        cost = most
        try:
            answer = await self._client.fetch_results(
                self._url, _read_answer, tuple(headers), hints=_HINTS,
                body=msgspec.json.encode(body),
            )  # fmt: skip
            if not answer.counted:
                answer = answer._replace(tokens_in=likely_in, tokens_out=_ANSWER_TOKENS)
            cost = self._price(answer.tokens_in, answer.tokens_out)
        except SearchError as error:
            # Who does not answer in time, or answers nonsense, may charge for it all the same.
            cost = most if error.kind in ("slow", "garbage") else 0.0
            raise
        finally:
            self._quota.correct_cost(month, cost - most)
        return answer._replace(text=self.redact_key(answer.text), cost=cost)

    def _price(self, tokens_in: int, tokens_out: int) -> float:
        table = self._settings
        return (tokens_in * table.price_in + tokens_out * table.price_out) / 1_000_000


def _most_tokens(text: str) -> int:
    """Tokens of a text, at the most: tokenizers fall back to bytes."""
    return int(len(text) / _CHARS_PER_TOKEN) + len(text.encode()) - len(text) + 20


def check_teacher(settings: Settings) -> TeacherSettings:
    """The table ``[teacher]``; raises ConfigError if no model can be asked by it."""
    teacher = settings.teacher
    if not teacher.url:
        raise ConfigError(
            "no model is set: write url and model under [teacher] in topic.toml, such as\n"
            f'  [teacher]\n  url = "{EXAMPLE_URL}"\n  model = "llama3.2"'
        )
    if not 0 < len(teacher.model) <= _MODEL_CHARS or not teacher.model.isprintable():
        raise ConfigError("teacher.model: name the model, as the server at teacher.url calls it")
    if teacher.timeout_s <= 0 or teacher.page_chars < 1:
        raise ConfigError("teacher.timeout_s and teacher.page_chars must be more than 0")
    return teacher


def teacher_consent(teacher: TeacherSettings, folder: Path) -> EngineConsent:
    """What the user must have agreed to: this collection may ask that server, with that key."""
    url = http_client.check_engine_url(teacher.url, credentials.ApiKey(), EXAMPLE_URL, _TABLE)
    key = teacher.key_file or teacher.key_env
    return EngineConsent(str(folder.resolve()), _TABLE, site_origin(url), key)


def _completions_url(teacher: TeacherSettings, key: credentials.ApiKey) -> Url:
    url = http_client.check_engine_url(teacher.url, key, EXAMPLE_URL, _TABLE)
    if "?" in url:
        raise ConfigError(f"teacher.url: write the address without ?, such as {EXAMPLE_URL}")
    base = url.rstrip("/").removesuffix("/chat/completions")
    return Url(f"{base}/chat/completions")


def _make_fetcher(settings: Settings, *, private: bool) -> Fetcher:
    """A fetcher for the model alone: no cookies, no archive, and never by way of the lab."""
    longest = settings.teacher.timeout_s
    fetch = replace(
        settings.fetch, lab="", private_addresses=private, cookies=False, read_s=longest,
        total_s=longest,
    )  # fmt: skip
    agent = make_user_agent(settings.fetch.contact, __version__)
    return CurlFetcher(fetch, user_agent=agent, archives=False)


def _read_answer(raw: Raw) -> ChatAnswer:
    first = next(iter(list_entries(field_at(raw, "choices"))), None)
    text = text_value(field_at(first, "message.content"))
    if not text:
        raise SearchError("garbage", "it sent no choices[0].message.content")
    tokens_in, tokens_out = (_token_count(field_at(raw, f"usage.{name}_tokens")) for name in _USAGE)
    counted = tokens_in is not None and tokens_out is not None
    return ChatAnswer(text[:_MAX_ANSWER_CHARS], tokens_in or 0, tokens_out or 0, counted, 0.0)


def _token_count(raw: Raw | None) -> int | None:
    with suppress(msgspec.MsgspecError):
        found = msgspec.json.decode(raw, type=int) if raw else -1
        return found if 0 <= found <= _MAX_TOKENS else None
    return None


def parse_json_object(text: str) -> dict[str, Any]:
    """The JSON object in a model's answer, which may be wrapped in words or in a code fence; raises
    SearchError if there is none."""
    start, end = text.find("{"), text.rfind("}")
    if start >= 0 and end > start:
        try:
            found = msgspec.json.decode(parse_json_answer(text[start : end + 1].encode()))
        except (msgspec.MsgspecError, SearchError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
    raise SearchError("garbage", "its answer is not a JSON object")
