"""Comparisons on a small recorded web: fair, repeatable, resumable."""

from __future__ import annotations

import gzip
import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from honeyguide.api.chart import svg_chart, terminal_chart
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError
from honeyguide.lab.compare import run_comparison, run_trial
from honeyguide.lab.graph import WebGraph
from honeyguide.lab.metrics import bootstrap_mean, measure_harvest, paired_difference, sample_curve
from honeyguide.lab.report import build_report, markdown_table, write_report
from honeyguide.lab.responses import LabResponder, ServingOptions
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.trials import (
    CrawlTrial,
    GivenKnowledge,
    StartKnowledge,
    TrialResult,
    WebSpec,
    distinctive_words,
    draw_topic,
    open_web,
    trial_examples,
    trial_settings,
)
from honeyguide.lab.variants import TrueParentStrategy
from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes
from honeyguide.types import Link, Url

BEES = ("honey", "hive", "nectar", "pollen", "apiary", "swarm")
OTHER = ("bridge", "engine", "copper", "market", "harbour", "ticket")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> WebSpec:
    """120 pages, a third of them about bees; like links to like twice out of three times."""
    dice = random.Random(3)
    bees = [n % 3 == 0 for n in range(120)]
    path = tmp_path_factory.mktemp("web") / "small.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for n in range(120):
            same = [m for m in range(120) if bees[m] == bees[n] and m != n]
            targets = [dice.choice(same if dice.random() < 0.67 else range(120)) for _ in range(6)]
            own = BEES if bees[n] else OTHER
            words = " ".join(dice.choice(own) for _ in range(80))
            links = "".join(
                f'<p>{dice.choice(BEES if bees[m] else OTHER)} <a href="/{m}">'
                f"{dice.choice(BEES if bees[m] else OTHER)} {m}</a></p>"
                for m in targets
            )
            html = f"<title>{own[n % 6]} {n}</title><main><p>{words}</p></main>{links}"
            html += '<a href="/gone">gone</a>'
            row = {"url": f"https://w.example/{n}", "html": html, "labels": ["bees"] * bees[n]}
            file.write(json.dumps(row) + "\n")
    return WebSpec("small", (str(path),))


def trial(web: WebSpec, strategy: str, draw: int = 0) -> CrawlTrial:
    return CrawlTrial(web, "bees", strategy, draw, 0, seeds=2, examples=4)


def test_references_stand_where_they_should(web: WebSpec) -> None:
    found = {
        name: sum(run_trial(trial(web, name, draw)).found[-1] for draw in range(3))
        for name in ("random", "breadth", "oracle", "keyword", "true-parent")
    }
    assert found["oracle"] == max(found.values())
    assert found["oracle"] > found["breadth"]
    assert found["keyword"] > found["random"]
    assert found["true-parent"] > found["random"]


def test_a_trial_repeats_itself(web: WebSpec) -> None:
    one, two = run_trial(trial(web, "keyword")), run_trial(trial(web, "keyword"))
    assert one.found == two.found
    assert one.relevant == two.relevant > 20


def test_a_variant_may_want_languages(web: WebSpec) -> None:
    def told(name: str) -> tuple[object, ...]:
        one = trial(web, name)
        found = trial_settings(one, draw_topic(one))
        return (
            found.topic.language,
            found.topic.keyword_language,
            found.language.predict,
            found.strategy,
        )

    assert told("keyword") == ((), "en", True, {})
    assert told("keyword:language=tr+az") == (("tr", "az"), "en", True, {})
    gated = "keyword:language=tr,predict=false,anchor_weight=0.5"
    assert told(gated) == (("tr",), "en", False, {"anchor_weight": 0.5})
    with pytest.raises(ConfigError, match="did you mean 'tr'"):
        told("keyword:language=tur")


def test_a_topic_may_begin_with_an_ontology_or_a_model(web: WebSpec) -> None:
    bare = trial(web, "ontology_ann")
    given = GivenKnowledge("cell", "cell", "somewhere", ("bees",))
    told = replace(bare, given=given)
    assert bare.key != told.key
    assert bare.key == replace(told, given=None).key, "results of earlier versions still count"
    assert told.key != replace(told, start=StartKnowledge()).key

    def topic(name: str) -> tuple[str, str, str, tuple[str, ...]]:
        one = replace(told, strategy=name)
        found = trial_settings(one, draw_topic(one)).topic
        return found.ontology, found.concept, found.model, found.categories

    assert topic("ontology_ann") == topic("keyword") == ("cell", "cell", "", ())
    for name in ("topic_cnn", "topic_cnn+honeyguide", "keyword+topic_cnn"):
        assert topic(name) == ("cell", "cell", "somewhere", ("bees",)), name
    made = build_strategy(trial_settings(told, draw_topic(told)))
    assert "Cell" in {concept.name for concept in getattr(made, "concepts", ())}


