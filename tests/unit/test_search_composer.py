"""Queries made from good and bad pages, and before there are any."""

from __future__ import annotations

from math import log

import pytest

from honeyguide.search.composer import ExampleBuffer, QueryComposer, QueryProposal
from honeyguide.search.phrases import (
    PagePhrases,
    PhraseMiner,
    WeightedPhrase,
    distinctive_phrases,
    unwanted_phrases,
)
from honeyguide.types import Url

GOOD = (
    "Living with lupus is hard. My lupus flare began. The joint pain and the fatigue came.",
    "I have lupus. A lupus flare, and joint pain, and the long fatigue.",
    "My lupus story. Lupus flare after lupus flare, then fatigue and a butterfly rash.",
    "On lupus: the butterfly rash. Joint pain. A lupus flare.",
)
BAD = (
    "Package leaflet of a drug. Active ingredient and shelf life. Joint pain.",
    "Active ingredient of the tablets. Shelf life. Package leaflet.",
    "The package leaflet says: shelf life. An active ingredient.",
    "Order now. Free delivery. Package leaflet, active ingredient.",
)


def filled(goods: int = 4, bads: int = 4, times: int = 1, **topic: object) -> QueryComposer:
    composer = QueryComposer("en", **topic)  # type: ignore[arg-type]
    for n in range(goods * times):
        text = GOOD[n % goods]
        composer.add_page(Url(f"http://good{n}.example/"), "", text, 1.0)
    for n in range(bads * times):
        composer.add_page(Url(f"http://bad{n}.example/"), "", BAD[n % bads], -1.0)
    return composer


def terms(made: list[QueryProposal], size: int) -> list[tuple[str, ...]]:
    return [p.query.terms for p in made if len(p.query.terms) == size]


def page(url: str, *keys: str, weight: float = 1.0) -> PagePhrases:
    return PagePhrases(Url(f"http://{url}/"), url.split("/")[0], weight, {key: key for key in keys})


def test_good_pages_say_what_to_ask() -> None:
    made = filled().propose_queries()
    singles = terms(made, 1)
    assert {("lupus",), ("lupus flare",), ("butterfly rash",)} <= set(singles)
    assert singles[0] in {("lupus",), ("lupus flare",)}
    assert not any("leaflet" in term for one in singles for term in one)


def test_the_weight_is_ln_psi_times_ln_of_one_more_than_the_hosts() -> None:
    good = [page("a.example", "x"), page("b.example", "x"), page("c.example", "y")]
    bad = [page(f"d{n}.example", "y", weight=-1.0) for n in range(8)]
    (best,) = distinctive_phrases(good, bad, 30)
    # x stands on 2 of 3 good and on none of 8 bad pages; y on one host only.
    assert best.key == "x"
    assert best.hosts == 2
    assert best.weight == pytest.approx(log((2.5 * 8.5) / (1.5 * 0.5)) * log(1 + 2))


def test_our_own_verdicts_count_half() -> None:
    bad = [page(f"d{n}.example", "z", weight=-1.0) for n in range(5)]
    good = [page("a.example", "x", weight=0.5), page("b.example", "x", weight=0.5)]
    (best,) = distinctive_phrases(good, bad, 30)
    assert best.weight == pytest.approx(log((1.5 * 5.5) / (0.5 * 0.5)) * log(3))


def test_what_stands_on_every_page_falls_out() -> None:
    good = [page(f"a{n}.example", "log", "x") for n in range(5)]
    bad = [page(f"b{n}.example", "log", weight=-1.0) for n in range(5)]
    assert [term.key for term in distinctive_phrases(good, bad, 30)] == ["x"]


def test_menus_and_names_of_one_host_are_no_queries() -> None:
    composer = QueryComposer("en")
    menu = "Next page. Forum rules. Lupusland members."
    for n in range(20):
        url = Url(f"http://www.lupusland.example/{n}")
        composer.add_page(url, "Lupusland", f"{menu} Lupus flare. Butterfly rash.", 1.0)
    composer.add_page(Url("http://other.example/"), "", "A lupus flare. The butterfly rash.", 1.0)
    said = {term for p in composer.propose_queries() for term in p.query.terms}
    assert {"lupus flare", "butterfly rash"} <= said
    assert not any("rules" in term or "page" in term or "lupusland" in term for term in said)


