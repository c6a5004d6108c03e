"""The language gate: what it does to verdicts, to links, and to what is learned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from honeyguide.api import explain
from honeyguide.api.collection import Collection
from honeyguide.config.loading import parse_settings
from honeyguide.crawl import rescore, status
from honeyguide.errors import ConfigError
from honeyguide.languages.detection import DetectedLanguage
from honeyguide.languages.gate import (
    GatedStrategy,
    LanguageGate,
    build_language_gate,
    language_notes,
    undetectable_note,
)
from honeyguide.learning.teachers import AllVisitsTeacher, AutomaticTeacher
from honeyguide.learning.topic_trainers import MultiTopicLearner
from honeyguide.links.ranking import SITEMAP_SCORE, rank_links
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.store.store import Store
from honeyguide.strategies.breadth import Breadth
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Example, Label, Link, Page, Reason, Url, Verdict, Visit
from tests.unit.crawling import FakeWeb, crawl, rows

TURKISH = (
    "Arılar çiçeklerden topladıkları nektarı kovanlarına taşır ve orada bala dönüştürür. Bir "
    "kovanda binlerce işçi arı yaşar; kraliçe arı yumurtlar, işçiler ise yavruları besler, peteği "
    "örer ve kovanı korur. İlkbaharda arıcılar kovanları açıp temizler."
)
GERMAN = (
    "Die Bienen tragen den Nektar, den sie an den Blüten sammeln, in ihren Stock und machen daraus "
    "Honig. In einem Stock leben Tausende von Arbeiterinnen; die Königin legt Eier, und die "
    "Arbeiterinnen füttern die Brut, bauen Waben und bewachen den Stock."
)
HOME = Url("http://a.test/")


class Ears:
    """Hears what the text begins with."""

    def __init__(self, wanted: tuple[str, ...] = ("tr",)) -> None:
        self.wanted = wanted

    def detect_page(self, page: Page) -> DetectedLanguage:
        code, _, sure = page.text.partition(" ")[0].partition(":")
        return (
            DetectedLanguage(code, float(sure or 0.9))
            if len(code) == 2
            else DetectedLanguage("", 0.0)
        )

    def is_wanted(self, tongue: DetectedLanguage) -> bool:
        return not tongue.code or (tongue.code in self.wanted and tongue.confidence >= 0.6)


class Guesses:
    """Says what its links are called, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def predict_links(self, links: Sequence[Link]) -> list[float]:
        return [float(link.anchor or 0.5) for link in links]

    def add_page(self, url: Url, tongue: DetectedLanguage) -> None:
        self.told.append((url, tongue.code))

    def learn_link(self, link: Link, wanted: bool) -> None:
        self.told.append((link.url, wanted))

    def explain_link(self, link: Link) -> tuple[Reason, ...]:
        return (Reason(f"its anchor is {link.anchor}", 1.0),)


def gate(guess: Guesses | None = None, wanted: tuple[str, ...] = ("tr",)) -> LanguageGate:
    return LanguageGate(wanted, Ears(wanted), guess)  # type: ignore[arg-type]


def page(text: str) -> Page:
    return Page(HOME, text=text)


BEES = Keyword(keywords=("bee",))


# -- verdicts ----------------------------------------------------------------------------------


def test_a_page_in_another_language_is_not_relevant_and_says_why() -> None:
    heard, verdict = gate().judge(BEES, page("de " + "bee " * 30))
    plain = BEES.judge(page("de " + "bee " * 30))
    assert heard.detected_language == "de"
    assert (verdict.score, verdict.ungated) == (0.0, plain.score)
    assert plain.score > 0.5
    assert verdict.reasons[0] == Reason(
        "written in German, not in Turkish (topic.language)", -round(plain.score, 4)
    )
    assert verdict.reasons[1:] == plain.reasons, "what it is about is still told"


def test_a_wanted_page_passes_as_it_is() -> None:
    heard, verdict = gate().judge(BEES, page("tr bee"))
    assert heard.detected_language == "tr"
    assert verdict == BEES.judge(page("tr bee"))
    assert verdict.ungated is None