def test_a_pair_is_crawled_and_compared(web: WebSpec) -> None:
    pair = "critic=hybrid_svm,links=honeyguide,teacher=both,order=best"
    found = run_trial(trial(web, pair))
    assert found.found[-1] > run_trial(trial(web, "breadth")).found[-1]
    assert found.judged >= found.right > 10


def test_labels_may_hold_together(tmp_path: Path) -> None:
    pages = [("a", ["x"], "tr"), ("b", ["x"], "en"), ("c", ["y"], "tr"), ("d", ["x"], None)]
    file = tmp_path / "some.jsonl"
    file.write_text(
        "".join(
            json.dumps({"url": f"http://e.org/{name}", "html": "", "labels": labels, "lang": lang})
            + "\n"
            for name, labels, lang in pages
        )
    )
    some = RecordedWeb.load([file])
    assert some.urls_labelled("language=tr") == ["http://e.org/a", "http://e.org/c"]
    assert some.urls_labelled("x & language=tr") == ["http://e.org/a"]
    assert len(some.urls_labelled("x")) == 3
    assert distinctive_words("language=tr", [b"<p>x"], [b"<p>y"]) == ()
    assert distinctive_words("birds & language=tr", [b"<p>x"], [b"<p>y"]) == ("birds",)


def test_a_start_tells_a_part_of_what_was_drawn(web: WebSpec) -> None:
    whole = trial(web, "honeyguide")
    topic = draw_topic(whole)
    assert list(trial_settings(whole, topic).topic.keywords) == list(topic.keywords)
    everything = trial_examples(whole, topic)
    assert [e.target for e in everything] == [1.0] * 4 + [0.0] * 8

    words = replace(whole, start=StartKnowledge(keywords=2))
    assert draw_topic(words) is topic, "seeds, reach and what counts are the same"
    assert trial_settings(words, topic).topic.keywords == topic.keywords[:2]
    assert trial_examples(words, topic) == []

    pages = replace(whole, start=StartKnowledge(good=3, bad=7))
    assert trial_settings(pages, topic).topic.keywords == ()
    assert trial_examples(pages, topic) == [*everything[:3], *everything[4:11]]

    wrong = replace(whole, start=StartKnowledge(good=3, bad=7, wrong=0.2))
    pairs = zip(trial_examples(pages, topic), trial_examples(wrong, topic), strict=True)
    assert sum(a.target != b.target for a, b in pairs) == 2
    assert trial_examples(wrong, topic) == trial_examples(wrong, topic)


@pytest.mark.parametrize(
    ("strategy", "start"),
    [
        ("honeyguide", StartKnowledge(keywords=3)),
        ("honeyguide", StartKnowledge(good=3)),
        ("adaptive_links", StartKnowledge(good=4, bad=6, wrong=0.2)),
    ],
)
def test_little_is_enough_to_start(strategy: str, start: StartKnowledge, web: WebSpec) -> None:
    result = run_trial(replace(trial(web, strategy), start=start))
    assert result.found[-1] > 0
    assert result.relevant == run_trial(trial(web, "breadth")).relevant


def test_earlier_results_stay_valid(web: WebSpec) -> None:
    plain = trial(web, "keyword")
    facts = json.loads(plain.key)
    assert facts[2:] == ["bees", "keyword", 0, 0, 2, 4, 1]
    assert json.loads(replace(plain, start=StartKnowledge(good=5)).key) == [*facts, [0, 5, 0, 0.0]]


def test_given_pages_do_not_count(web: WebSpec) -> None:
    result = run_trial(trial(web, "oracle"))
    # A budget as large as the topic, less the seeds; examples are only skipped if met.
    assert len(result.found) <= result.visits - 2
    assert result.found[-1] <= result.relevant <= 40 - 2 - 4