def test_a_site_does_not_vouch_for_its_own_name_even_alone() -> None:
    composer = QueryComposer("en")
    for n in range(3):
        url = Url(f"http://www.lupus-land.example/{n}")
        composer.add_page(url, "Lupus Land", "Lupus land. Butterfly rash.", 1.0)
    assert terms(composer.propose_queries(), 1) == [("butterfly rash",)]


def test_on_a_single_host_two_pages_must_have_a_phrase() -> None:
    good = [page("a.example/1", "x", "y"), page("a.example/2", "x")]
    assert [term.key for term in distinctive_phrases(good, [], 30)] == ["x"]
    assert {term.key for term in distinctive_phrases(good[:1], [], 30)} == {"x", "y"}


def test_a_hundred_pages_of_one_host_do_not_drown_the_others() -> None:
    crowd = [page(f"crowd.example/{n}", "menu") for n in range(100)]
    few = [page(f"h{n}.example", "topic") for n in range(12)]
    both = [page("h99.example", "menu"), page("crowd.example/x", "topic")]
    bad = [page(f"b{n}.example", "else", weight=-1.0) for n in range(20)]
    assert distinctive_phrases([*crowd, *few, *both], bad, 30)[0].key == "topic"


def test_pairs_and_triples_stand_together_on_two_good_pages_of_two_hosts() -> None:
    composer = filled()
    made = composer.propose_queries()
    pairs, triples = terms(made, 2), terms(made, 3)
    assert pairs
    assert triples
    for pair in pairs + triples:
        having = [text for text in GOOD if all(term in text.lower() for term in pair)]
        assert len(having) >= 2, pair
        assert len({word for term in pair for word in term.split()}) == len(" ".join(pair).split())


def test_two_pages_and_two_hosts_must_have_both() -> None:
    words = [WeightedPhrase("a", 1.0, 2), WeightedPhrase("b", 1.0, 2), WeightedPhrase("c", 1.0, 2)]
    good = [
        page("x.example/1", "a", "b"), page("x.example/2", "a", "b"),
        page("x.example/3", "a", "c"), page("y.example", "a", "c"),
    ]  # fmt: skip
    assert [places for places, _ in PhraseMiner(words, good, []).pairs()] == [(0, 2)]
    alone = [page("x.example/1", "a", "b"), page("x.example/2", "a", "b", "c")]
    assert [places for places, _ in PhraseMiner(words, alone, []).pairs()] == [(0, 1)]


def test_lifts_of_good_and_bad_pages() -> None:
    words = [WeightedPhrase("a", 1.0, 2), WeightedPhrase("b", 2.0, 2), WeightedPhrase("c", 4.0, 2)]
    good = [page(f"g{n}.example", "a", "b", "c") for n in range(2)]
    good += [page(f"h{n}.example") for n in range(2)]
    bad = [page("p.example", "a", "b", weight=-1.0), page("q.example", weight=-1.0)]
    mine = PhraseMiner(words, good, bad)
    # Together twice where chance says 2 · 2 / 4; on bad pages once, where it says 1 · 1 / 2.
    lift, harm = log(2.5 / 1.5), log(1.5 / 1.0)
    pairs = dict(mine.pairs())
    assert pairs[0, 1] == pytest.approx(1 + 2 + lift - harm)
    assert pairs[1, 2] == pytest.approx(2 + 4 + lift)
    # The best pair, b and c, and then a; there is no page with b and c among the bad ones.
    assert dict(mine.triples())[0, 1, 2] == pytest.approx(1 + 2 + 4 + 2 * lift)


