"""Made webs of several languages: whose pages tell which, and whose lie."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from honeyguide.errors import ConfigError
from honeyguide.lab.synthetic.topology import SyntheticPlan, parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.url import host_of

PLAN = parse_plan("seed=7,hosts=24,pages=900,languages=0.6,tongues=tr+az,topics=borg,traps=0")
DECLARED = re.compile(r'<html lang="(\w+)">').search
LINKS = re.compile(r'<a href="([^"]+)" hreflang="(\w+)">').findall
HEAD = re.compile(r'<link rel="alternate" hreflang="(\w+)" href="([^"]+)">').findall


def declared(web: SyntheticWeb) -> dict[str, list[tuple[str, str]]]:
    """Host → what each of its pages is written in, and what it says."""
    found = defaultdict(list)
    for record in web:
        said = DECLARED(record.body.decode())
        assert said is not None
        found[host_of(record.url)].append((web.true_language(record.url), said[1]))
    return found


def test_named_languages_are_labels() -> None:
    web = SyntheticWeb(PLAN)
    assert web.topics == ("borg", "tr", "az")
    written = Counter(map(web.true_language, web.page_urls()))
    assert set(written) == {"en", "tr", "az"}
    assert (written["tr"] + written["az"]) / len(web) == pytest.approx(0.6, abs=0.1)
    for tongue in ("tr", "az"):
        pages = list(web.urls_labelled(tongue))
        assert len(pages) == written[tongue]
        assert all(web.true_language(url) == tongue for url in pages)
        assert all(web.labels_of(url) == (tongue,) for url in pages)
    assert web.true_language("http://www.h0.example/about") == ""
    assert web.true_language("http://elsewhere.example/") == ""


def test_pages_tell_the_truth_and_addresses_nothing_unless_asked() -> None:
    web = SyntheticWeb(PLAN)
    assert all(is_ == said for pages in declared(web).values() for is_, said in pages)
    assert not any("hreflang" in record.body.decode() for record in web)
    assert not any(re.search(r"/(tr|az|en)/", url) for url in web.page_urls())


def test_addresses_and_hreflang_tell_on_some_hosts() -> None:
    web = SyntheticWeb(replace(PLAN, tongue_urls=0.5, errors=0.0, redirects=0.0))
    telling = {host_of(url) for url in web.page_urls() if re.search(r"/(tr|az|en)/", url)}
    assert 6 <= len(telling) <= 18, "about half"
    told = 0
    for record in web:
        text, name = record.body.decode(), host_of(record.url)
        if name in telling:
            path = record.url.removeprefix(f"http://{name}")
            assert path == "/" or path.startswith(f"/{web.true_language(record.url)}/")
        for href, tongue in (*LINKS(text), *((p, t) for t, p in HEAD(text))):
            url = href if href.startswith("http") else f"http://{name}{href}"
            assert web.true_language(url) == tongue, "what hreflang says is true"
            told += 1
        assert ("hreflang" in text) is (name in telling)
    assert told > 1000


def test_old_addresses_in_a_language_still_redirect() -> None:
    web = SyntheticWeb(replace(PLAN, tongue_urls=1.0, errors=0.1, redirects=0.2))
    seen: Counter[object] = Counter()
    for record in web:
        for href, _ in LINKS(record.body.decode()):
            url = href if href.startswith("http") else f"http://{host_of(record.url)}{href}"
            seen[web.resource_kind(url)] += 1
    assert None not in seen, "every link leads somewhere, or to a failure that was planned"
    assert seen["moved"] > 0
    assert seen["gone"] > 0


def test_some_hosts_declare_one_language_everywhere() -> None:
    hosts = declared(SyntheticWeb(replace(PLAN, tongue_lies=0.5)))
    lying = [pages for pages in hosts.values() if any(is_ != said for is_, said in pages)]
    assert 4 <= len(lying) <= 18
    assert all(len({said for _, said in pages}) == 1 for pages in lying)
    assert len({pages[0][1] for pages in lying}) > 1, "not all the same"


def test_a_wrong_language_says_what_is_wrong() -> None:
    with pytest.raises(ConfigError, match="no language 'tlh'; known: tr, az"):
        parse_plan("tongues=tr+tlh")
    with pytest.raises(ConfigError, match="tongue_lies must lie between 0 and 1"):
        SyntheticPlan(tongue_lies=2)
