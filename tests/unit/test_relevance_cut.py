"""Which pages are kept: calibrated verdicts, the dial, and counts that follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from honeyguide.api.collection import Collection
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.rescore import settle_cut
from honeyguide.crawl.status import Report
from honeyguide.errors import ConfigError
from honeyguide.learning.relevance_cut import (
    RelevanceCut,
    VerdictCalibration,
    choose_cut,
    decide_cut,
    fit_calibration,
    read_cut,
)
from honeyguide.store.store import Store
from honeyguide.types import Label, Url
from tests.unit.crawling import FakeWeb, crawl, rows
from tests.unit.store_visits import change, good
from tests.unit.test_crawl_rescore import agree

DIAL = ("strict", "balanced", "generous")
HUB = "http://a.test/"


def scores(share: float = 0.15, top: float = 0.35, seed: int = 1) -> tuple[Any, Any]:
    """Verdicts of a method that is never sure, and the truth."""
    dice = np.random.default_rng(seed)
    truth = dice.random(600) < share
    verdicts = np.where(truth, dice.normal(top, 0.07, 600), dice.normal(0.08, 0.05, 600))
    return np.clip(verdicts, 0, 1), truth


def f1(verdicts: Any, truth: Any, cut: float) -> float:
    kept = verdicts >= cut
    return float(2 * truth[kept].sum() / (kept.sum() + truth.sum()))


@pytest.mark.parametrize(("share", "top"), [(0.05, 0.35), (0.15, 0.35), (0.4, 0.3), (0.15, 0.8)])
def test_the_cut_lies_between_relevant_and_other_pages(share: float, top: float) -> None:
    verdicts, truth = scores(share, top)
    found = fit_calibration(verdicts, are_chances=False)
    assert found is not None
    chances = found.chances(verdicts)
    cut = choose_cut(verdicts, chances, "balanced")
    best = max(f1(verdicts, truth, line) for line in np.unique(verdicts))
    assert f1(verdicts, truth, cut) >= 0.9 * best
    kept = verdicts >= cut
    assert 0.4 < chances[kept].mean() <= truth[kept].mean(), "cautious"
    assert abs(chances.mean() - truth.mean()) < 0.25
    order = np.argsort(verdicts)
    assert (np.diff(found.log_odds(verdicts[order])) >= 0).all(), "no order changes"


def test_too_few_pages_or_pages_all_alike_tell_nothing() -> None:
    verdicts, _ = scores()
    assert fit_calibration(verdicts[:20], are_chances=False) is None
    assert fit_calibration(np.full(500, 0.3), are_chances=True) is None


@pytest.mark.parametrize("seed", range(8))
def test_strict_keeps_no_more_than_balanced_and_generous_no_less(seed: int) -> None:
    verdicts, _ = scores(0.03 + 0.05 * seed, 0.25 + 0.05 * seed, seed)
    chances = VerdictCalibration(1.0).chances(verdicts)
    strict, balanced, generous = (choose_cut(verdicts, chances, keep) for keep in DIAL)
    assert strict > balanced > generous > 0


def test_a_wished_precision_is_met_and_no_page_more_is_left_out() -> None:
    verdicts = np.array([0.9, 0.8, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0])
    chances = np.array([0.9, 0.8, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0])
    kept = {wish: int((verdicts >= choose_cut(verdicts, chances, wish)).sum())
            for wish in ("0.99", "0.8", "0.7", "0.01")}  # fmt: skip
    assert kept == {"0.99": 1, "0.8": 3, "0.7": 5, "0.01": 6}, "equal ones together, none of 0"


def test_a_precision_out_of_reach_keeps_the_surest_pages() -> None:
    verdicts = np.array([1.0, 0.9999, 0.999, 0.3, 0.1])
    chances = VerdictCalibration(0.1).chances(verdicts)
    assert chances.max() < 0.9
    cut = choose_cut(verdicts, chances, "0.95")
    assert (verdicts >= cut).sum() == 3


def test_a_precision_out_of_reach_keeps_no_more_than_strict_and_says_so() -> None:
    verdicts = np.r_[np.full(30, 0.9999999), np.linspace(0.9, 0.999, 20), np.zeros(150)]
    chances = VerdictCalibration(1.0).chances(verdicts)
    strict, sure = (choose_cut(verdicts, chances, keep) for keep in ("strict", "0.95"))
    assert sure >= strict
    said = RelevanceCut("0.95", sure, 0.88, 0.9).summary
    assert "88% of these pages are right (more is out of reach)" in said
    assert "out of reach" not in RelevanceCut("0.8", sure, 0.88, 0.9).summary
    assert "out of reach" not in RelevanceCut("strict", sure, 0.88, 0.9).summary


@pytest.mark.parametrize(
    ("threshold", "shown"), [(0.519539, "0.52"), (0.999861, "0.9999"), (0.998, "0.998"), (1.0, "1")]
)
def test_a_cut_near_1_is_not_shown_as_1(threshold: float, shown: str) -> None:
    assert f"verdicts of at least {shown} (" in RelevanceCut("strict", threshold).summary


def test_labels_correct_what_the_mixture_says() -> None:
    verdicts, _ = scores(top=0.5)
    before = fit_calibration(verdicts, are_chances=False)
    wrong = [(0.5, False)] * 10
    after = fit_calibration(verdicts, are_chances=False, labelled=wrong)
    assert before is not None
    assert after is not None
    at = np.array([0.5])
    assert after.chances(at)[0] < 0.5 < before.chances(at)[0]


def test_verdicts_that_nobody_taught_are_believed_less() -> None:
    verdicts = np.r_[np.full(50, 0.999), np.full(150, 0.01)]
    chances = []
    for taught in (0, 5, 20):
        found = fit_calibration(verdicts, are_chances=True, taught=taught)
        assert found is not None
        chances.append(found.chances(verdicts)[0])
    assert 0.3 < chances[0] < chances[1] < chances[2] < 0.9


# --- In a collection ---


def honey_web() -> FakeWeb:
    """Fifteen pages speak of honey and bees now and then, others of honey a little."""
    names = [f"http://a.test/{n}" for n in range(75)]
    hub = "".join(f'<a href="{name}">page</a>' for name in names)
    web = FakeWeb({HUB: f"<title>Hub</title>{hub}"})
    for n, name in enumerate(names):
        words = "honey bee " * (1 + n % 3) if n % 5 == 0 else "honey " * (n % 7 == 1)
        web.answers[name] = f"<title>No {n}</title><p>{words}{f'word{n} other ' * 400}</p>"
    return web


def told(url: str) -> bool:
    return url != HUB and int(url.rpartition("/")[2]) % 5 == 0


WORDS = ["honey", "bee", "hive", "wax", "queen", "drone", "nectar", "pollen", "swarm", "comb"]
KEYWORD: dict[str, Any] = {"crawl": {"strategy": "keyword", "concurrency": 1, "pages": 200}}


def crawl_bees(folder: Path, web: FakeWeb | None = None, **topic: Any) -> Report:
    return crawl(folder, web or honey_web(), [HUB], topic={"keywords": WORDS} | topic, **KEYWORD)


def test_a_method_that_is_never_sure_keeps_what_stands_out(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    report = crawl_bees(folder)
    found = rows(folder)
    relevant = [url for url, row in found.items() if told(url)]
    assert max(found[url].verdict or 0 for url in relevant) < 0.5, "else it shows nothing"
    kept = {url for url, row in found.items() if row.relevant}
    assert kept <= set(relevant)
    assert len(kept) >= 10
    assert agree(folder) == report.progress.relevant == report.estimate.found
    with Store.open(folder, "read") as store:
        cut = read_cut(store)
        strict, balanced, generous = (read_cut(store, keep) for keep in DIAL)
    assert cut == balanced
    assert cut.precision is not None
    assert cut.precision > 0.5
    assert cut.recall is not None
    assert cut.recall > 0.5
    assert strict.threshold >= balanced.threshold >= generous.threshold


def test_a_threshold_that_is_set_wins(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    crawl_bees(folder, threshold=0.5, keep="generous")
    assert agree(folder) == 0
    with Store.open(folder, "read") as store:
        assert (read_cut(store).keep, store.threshold) == ("", 0.5)


@pytest.mark.parametrize(
    ("strategy", "own"), [("ontology_weights", {"theta": 3.0}), ("topic_cnn", {"threshold": 0.4})]
)
def test_a_published_border_that_is_set_stays(
    tmp_path: Path, strategy: str, own: dict[str, Any]
) -> None:
    verdicts, _ = scores()
    topic = {"keywords": ["honey"]}
    with Store.open(tmp_path, "crawl") as store:
        with store.transaction():
            store.append_visits([good(n, float(v)) for n, v in enumerate(verdicts)])
        free = parse_settings({"topic": topic, "crawl": {"strategy": strategy}})
        fixed = parse_settings({"topic": topic, "crawl": {"strategy": strategy}, "strategy": own})
        assert decide_cut(store, free)[0].threshold < 0.5
        assert decide_cut(store, fixed)[0].threshold == 0.5


@pytest.mark.parametrize(
    ("strategy", "by", "counts"),
    [("keyword", "ann", True), ("hybrid_svm", "ann", False), ("keyword", "model:wise", False)],
)
def test_labels_count_where_the_method_did_not_learn_them(
    tmp_path: Path, strategy: str, by: str, counts: bool
) -> None:
    """A method that learns a label repeats it, and a language model gives none against a clear
    verdict; that is no evidence that verdicts are right."""
    verdicts, _ = scores(top=0.7)
    settings = parse_settings({"topic": {"keywords": ["honey"]}, "crawl": {"strategy": strategy}})
    with Store.open(tmp_path, "crawl") as store:
        with store.transaction():
            store.append_visits([good(n, float(v)) for n, v in enumerate(verdicts)])
        before, _ = decide_cut(store, settings)
        with store.transaction():
            for row in list(store.visits.iter_visits(relevant=True))[:20]:
                store.labels.add([Label(row.url, 0.0, by)])
        after, _ = decide_cut(store, settings)
    assert before.precision is not None
    assert after.precision is not None
    assert (after.precision < before.precision - 0.15) is counts
    assert "by its own verdicts" in before.summary
    assert ("by its own verdicts" not in after.summary) is counts


def test_labels_still_overrule_when_the_cut_moves(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    crawl_bees(folder)
    page, other = "http://a.test/0", "http://a.test/1"
    with Store.open(folder, "write") as store, store.transaction():
        store.labels.add([Label(Url(page), 0.0), Label(Url(other), 1.0)])
    with Store.open(folder, "crawl") as store:
        settle_cut(store, parse_settings({"topic": {"threshold": 0.9}, **KEYWORD}))
    assert {url for url, row in rows(folder).items() if row.relevant} == {other}
    agree(folder)


def made(tmp_path: Path) -> Path:
    """A crawled collection with its topic.toml."""
    folder = tmp_path / "bees"
    crawl_bees(folder)
    (folder / "topic.toml").write_text(
        f'[topic]\nkeywords = {json.dumps(WORDS)}\nseeds = ["{HUB}"]\n'
        '# keep = "balanced"  # how strict\n'
        '[crawl]\nstrategy = "keyword"\n[fetch]\ncontact = "a@example.org"\n'
    )
    return folder


def test_the_dial_counts_at_once(tmp_path: Path) -> None:
    folder = made(tmp_path)
    bees = Collection(folder)
    before = bees.status().relevant
    bees.keep("generous")
    assert 'keep = "generous"  # how strict' in (folder / "topic.toml").read_text()
    more = Collection(folder).status()
    assert more.relevant > before
    assert more.kept is not None
    assert more.kept.keep == "generous"
    assert agree(folder) == more.relevant == len(list(Collection(folder).pages()))
    (folder / "topic.toml").write_text(
        (folder / "topic.toml").read_text().replace('"generous"', "0.97")
    )
    assert Collection(folder).status().relevant < more.relevant


def test_an_export_may_be_as_strict_as_it_likes(tmp_path: Path) -> None:
    folder = made(tmp_path)
    bees = Collection(folder)
    with Store.open(folder, "write") as store, store.transaction():
        store.labels.add([Label(Url("http://a.test/1"), 1.0)])
    counts = {}
    for wish in DIAL:
        out = tmp_path / f"{wish}.jsonl"
        counts[wish] = bees.export(out, keep=wish).rows
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        cut = bees.relevance_cut(wish).threshold
        assert all(row["verdict"] >= cut or row["label"] == 1.0 for row in lines)
        assert all(row["relevant"] for row in lines)
        assert "http://a.test/1" in {row["url"] for row in lines}
    assert counts["strict"] <= counts["balanced"] < counts["generous"]
    assert bees.relevance_cut().keep == "balanced", "for the file only"


def test_a_crawl_that_runs_follows_the_dial(tmp_path: Path) -> None:
    folder, web = tmp_path / "bees", honey_web()
    page = web.answers["http://a.test/60"]

    def turn(_: int) -> Any:
        with Store.open(folder, "write") as store:
            store.set_meta("keep", "generous")
        return page

    web.answers["http://a.test/60"] = turn
    report = crawl_bees(folder, web)
    with Store.open(folder, "read") as store:
        assert read_cut(store).keep == "generous"
    assert report.progress.relevant == agree(folder) == 15


def test_a_collection_without_judged_pages_says_that_nothing_is_known(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        settle_cut(store, parse_settings({"topic": {"keep": "strict"}, **KEYWORD}))
        found = read_cut(store)
        assert (found.threshold, found.precision, found.recall) == (0.5, None, None)
        with pytest.raises(ConfigError, match=r"not known yet.*topic\.threshold"):
            read_cut(store, "generous")


@pytest.mark.parametrize(
    "stored", ["", "x", "[]", '["balanced", [1, 2]]', '["a", 0, [1,2,3,4,NaN]]']
)
def test_a_strangers_record_is_none(tmp_path: Path, stored: str) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.set_meta("cut", stored)
    change(tmp_path, "INSERT OR REPLACE INTO meta VALUES('threshold', 'nan')")
    with Store.open(tmp_path, "read") as store:
        assert store.threshold == 0.5
        assert read_cut(store).precision is None


@pytest.mark.parametrize("keep", ["lax", 0, 1.0, "1.5", "nan"])
def test_a_wish_that_is_none_is_refused(keep: object) -> None:
    with pytest.raises(ConfigError, match=r"topic\.keep must be strict, balanced, generous, or"):
        parse_settings({"topic": {"keep": keep}})


def test_a_precision_may_be_written_as_a_number() -> None:
    assert parse_settings({"topic": {"keep": 0.8}}).topic.keep == "0.8"
    assert parse_settings({}).topic.keep == "balanced"
    assert parse_settings({"topic": {"keep": 0.8, "threshold": 0.3}}).topic.keep == ""