def test_the_score_of_a_pair_by_hand() -> None:
    composer = QueryComposer("en")
    texts = ["Red kite. Nest box.", "Red kite. Nest box.", "Red kite."]
    for n, text in enumerate(texts):
        composer.add_page(Url(f"http://g{n}.example/"), "", text, 1.0)
    made = {p.query.key: p.score for p in composer.propose_queries()}
    kite = log((3.5 * 5.5) / (0.5 * 0.5)) * log(4)
    box = log((2.5 * 5.5) / (1.5 * 0.5)) * log(3)
    assert made['"red kite"'] == pytest.approx(kite)
    assert made['"nest box"'] == pytest.approx(box)
    # Together on 2 pages as expected of chance: 3 · 2 / 3.
    assert made['"nest box" "red kite"'] == pytest.approx(kite + box)


def test_what_bad_pages_are_about_is_left_out() -> None:
    made = filled(times=6).propose_queries()
    without = made[0].query.without
    assert "package leaflet" in without
    assert len(without) <= 3
    assert "joint pain" not in without
    assert all(len(term.split()) > 1 for term in without)


def test_a_phrase_is_left_out_only_with_three_bad_hosts_and_when_it_is_sure() -> None:
    good = [page(f"g{n}.example", "x") for n in range(30)]
    two = [page(f"b{n % 2}.example/{n}", "shelf life", weight=-1.0) for n in range(30)]
    three = [page(f"b{n % 3}.example/{n}", "shelf life", weight=-1.0) for n in range(30)]
    assert not unwanted_phrases(good, two, (), 3)
    assert [term.key for term in unwanted_phrases(good, three, (), 3)] == ["shelf life"]
    assert not unwanted_phrases(good, three, {"life"}, 3), "the topic's own words are spared"
    assert not unwanted_phrases(good[:2], three[:3], (), 3), "too few to be sure"
    single = [page(f"b{n % 3}.example/{n}", "leaflet", weight=-1.0) for n in range(30)]
    assert not unwanted_phrases(good, single, (), 3), "a single word may stand on good pages, too"
    harmed = [*good, page("g98.example", "shelf life"), page("g99.example", "shelf life")]
    assert not unwanted_phrases(harmed, three, (), 3), "good pages would go with it"


def test_each_query_names_pages_that_motivated_it() -> None:
    composer = filled()
    composer.add_page(Url("http://good9.example/self"), "", GOOD[0], 0.5)
    for proposal in composer.propose_queries():
        assert 1 <= len(proposal.pages) <= 5
        assert all("good" in url for url in proposal.pages)
    best = next(p for p in composer.propose_queries() if p.query.terms == ("lupus flare",))
    assert best.why == "on 5 of 5 good pages (5 hosts) and 0 of 4 bad ones"
    assert best.pages[-1] == "http://good9.example/self", "people's pages come first"


def test_until_there_are_good_pages_the_topic_is_asked() -> None:
    composer = QueryComposer("en", ["lupus", "butterfly rash"], "Stories of patients with fatigue.")
    composer.add_page(Url("http://bad.example/"), "", BAD[0], -1.0)
    made = composer.propose_queries()
    assert terms(made, 1)[:2] == [("lupus",), ("butterfly rash",)]
    assert ("fatigue",) in terms(made, 1)
    assert ("lupus", "butterfly rash") in terms(made, 2)
    assert {p.why for p in made} == {
        "the topic's keywords", "the topic's description",
        "the topic's keywords and description",
    }  # fmt: skip
    assert not QueryComposer("en").propose_queries()


def test_keywords_go_first_while_good_pages_are_few() -> None:
    few = filled(keywords=["wolf"]).propose_queries()
    assert terms(few, 1)[0] == ("wolf",)
    many = filled(times=20, keywords=["wolf"]).propose_queries()
    assert terms(many, 1)[0] != ("wolf",)
    assert ("wolf",) in terms(many, 1)


def test_made_anew_when_a_tenth_is_new() -> None:
    composer = filled(times=5)
    before = composer.propose_queries()
    composer.add_page(Url("http://new0.example/"), "", "Kidney biopsy. Lupus flare.", 1.0)
    assert composer.propose_queries() == before
    composer.add_page(Url("http://new1.example/"), "", "Kidney biopsy. Lupus flare.", 0.5)
    assert composer.propose_queries() == before, "our own verdict counts half: 1.5 of 20"
    composer.add_page(Url("http://new2.example/"), "", "Kidney biopsy. Lupus flare.", 0.5)
    assert ("kidney biopsy",) in terms(composer.propose_queries(), 1)