def test_copies_count_once(tmp_path: Path) -> None:
    path = tmp_path / "copies.jsonl.gz"
    links = "".join(f'<a href="/{n}"></a>' for n in range(60))
    with gzip.open(path, "wt") as file:
        for n in range(60):
            # 0 to 39 are about bees, and 20 to 39 repeat 0 to 19.
            words = " ".join(random.Random(n % 20 if n < 40 else n).choices(BEES + OTHER, k=80))
            row = {"url": f"http://w.example/{n}", "html": f"<title>{n}</title>{words}{links}"}
            file.write(json.dumps(row | {"labels": ["bees"] * (n < 40)}) + "\n")
    crawl = CrawlTrial(WebSpec("copies", (str(path),)), "bees", "oracle", 1, 60, 2, 4)
    topic = draw_topic(crawl)
    given = {int(url.rpartition("/")[2]) % 20 for url in (*topic.seeds, *topic.examples)}
    oracle, breadth = (
        run_trial(replace(crawl, strategy=name, budget=pages))
        for name, pages in (("oracle", 24), ("breadth", 60))
    )
    left = 20 - len(given)
    assert oracle.relevant == breadth.relevant == oracle.found[-1] == breadth.found[-1] == left
    assert oracle.found[:left] == tuple(range(1, left + 1)), "no copy comes before an original"


def test_dead_links_stay_unless_they_are_closed(web: WebSpec) -> None:
    def links(spec: WebSpec) -> bytes:
        return open_web(spec).responder.respond("w.example/0").body

    assert b'<a href="/gone">gone</a>' in links(web)
    assert b"<a>gone</a>" in links(replace(web, closed=True))


def test_comparisons_are_resumed(web: WebSpec, tmp_path: Path) -> None:
    trials = [trial(web, name, draw) for name in ("breadth", "keyword") for draw in (0, 1)]
    steps: list[tuple[int, int]] = []
    first = run_comparison(trials[:2], tmp_path, workers=1)
    both = run_comparison(trials, tmp_path, workers=1, done=lambda n, of: steps.append((n, of)))
    assert both[:2] == first
    assert steps == [(2, 4), (3, 4), (4, 4)]
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"key": "cut of')
    assert run_comparison(trials, tmp_path, workers=1) == both
    write_report(both, tmp_path, build_report(both))
    assert "| keyword |" in (tmp_path / "report.md").read_text()
    for picture in ("small-bees.svg", "all-topics.svg"):
        assert (tmp_path / picture).read_text().startswith("<svg")
    summary = json.loads((tmp_path / "summary.json").read_text())
    for table in (summary["all"], summary["topics"]["small-bees"]):
        assert set(table) == {"breadth", "keyword"}
        assert set(table["keyword"]["recall"]) == {"mean", "low", "high"}


def test_trials_run_in_processes(web: WebSpec, tmp_path: Path) -> None:
    trials = [trial(web, "breadth", draw) for draw in (0, 1)]
    assert run_comparison(trials, tmp_path, workers=2)[0].found == run_trial(trials[0]).found


def result(strategy: str, topic: str, draw: int, found: list[int]) -> TrialResult:
    key = f"{strategy}{topic}{draw}"
    return TrialResult(key, "w", topic, strategy, draw, len(found), tuple(found), 5, 4, 3, 1.0)


ROWS = [
    result(name, topic, draw, [1 + bonus, 2 + bonus, 3 + bonus])
    for name, bonus in (("good", 1), ("poor", 0))
    for topic in ("a", "b")
    for draw in (0, 1)
]


def test_lines_are_ordered_and_paired_with_the_best() -> None:
    found = build_report(ROWS, k=4)
    good, poor = found.all
    assert (good.strategy, poor.strategy, found.baseline) == ("good", "poor", "good")
    assert poor.difference.mean < 0 == good.difference.mean
    assert good.precision == 0.75
    assert (good.visits_to, poor.visits_to) == (3, math.inf)
    assert found.to_json()["all"]["poor"]["visits_to"] is None
    assert "area − good" in markdown_table(found.all, found)


def test_a_baseline_can_be_chosen_and_a_reference_is_none_by_itself() -> None:
    good, poor = build_report(ROWS, baseline="poor").all
    assert good.difference.low > 0 == poor.difference.mean
    assert build_report(ROWS, references=["good"]).baseline == "poor"
    with pytest.raises(ConfigError, match="is not compared"):
        build_report(ROWS, baseline="fair")


def test_bootstrap_intervals_hold_the_mean() -> None:
    estimate = bootstrap_mean([[0.1, 0.2], [0.3, 0.5], [0.2, 0.4]])
    assert estimate.low < estimate.mean < estimate.high
    assert estimate.mean == pytest.approx(0.28333, abs=1e-4)
    same = paired_difference([[0.5, 0.6]], [[0.4, 0.5]])
    assert same.low == pytest.approx(0.1) == same.high
    assert bootstrap_mean([]).mean != bootstrap_mean([]).mean, "nothing has no mean"


