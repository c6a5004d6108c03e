from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from honeyguide.api.create import create
from honeyguide.config.loading import RENAMED_KEYS, load_settings, parse_settings
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError


def test_defaults_are_valid() -> None:
    assert parse_settings({}) == Settings()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"crawl": {"page": 3}}, r"unknown setting crawl\.page; did you mean crawl\.pages\?"),
        ({"tpoic": {}}, r"unknown setting tpoic; did you mean topic\?"),
        ({"crawl": {"zzz": 1}}, r"unknown setting crawl\.zzz; known: strategy"),
        ({"crawl": {"pages": "many"}}, r"crawl\.pages must be a whole number, not 'many'"),
        ({"crawl": {"pages": True}}, r"crawl\.pages must be a whole number"),
        ({"crawl": {"pages": -1}}, r"crawl\.pages must be at least 0 .*not -1"),
        ({"crawl": {"order": "bets"}}, r"crawl\.order must be one of 'strategy'"),
        ({"topic": {"keywords": "birds"}}, r"topic\.keywords must be a list"),
        ({"topic": {"keywords": [3]}}, r"topic\.keywords\[0\] must be text"),
        ({"topic": {"threshold": 2}}, r"topic\.threshold"),
        ({"politeness": {"delay_s": 0.1}}, r"at least 1 second.*loopback_delay_s"),
        ({"fetch": {"total_s": 0}}, r"fetch\.total_s must be more than 0"),
        ({"fetch": {"lab": "http://x", "proxy": "http://y"}}, "exclude each other"),
        ({"crawl": 5}, r"crawl must be"),
        ({"crawl": {"hours": float("nan")}}, r"crawl\.hours must be .*not nan"),
    ],
)
def test_mistakes_are_named(raw: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_settings(raw)


def test_there_is_no_key_that_switches_robots_off() -> None:
    for table in ("fetch", "politeness", "crawl", "scope"):
        for key in ("robots", "obey_robots", "ignore_robots", "respect_robots"):
            with pytest.raises(ConfigError):
                parse_settings({table: {key: False}})


def test_load_tells_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "topic.toml"
    with pytest.raises(ConfigError, match="honeyguide new"):
        load_settings(path)
    path.write_text("[crawl\npages = 3")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_settings(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(path)
    path.write_text("[crawl]\npages = 3\n[strategy]\nanchor_weight = 0.5\n")
    settings = load_settings(path)
    assert settings.crawl.pages == 3
    assert settings.strategy == {"anchor_weight": 0.5}


def test_old_names_of_keys_are_read_with_one_hint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "topic.toml"
    samples = {
        "words": "'tr'", "seed": 7, "domain_hosts": 2, "texts": "'all'", "after": 9,
        "private": "true", "value": "'sqrt'", "shortest_s": 5.0, "longest_days": 9.0,
        "quiet": "'22:00-07:00'", "zone": "'Europe/Istanbul'",
    }  # fmt: skip

    def written(renamed: bool) -> str:
        tables: dict[str, list[str]] = {}
        for path, new in RENAMED_KEYS.items():
            table, _, old = path.partition(".")
            tables.setdefault(table, []).append(f"{new if renamed else old} = {samples[old]}")
        heads = {"notify": "[[notify]]\nto = 'atom'"}
        return "\n".join("\n".join([heads.get(t, f"[{t}]"), *keys]) for t, keys in tables.items())

    path.write_text(written(renamed=False))
    settings = load_settings(path)
    assert "topic.words is now called topic.keyword_language" in caplog.text
    assert len(caplog.records) == len(RENAMED_KEYS)
    load_settings(path)
    assert len(caplog.records) == len(RENAMED_KEYS), "once is enough"
    path.write_text(written(renamed=True))
    assert load_settings(path) == settings != Settings()
    assert settings.notify[0].time_zone == "Europe/Istanbul"
    assert len(caplog.records) == len(RENAMED_KEYS)


def test_a_key_is_not_given_under_both_names() -> None:
    for raw in (
        {"topic": {"words": "tr", "keyword_language": "tr"}},
        {"notify": [{"to": "atom"}, {"quiet": "", "quiet_hours": ""}]},
    ):
        with pytest.raises(ConfigError, match=r"is the old name of \w+\.\w+, and both are set"):
            parse_settings(raw)


def test_a_new_file_has_the_new_names(tmp_path: Path) -> None:
    made = create(tmp_path / "a", seeds="http://e.org/", contact="a@e.org", keywords="arı",
                  words="tr", store={"texts": "all"})  # fmt: skip
    raw = tomllib.loads((made.folder / "topic.toml").read_text("utf-8"))
    assert (raw["topic"]["keyword_language"], raw["store"]) == ("tr", {"keep_text": "all"})
