"""Comparisons in which somebody may ask a search engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from honeyguide.cli.lab import app
from honeyguide.errors import ConfigError
from honeyguide.lab import compare, server
from honeyguide.lab.compare import run_trial
from honeyguide.lab.search_engine import LAB_ENGINE_URL, LabSearchEngine
from honeyguide.lab.trials import CrawlTrial, WebSpec, draw_topic, trial_settings
from honeyguide.lab.variants import EngineVariant, keyword_queries, parse_variant

PLAN = "seed=7,hosts=30,pages=300,scattered=0.9,zipf=0.2,focus=0.9,mirrors=0,islands=0,languages=0"
SPEC = WebSpec("scattered", made=PLAN)
TOPIC = "python-ldap"


def trial(strategy: str, **options: object) -> CrawlTrial:
    return CrawlTrial(SPEC, TOPIC, strategy, 0, 80, seeds=2, examples=4, **options)  # type: ignore[arg-type]


def test_a_variant_may_have_an_engine() -> None:
    chosen = parse_variant(
        "honeyguide:engine=lab,mode=search_only,compose=false,queries=2,thinks=3"
    )
    assert chosen.engine == EngineVariant(
        latency_s=3.0, queries=2, settings=(("mode", "search_only"), ("compose", False))
    )
    assert chosen.parameters == ()
    assert parse_variant("honeyguide").engine is None
    half = parse_variant("keyword:engine=lab,reach=0.5,anchor_weight=0.4")
    assert half.engine == EngineVariant(reach=0.5)
    assert half.parameters == (("anchor_weight", 0.4),)
    without = parse_variant("keyword:mode=joint")
    assert without.parameters == (("mode", "joint"),), "without an engine it is the strategy's"


@pytest.mark.parametrize("text", ["engine=brave", "engine=lab,reach=0", "engine=lab,reach=much",
                                  "engine=lab,queries=some", "engine=lab,thinks=-1"])  # fmt: skip
def test_what_no_engine_can_do_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=text.split(",")[-1].partition("=")[0]):
        parse_variant(f"keyword:{text}")


def test_a_person_asks_with_the_topics_keywords() -> None:
    assert keyword_queries(("bees", "honey", "hive")) == ["bees", "bees honey", "bees hive"]
    assert keyword_queries(()) == []
    one = trial("keyword:engine=lab,queries=2,compose=false,mode=search_only,per_minute=30")
    search = trial_settings(one, draw_topic(one)).search
    words = draw_topic(one).keywords
    assert (search.engine, search.url) == ("searxng", LAB_ENGINE_URL)
    assert search.queries == (words[0], f"{words[0]} {words[1]}")
    assert (search.mode, search.compose, search.per_minute) == ("search_only", False, 30)
    assert trial_settings(trial("keyword"), draw_topic(one)).search.engine == ""
    with pytest.raises(ConfigError, match="mode"):
        trial_settings(trial("keyword:engine=lab,mode=alone"), draw_topic(one))


def test_keys_of_trials_without_engines_stay_as_they_were() -> None:
    plain = trial("keyword")
    assert json.loads(plain.key)[1][-1] == "en"
    reached = replace(plain, web=replace(SPEC, reach=1.0))
    assert reached.key != plain.key


def test_all_are_measured_against_what_the_engine_knows() -> None:
    alone = run_trial(trial("breadth"))
    beside = run_trial(replace(trial("breadth"), web=replace(SPEC, reach=1.0)))
    assert beside.found == alone.found
    assert beside.relevant > 2 * alone.relevant


def test_an_engine_finds_what_no_link_leads_to() -> None:
    links = run_trial(trial("keyword"))
    asking = trial("keyword:engine=lab,queries=3,compose=false,per_minute=60")
    both = run_trial(asking)
    assert both.found[-1] > links.found[-1]
    assert both == replace(run_trial(asking), cpu_ms=both.cpu_ms), "the same seed, the same answers"


def test_the_command_tells_every_web_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[CrawlTrial] = []

    def caught(trials: list[CrawlTrial], *_: object, **__: object) -> None:
        seen.extend(trials)
        raise ConfigError("seen enough")

    monkeypatch.setattr(compare, "run_comparison", caught)
    words = ["compare", "--made", PLAN, "-t", TOPIC, "-s", "keyword", "-o", str(tmp_path)]
    CliRunner().invoke(app, [*words, "-s", "keyword:engine=lab,reach=0.4", "--draws", "1"])
    assert [one.web.reach for one in seen] == [0.4, 0.4]
    seen.clear()
    CliRunner().invoke(app, [*words, "--draws", "1"])
    assert [one.web.reach for one in seen] == [0.0]


def test_an_engine_is_served_and_its_settings_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    engines: list[LabSearchEngine | None] = []

    def run(*_: object, engine: LabSearchEngine | None = None, ready: object, **__: object) -> None:
        engines.append(engine)
        assert callable(ready)
        ready("http://127.0.0.1:1234")

    monkeypatch.setattr(server, "serve_web", run)
    small = ["serve", "--made", "hosts=3,pages=30"]
    told = CliRunner().invoke(app, [*small, "--engine", "--engine-reach", "0.5"]).output
    assert '[search]\nengine = "searxng"\nurl = "http://search.lab/search"' in told
    assert engines[0] is not None
    assert 5 < len(engines[0].index) < 25
    assert "[search]" not in CliRunner().invoke(app, small).output
    assert engines[1] is None
    wrong = CliRunner().invoke(app, [*small, "--engine", "--engine-fault", "asleep"])
    assert wrong.exit_code != 0
    assert len(engines) == 2