def test_a_second_reading_replaces_the_first() -> None:
    composer = filled()
    for n in range(4):
        composer.add_page(Url(f"http://good{n}.example/"), "", GOOD[n], -1.0)
    assert not composer.propose_queries()
    for n in range(4):
        composer.add_page(Url(f"http://good{n}.example/"), "", GOOD[n], 1.0)
    assert composer.propose_queries() == filled().propose_queries()
    for n in range(4):
        composer.add_page(Url(f"http://good{n}.example/"), "", "", 0.0)
    assert not composer.propose_queries()


def test_our_own_verdict_leaves_a_persons_as_it_is() -> None:
    memory = ExampleBuffer()
    memory.add(page("a.example", "x", weight=-1.0))
    memory.add(page("a.example", "y", weight=0.5))
    (only,) = memory
    assert only.weight == -1.0
    assert "y" in only.phrases


def test_a_bounded_number_of_pages_and_people_stay() -> None:
    memory = ExampleBuffer(most=20)
    for n in range(8):
        memory.add(page(f"person{n}.example", "x", weight=1.0))
    for n in range(6):
        memory.add(page(f"good{n}.example", "x", weight=0.5))
    for n in range(1000):
        memory.add(page(f"bad{n}.example", "x", weight=-0.5))
    assert len(memory) == 20
    assert len([p for p in memory.pages_of_side(True) if p.weight == 1.0]) == 8
    assert len([p for p in memory.pages_of_side(True) if p.weight == 0.5]) == 6, (
        "no flood washes them away"
    )
    assert [p.host for p in memory.pages_of_side(False)] == [
        f"bad{n}.example" for n in range(994, 1000)
    ]
    for n in range(30):
        memory.add(page(f"newer{n}.example", "x", weight=-1.0))
    assert len(memory) == 20
    assert memory.pages_of_side(False)[-1].host == "newer29.example"


def test_turkish_words_keep_their_letters() -> None:
    composer = QueryComposer("tr")
    for n in range(3):
        text = "DİZ PROTEZİ ve ağrı. Diz Protezi. AĞRI KESİCİ. Işın tedavisi, IŞIN TEDAVİSİ."
        composer.add_page(Url(f"http://h{n}.example/"), "", text, 1.0)
    singles = terms(composer.propose_queries(), 1)
    assert ("diz protezi",) in singles
    assert ("ışın tedavisi",) in singles


def test_scripts_without_blanks() -> None:
    composer = QueryComposer("zh")
    for n in range(3):
        composer.add_page(Url(f"http://h{n}.example/"), "", "红斑狼疮。患者的故事，红斑狼疮。", 1.0)
    for n in range(3):
        composer.add_page(Url(f"http://b{n}.example/"), "", "天气很好。故事。", -1.0)
    made = composer.propose_queries()
    assert ("红斑狼疮",) in terms(made, 1)
    thai = QueryComposer("th", ["โรคลูปัส"])
    assert terms(thai.propose_queries(), 1) == [("โรคลูปัส",)]


def test_an_unknown_language_still_asks() -> None:
    composer = QueryComposer("xx")
    for n in range(2):
        composer.add_page(Url(f"http://h{n}.example/"), "", "Mavro oleta. Zandi.", 1.0)
    assert ("mavro oleta",) in terms(composer.propose_queries(), 1)


def test_some_of_each_length_and_no_more_than_asked_for() -> None:
    composer = filled(times=3)
    assert composer.propose_queries(0) == []
    twelve = composer.propose_queries(12)
    assert [len(terms(twelve, size)) for size in (1, 2, 3)] == [6, 4, 2]
    assert [p.score for p in twelve] == sorted((p.score for p in twelve), reverse=True)
    assert filled(times=3).propose_queries(12) == twelve, "nothing is random"