def test_harvest_figures() -> None:
    made = measure_harvest([True, False, True, True], 4)
    assert made.rate == 0.75
    assert made.recall == 0.75
    assert made.area == pytest.approx((1 + 1 + 2 + 3) / (1 + 2 + 3 + 4))
    assert measure_harvest([], 3).rate == 0
    assert sample_curve([1.0, 2.0, 3.0, 4.0, 5.0], 2) == [(3, 3.0), (5, 5.0)]


def test_the_graph_obeys_robots(web: WebSpec) -> None:
    recorded = RecordedWeb.load([Path(file) for file in web.files])
    everything = WebGraph(LabResponder(recorded)).reachable_from(["http://w.example/0"])
    assert len(everything) > 100
    closed = WebGraph(
        LabResponder(recorded, ServingOptions(robots="User-agent: *\nDisallow: /1\n"))
    )
    assert not [key for key in closed.reachable_from(["http://w.example/0"]) if "/1" in key]


def test_the_graph_leaves_out_what_asks_not_to_be_kept() -> None:
    def page(path: str, html: str) -> RecordedResponse:
        headers = (("Content-Type", "text/html"),)
        return RecordedResponse(f"http://w.example/{path}", 200, headers, gzip_bytes(html.encode()))

    secret = page("b", '<meta name="robots" content="noindex"><a href="/c">c</a>')
    web = RecordedWeb([page("a", '<a href="/b">b</a>'), secret, page("c", "c")])
    start = ["http://w.example/a"]
    assert WebGraph(LabResponder(web)).reachable_from(start) == {"w.example/a", "w.example/c"}
    bare = LabResponder(web, ServingOptions(strip=("meta[name=robots]",)))
    assert WebGraph(bare).reachable_from(start) == {"w.example/a", "w.example/b", "w.example/c"}


def test_the_true_parent_is_the_first_one() -> None:
    yardstick = TrueParentStrategy(("w.example/good",))
    link, other = Link(Url("http://w.example/x")), Link(Url("http://w.example/y"))
    assert yardstick.rank([link._replace(parent=0.0)]) == [0.0]
    assert yardstick.rank([link, other]) == [0.0, 1.0]
    assert TrueParentStrategy(("w.example/good",)).rank([link]) == [1.0]


def test_errors_and_latency_repeat_themselves(web: WebSpec) -> None:
    shaky = replace(web, error_rate=0.4, latency_s=2.0)
    calm, one, two = (run_trial(trial(each, "breadth")) for each in (web, shaky, shaky))
    assert one.found == two.found
    assert one.found[-1] < calm.found[-1]
    assert one.relevant == calm.relevant, "the judge's web never fails"


def test_made_webs_are_compared_with_their_traps() -> None:
    plan = WebSpec("made", made="seed=7,pages=300,hosts=8,traps=0.5")
    label = SyntheticWeb(parse_plan(plan.made)).topics[0]
    done = run_trial(CrawlTrial(plan, label, "oracle", 0, 40))
    assert len(done.found) > 20
    assert 0 < done.found[-1] <= done.relevant


def test_telling_words_name_the_topic_and_its_own_words() -> None:
    good = [f"<title>x</title><p>{' '.join(BEES)} the and {n}".encode() for n in range(6)]
    other = [f"<title>x</title><p>{' '.join(OTHER)} the and {n}".encode() for n in range(20)]
    words = distinctive_words("Science.Honey_bees", good, other)
    assert words[:2] == ("honey", "bees")
    assert set(words) & {"hive", "nectar", "pollen", "apiary", "swarm"}
    assert not set(words) & {"the", "and", *OTHER}


def test_charts_escape_what_they_show() -> None:
    curves = {"<b>&\"'": [(0.0, 0.0), (10.0, 4.0)], "b": [(0.0, 0.0), (5.0, 1.0)]}
    picture = svg_chart('a "title" <x>', "x & y", "y", curves)
    assert "<b>" not in picture
    assert "<x>" not in picture
    assert len(terminal_chart(curves, width=20, height=5)) == 8
    assert svg_chart("empty", "x", "y", {}).startswith("<svg")


def test_a_label_that_no_page_has_is_answered_with_those_there_are(web: WebSpec) -> None:
    with pytest.raises(ConfigError, match=r"has only 0 pages in .*; did you mean 'bees'\?"):
        draw_topic(CrawlTrial(web, "beees", "keyword", 0, 10))
    with pytest.raises(ConfigError, match=r"; known: .*bees"):
        draw_topic(CrawlTrial(web, "volcanoes", "keyword", 0, 10))
