"""``honeyguide crawl --until-coverage … --min-precision …``: for one run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import Told
from tests.end_to_end.crawling import collection
from tests.site.server import Site
from tests.site.web import weave


def test_a_run_is_stopped_by_what_is_asked_for(site: Site, tmp_path: Path, told: Told) -> None:
    weave(site, site.addresses[:3], pages=30)
    folder = tmp_path / "bees"
    collection(folder, [site.url(site.addresses[0], "/")], stop={"min_visits": 10})
    before = (folder / "topic.toml").read_text()
    done = told("crawl", folder, "--min-precision", "1", "--json")
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert "(stop.precision = 1)" in facts["reason"]
    assert 10 <= facts["visits"] < 60
    done = told("crawl", folder, "--min-precision", "0.95")
    assert "(stop.precision = 0.95)" in done.out
    assert "pass another limit" in done.err
    assert (folder / "topic.toml").read_text() == before
    assert "no link is left" in told("crawl", folder).out, "the topic itself has no such rule"


def test_shares_are_shares(site: Site, tmp_path: Path, told: Told) -> None:
    folder = tmp_path / "bees"
    collection(folder, [site.url(site.addresses[0], "/")])
    for option in ("--until-coverage", "--min-precision"):
        for share in ("90", "-1", "nan"):
            done = told("crawl", folder, option, share)
            said = f"{option.rpartition('-')[2]} is a share" in done.err
            assert (done.code, said) == (2, True), done.err
    assert not (folder / "collection.db").exists(), "nothing was opened"