def test_nobody_is_blamed_for_too_few_words() -> None:
    heard, verdict = gate().judge(BEES, page("bee"))
    assert heard.detected_language == ""
    assert verdict == BEES.judge(page("bee"))


def test_who_is_not_sure_says_so() -> None:
    _, verdict = gate().judge(BEES, page("tr:0.4 bee"))
    assert verdict.score == 0.0
    assert "possibly written in Turkish, but that is only 40% sure" in verdict.reasons[0].what


def test_the_gate_is_shared_by_several_topics() -> None:
    both: Any = MultiTopicStrategy("keyword", ("bees", "owls"), (BEES, Keyword(keywords=("owl",))))
    _, verdict = gate().judge(both, page("de bee"))
    assert verdict.topics == (0.0, 0.0)
    assert verdict.ungated == both.judge(page("de bee")).score


def test_a_language_that_nobody_hears_is_taken_from_the_declaration() -> None:
    assert "html lang" in undetectable_note("yi")
    assert undetectable_note("tr") == undetectable_note("nb") == ""
    languages = build_language_gate(
        parse_settings({"topic": {"language": ["yi"]}, "language": {"predict": False}})
    )
    assert languages is not None
    declared = Page(HOME, text=GERMAN, language="yi-us")
    assert languages.judge(Breadth(), declared)[1] == Verdict(1.0)
    _, verdict = languages.judge(Breadth(), Page(HOME, text=GERMAN, language="de"))
    assert verdict.score == 0.0
    assert verdict.reasons[0].what == "written in German, not in Yiddish (topic.language)"
    assert languages.judge(Breadth(), Page(HOME))[1].score == 1.0


# -- links -------------------------------------------------------------------------------------


def test_links_are_worth_what_the_strategy_says_times_the_chance() -> None:
    links = [Link(HOME, anchor=chance, depth=1) for chance in ("0.9", "0.1", "0")]
    scores = rank_links(Breadth(), None, links, gate(Guesses()))
    assert scores[:2] == pytest.approx([0.45, 0.05])
    assert 0 < scores[2] < 0.05, "no link is hopeless"
    assert rank_links(Breadth(), None, links, gate()) == [0.5] * 3, "nobody foretells"
    assert rank_links(Breadth(), None, links) == [0.5] * 3
    assert rank_links(Breadth(), None, [], gate(Guesses())) == []


def test_what_a_person_gave_and_sitemaps_are_in_no_language() -> None:
    links = [
        Link(HOME, anchor="0", channel="seed"),
        Link(HOME, anchor="0", channel="example"),
        Link(HOME, HOME, anchor="0", channel="sitemap", rel="sitemap", parent=1.0),
    ]
    assert rank_links(Breadth(), None, links, gate(Guesses())) == [1.0, 1.0, SITEMAP_SCORE]


