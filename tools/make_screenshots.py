"""The pictures of the studio in docs/how-to/studio/: python -m tools.make_screenshots

Everything on them is real: a crawl of the demo web that runs while they are taken, a small site
that changes, a comparison made in the lab. Needs Chromium, as the tests of the studio do.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.driving import browser
from tests.browser.keyboard import label
from tests.browser.looking import Looking, visitors, watched
from tests.browser.served import Studio, searching, studio
from tests.end_to_end.crawling import collection, honeyguide
from tests.lab_thread import serve_in_thread
from tests.site.server import Site

from honeyguide.lab.responses import ServingOptions
from honeyguide.lab.search_engine import LAB_ENGINE_URL, make_lab_engine
from honeyguide.lab.web import load_demo_web

FOLDER = Path(__file__).parents[1] / "docs" / "how-to" / "studio"
TOPIC, WATCHED = "full-text-search", "bees"
_RUN = "() => Number(document.querySelector('main .facts dd').innerText) >= 150"

_HIVES = ("oak", "river", "hill", "garden", "forest")
_NEWS = (
    "<p>The old queen was replaced in spring, and the colony is calm again.</p>",
    "<p>The old queen was replaced in May, and the colony swarmed twice.</p><p>Honey: 14 kg.</p>",
)


def _hive(name: str, news: str = "") -> str:
    links = "".join(f"<li><a href='/{other}'>The {other} hive</a>" for other in _HIVES)
    return (
        f"<html><head><title>The {name} hive</title></head><body><nav><ul>{links}</ul></nav><main>"
        f"<h1>The {name} hive</h1><p>A hive of the honey bee, kept since {1990 + len(name)}. "
        "Every bee of it gathers nectar from the lime trees by the road.</p>"
        f"{news}<p>Visitors are welcome on Sundays; honey is sold at the gate.</p></main></body>"
    )


def _watch(root: Path, site: Site) -> None:
    host = site.addresses[2]
    site.pages(host, {f"/{name}": _hive(name) for name in _HIVES})
    made = collection(
        root / WATCHED,
        [site.url(host, f"/{_HIVES[0]}")],
        watch={"second_look_s": 0.05, "min_interval_s": 0.0, "requests_per_hour": 1e6},
        description="Hives of the honey bee, and what happens to them.",
    )
    made.crawl()
    for news in _NEWS:
        site.pages(host, {"/river": _hive("river", news)})
        honeyguide("watch", made.folder, "--once", "--json")


@contextmanager
def _shown() -> Iterator[Studio]:
    with tempfile.TemporaryDirectory() as folder, Site() as site:
        root = Path(folder) / "topics"
        root.mkdir()
        _watch(root, site)
        chosen = ("-s", "honeyguide", "-s", "keyword", "-s", "breadth", "-t", TOPIC)
        honeyguide("lab", "compare", *chosen, "--draws", 3, "--out", root / "compared", timeout=300)
        web, serving = load_demo_web(), ServingOptions(latency_s=0.25)
        with serve_in_thread(web, serving, engine=make_lab_engine(web, serving)) as lab:
            asked = {"queries": ["stemming words"], "per_minute": 30.0}
            engine = {"engine": "searxng", "url": LAB_ENGINE_URL}
            searching(root / TOPIC, lab, pages=2000, search=engine | asked)
            with studio(root) as running:
                yield running


def _desk(visitor: Looking, folder: Path) -> None:
    truth = load_demo_web()

    def keep(name: str) -> None:
        visitor.page.wait_for_timeout(500)
        visitor.page.screenshot(path=folder / f"{name}.png")

    visitor.at("#/new")
    keep("new-topic")
    visitor.go(TOPIC, "start")
    visitor.page.get_by_role("button", name="Start the crawl").click()
    visitor.go(TOPIC, "live")
    visitor.page.wait_for_function(_RUN, timeout=60_000)
    visitor.go(TOPIC, "label")
    label(visitor.page, lambda url: TOPIC in truth.labels_of(url), 12)
    visitor.page.wait_for_timeout(2500)
    keep("label")
    visitor.go(TOPIC, "queries")
    visitor.page.locator("main li.card").first.wait_for()
    keep("queries")
    visitor.go(TOPIC, "live")
    keep("live")
    visitor.page.keyboard.press("t")
    keep("live-dark")
    visitor.page.keyboard.press("t")
    visitor.go(TOPIC, "start")
    keep("steer")
    visitor.go(TOPIC, "compare")
    keep("compare")
    visitor.page.get_by_role("heading", name="Comparisons in the lab").scroll_into_view_if_needed()
    visitor.page.mouse.wheel(0, 700)
    keep("compare-lab")
    visitor.go(TOPIC, "collection")
    visitor.page.locator("main input").first.fill("stemming")
    visitor.page.wait_for_timeout(2000)
    keep("collection")
    visitor.page.locator("main table.rows tbody tr a").first.click()
    visitor.settled()
    keep("page")
    visitor.go(WATCHED, "changes")
    keep("changes")
    visitor.at(visitor.page.locator("main a[href*='/diff']").first.get_attribute("href") or "")
    keep("difference")
    visitor.at("#/")
    keep("topics")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with _shown() as shown, browser() as chromium:
        with visitors(chromium) as context, watched(context, shown) as visitor:
            visitor.page.set_viewport_size({"width": 1100, "height": 780})
            visitor.page.emulate_media(color_scheme="light")
            _desk(visitor, folder)
        with visitors(chromium, phone=True) as context, watched(context, shown) as visitor:
            visitor.go(TOPIC, "label")
            visitor.page.wait_for_timeout(800)
            visitor.page.screenshot(path=folder / "label-phone.png")


if __name__ == "__main__":
    main()