def test_it_says_when_it_has_learned_much() -> None:
    languages = gate(Guesses())
    seen = Verdict(1.0)
    heard = Page(HOME, detected_language="tr")
    told = [languages.record_visit(Visit(Link(HOME, HOME), 0.0, page=heard, verdict=seen))
            for _ in range(400)]  # fmt: skip
    when = [n for n, due in enumerate(told, 1) if due]
    assert when[:3] == [10, 20, 30]
    assert all(later - earlier >= max(10, earlier // 10) for earlier, later in pairwise(when))


def test_seeds_and_pages_that_nobody_understood_teach_nothing() -> None:
    guess = Guesses()
    languages = gate(guess)
    link = Link(HOME, HOME)
    for visit in (
        Visit(Link(HOME), 0.0, page=Page(HOME, detected_language="tr"), verdict=Verdict(1.0)),
        Visit(link, 0.0, page=Page(HOME), verdict=Verdict(1.0)),
        Visit(link, 0.0),
    ):
        assert not languages.record_visit(visit)
    assert guess.told == []
    languages.record_visit(
        Visit(link, 0.0, page=Page(HOME, detected_language="de"), verdict=Verdict(0.0, ungated=0.9))
    )
    assert guess.told == [(HOME, False)]


def test_breadth_first_goes_by_the_chance_among_links_of_one_depth(tmp_path: Path) -> None:
    web = two_languages()
    tables: dict[str, Any] = {
        "topic": {"language": ["tr"], "keywords": []},
        "crawl": {"strategy": "breadth", "pages": 3, "concurrency": 1},
    }
    crawl(tmp_path, web, [HOME], **tables)
    assert "http://a.test/tr/arilar" in web.paths()
    web = two_languages()
    crawl(tmp_path / "other", web, [HOME], **tables, language={"predict": False})
    assert "http://a.test/tr/arilar" not in web.paths(), "they stand last on the page"


# -- a whole crawl -----------------------------------------------------------------------------


def two_languages() -> FakeWeb:
    """A home page with links to pages in German, then to one in Turkish."""
    german = [f"http://a.test/de/{n}" for n in range(4)]
    body = "".join(f'<p><a href="{url}">Honig und Bienen {url[-1]}</a>' for url in german)
    home = f'<title>Bee</title>{body}<p><a href="/tr/arilar" hreflang="tr">Arı ve bal: Türkçe</a>'
    web = FakeWeb({HOME: home})
    for url in german:
        web.answers[url] = f"<title>bee {url}</title><p>bee honey {url[-1]} {GERMAN}"
    web.answers["http://a.test/tr/arilar"] = f"<title>bee</title><p>bee honey {TURKISH}"
    return web


def settings(**topic: Any) -> dict[str, Any]:
    return {
        "topic": {"language": ["tr"], "keyword_language": "en"} | topic,
        "crawl": {"strategy": "keyword"},
    }


def test_other_languages_are_kept_apart_and_counted(tmp_path: Path) -> None:
    report = crawl(tmp_path, two_languages(), [HOME], **settings())
    found = rows(tmp_path)
    assert found["http://a.test/tr/arilar"].tongue == "tr"
    assert found["http://a.test/tr/arilar"].relevant
    apart = found["http://a.test/de/1"]
    assert (apart.tongue, apart.verdict, apart.relevant) == ("de", 0.0, 0)
    assert apart.ungated is not None
    assert apart.ungated > 0.5
    assert apart.verdict_reasons[0].what == "written in German, not in Turkish (topic.language)"
    assert report.progress.foreign == {"de": 4}
    with Store.open(tmp_path, "read") as store:
        assert "Bienen" in store.visits.page_text(apart.id)[1], "its words are kept"
        assert store.counter.read_counts().tongues == {"de": 4, "tr": 2}
        assert status.collection_status(store, parse_settings(settings()), 0).foreign == {"de": 4}
        assert status.collection_status(store, parse_settings({}), 0).foreign == {}


def test_links_on_a_page_in_another_language_keep_what_it_is_about(tmp_path: Path) -> None:
    web = FakeWeb({HOME: '<title>bee</title><a href="/de">bee honey</a>'})
    web.answers["http://a.test/de"] = f'<title>bee</title><p>bee honey {GERMAN} <a href="/x">x</a>'
    web.answers["http://a.test/x"] = "<p>x"
    crawl(tmp_path, web, [HOME], **settings())
    found = rows(tmp_path)
    assert found["http://a.test/de"].verdict == 0.0
    assert found["http://a.test/x"].parent == found["http://a.test/de"].ungated
    crawl(tmp_path / "heard", web, [HOME], **settings(), language={"predict": False})
    assert rows(tmp_path / "heard")["http://a.test/x"].parent == 0.0, (
        "nothing else tells them apart"
    )


def test_exports_leave_them_out_unless_asked(tmp_path: Path) -> None:
    crawl(tmp_path, two_languages(), [HOME], **settings())
    (tmp_path / "topic.toml").write_text('[topic]\nlanguage = ["tr"]\n')
    collection = Collection(tmp_path)

    def urls(**more: Any) -> set[str]:
        done = collection.export(tmp_path / "x.csv", text=False, **more)
        return {line.split(",")[0] for line in done.path.read_text().splitlines()[1:]}

    assert not any("/de/" in url for url in urls())
    german = {f"http://a.test/de/{n}" for n in range(4)}
    assert urls(language="de") == german
    assert urls(language="all") == urls() | german
    assert urls(language="en") == set()
    assert collection.export(tmp_path / "x.csv", everything=True, language="de").rows == 4
    collection.label("http://a.test/de/1", 0.0)
    assert urls(language="de") == german - {"http://a.test/de/1"}
    collection.label("http://a.test/de/2", 1.0)
    assert urls() & german == {"http://a.test/de/2"}, "a person's word goes before the gate"
    with pytest.raises(ConfigError, match="did you mean 'de'"):
        urls(language="ger")


def test_a_page_that_a_person_called_good_is_relevant_in_any_language(tmp_path: Path) -> None:
    tables = settings(good=["http://a.test/de/1"])
    report = crawl(tmp_path, two_languages(), [HOME], **tables)
    found = rows(tmp_path)
    assert found["http://a.test/de/1"].relevant
    assert found["http://a.test/de/1"].verdict == 0.0
    assert report.progress.relevant == sum(bool(row.relevant) for row in found.values())


def test_another_wish_is_told_and_judging_anew_heeds_it(tmp_path: Path) -> None:
    report = crawl(tmp_path, two_languages(), [HOME], **settings(language=[]))
    assert rows(tmp_path)["http://a.test/de/1"].relevant
    assert not report.warnings
    tables = settings()
    report = crawl(tmp_path, two_languages(), [HOME], **tables)
    assert any("honeyguide judge" in warning for warning in report.warnings)
    assert not crawl(tmp_path, two_languages(), [HOME], **tables).warnings, "once is enough"
    topic = {"topic": tables["topic"] | {"keywords": ["honey", "bee"]}, "crawl": tables["crawl"]}
    rescore.rescore_pages(tmp_path, parse_settings(topic))
    found = rows(tmp_path)
    assert (found["http://a.test/de/1"].tongue, found["http://a.test/de/1"].relevant) == ("de", 0)
    with Store.open(tmp_path, "read") as store:
        assert store.counter.read_counts().tongues["de"] == 4
    topic["topic"]["language"] = ["de"]
    rescore.rescore_pages(tmp_path, parse_settings(topic))
    assert rows(tmp_path)["http://a.test/de/1"].relevant
    assert not rows(tmp_path)["http://a.test/tr/arilar"].relevant


def test_a_resumed_crawl_remembers_what_it_heard(tmp_path: Path) -> None:
    crawl(tmp_path, two_languages(), [HOME], **settings())
    guess = Guesses()
    with Store.open(tmp_path, "read") as store:
        gate(guess).restore(store)
    heard = [(row.url, row.tongue) for row in rows(tmp_path).values() if row.tongue]
    assert len(heard) == 6
    assert [told for told in guess.told if isinstance(told[1], str)] == heard
    assert [t for t in guess.told if t[1] is True] == [("http://a.test/tr/arilar", True)]


def test_an_explanation_tells_the_chance(tmp_path: Path) -> None:
    crawl(tmp_path, two_languages(), [HOME], **settings())
    topic = parse_settings(settings(seeds=[HOME], keywords=["bee"]))
    said = explain.explain_url(tmp_path, topic, "http://a.test/tr/arilar", 0.0)
    texts = [reason.what for reason in said.reasons]
    assert any("the chance of a page in Turkish" in text for text in texts)
    assert any("declared in a wanted language" in text for text in texts)
    any_language = parse_settings(settings(seeds=[HOME], keywords=["bee"], language=[]))
    bare = explain.explain_url(tmp_path, any_language, "http://a.test/tr/arilar", 0.0)
    assert len(bare.reasons) < len(said.reasons)


def test_notes_are_for_languages_that_nobody_hears(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        assert list(language_notes(store, parse_settings({}))) == []
        assert list(language_notes(store, parse_settings({"topic": {"language": ["tr"]}}))) == []
        assert (
            len(list(language_notes(store, parse_settings({"topic": {"language": ["tr", "yi"]}}))))
            == 1
        )


def test_whoever_only_judges_gets_the_gate_as_well(tmp_path: Path) -> None:
    topic: dict[str, Any] = {
        "topic": {"language": ["tr"], "keywords": ["bee"]},
        "crawl": {"strategy": "keyword"},
    }
    judge, _ = rescore.current_judge(tmp_path, parse_settings(topic))
    assert isinstance(judge, GatedStrategy)
    assert judge.judge(Page(HOME, text=f"bee {GERMAN}")).score == 0.0
    assert judge.judge(Page(HOME, text="bee")).score > 0, "a changed line is too short to tell"
    link = Link(HOME, HOME, hreflang="de", parent=1.0)
    assert 0 < judge.rank([link])[0] < judge.strategy.rank([link])[0]
    assert judge.explain(link)
    assert judge.learn([]).judge(Page(HOME, text="bee")).score > 0
    assert judge.traits == Keyword.traits
    crawl(tmp_path, two_languages(), [HOME], **topic)
    taught, _ = rescore.current_judge(tmp_path, parse_settings(topic))
    german = Link(Url("http://a.test/de/9"), Url("http://b.test/"), "Honig", parent=1.0)
    assert taught.rank([german])[0] < judge.rank([german])[0], "it knows what the crawl has heard"


# -- what is learned ---------------------------------------------------------------------------

FOREIGN = Visit(
    Link(HOME, HOME),
    0.0,
    page=Page(HOME, text="de", detected_language="de"),
    verdict=Verdict(0.0, (), (), 0.9),
)


def test_verdicts_of_the_gate_are_no_examples_of_the_topic() -> None:
    assert AutomaticTeacher().example_from(FOREIGN) is None
    off = FOREIGN._replace(verdict=Verdict(0.0, (), (), 0.1))
    assert AutomaticTeacher().example_from(off), "off the topic in any language"
    assert AutomaticTeacher().example_from(
        Visit(FOREIGN.link, 0.0, page=FOREIGN.page, verdict=Verdict(0.0))
    )
    example = AllVisitsTeacher().example_from(FOREIGN)
    assert example is not None
    assert (example.target, example.by, example.foreign) == (0.0, "visit", True)


def test_several_topics_do_not_judge_such_examples_by_themselves(tmp_path: Path) -> None:
    learned: dict[str, list[Example]] = {"bees": [], "owls": []}

    class Learner:
        def __init__(self) -> None:
            self.mine = next(taught)

        def offer(self, example: Example) -> None:
            self.mine.append(example)

    taught = iter(learned.values())
    raw: dict[str, Any] = {
        "topic": {"name": "bees", "keywords": ["bee"]},
        "topics": [{"name": "owls", "keywords": ["owl"]}],
    }
    with Store.open(tmp_path, "crawl") as store:
        tutors = MultiTopicLearner(Learner, store, parse_settings(raw))  # type: ignore[arg-type]
        example = AllVisitsTeacher().example_from(
            Visit(FOREIGN.link, 0.0, page=FOREIGN.page, verdict=Verdict(0.0, (), (0.0, 0.0), 0.9))
        )
        assert example is not None
        tutors.offer(example)
    assert [e.by for e in learned["bees"]] == [e.by for e in learned["owls"]] == ["visit"]


# -- settings ----------------------------------------------------------------------------------


def test_keywords_are_in_the_first_language_unless_said() -> None:
    def spoken(**topic: Any) -> str:
        return parse_settings({"topic": topic}).topic.keyword_language

    assert spoken() == "en"
    assert spoken(language=["tr", "de"]) == "tr"
    assert spoken(language=["tr"], keyword_language="en") == "en"
    assert spoken(keyword_language="de") == "de"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"topic": {"language": "tr"}}, r'language = \["tr"\].*keyword_language = "tr"'),
        ({"topic": {"language": ["tur"]}}, r"topic.language\[0\].*did you mean 'tr'"),
        ({"topic": {"keyword_language": "german"}}, "topic.keyword_language.*did you mean 'de'"),
        ({"topic": {"language": ["tr", "tr"]}}, "twice"),
        ({"language": {"threshold": 1.5}}, "language.threshold"),
        ({"language": {"predicts": True}}, "did you mean language.predict"),
    ],
)
def test_mistakes_are_told(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_settings(raw)


def test_a_label_says_nothing_of_languages(tmp_path: Path) -> None:
    crawl(tmp_path, two_languages(), [HOME], **settings())
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url("http://a.test/de/0"), 0.0)])
        assert store.counter.read_counts().tongues == {"de": 4, "tr": 2}
