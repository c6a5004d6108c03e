"""The webs that the benches crawl, as they are served to every strategy.

The recorded ones lie in a folder as gzip'd JSON lines (docs/how-to/compare.md) and are not part of
this project. Benches are run as scripts, so this folder is where they look for modules first: no
file in it may have the name of a package.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.web import demo_files

_ENCYCLOPEDIA = "wikipedia-schools-2007.jsonl.gz"
_ROBOTS = "User-agent: *\nDisallow: /wp/index/\n"


def schools(folder: Path) -> WebSpec:
    """An encyclopedia for schools, labelled by subject; the papers' studies crawl it as well.

    Its index pages, which list the subjects, are closed, and the line that prints an article's
    subject is left out. Links to pages that were not recorded are taken out, as on every recorded
    web here: ``replace(schools(folder), closed=False)`` has them, dead.
    """
    path = folder / _ENCYCLOPEDIA
    if not path.exists():
        raise ConfigError(f"{folder} has no {_ENCYCLOPEDIA}")
    return WebSpec("schools", (str(path),), robots=_ROBOTS, strip=("h3#siteSub",), closed=True)


def webkb(folder: Path) -> WebSpec:
    """Pages of computer science departments, labelled by kind; it starts from their home pages."""
    files = (str(folder / "webkb-cornell-texas.jsonl.gz"),)
    homes = sorted(open_web(WebSpec("webkb", files)).responder.web.urls_labelled("department"))
    return WebSpec("webkb", files, closed=True, seeds=tuple(homes))


def help_tr(folder: Path) -> WebSpec:
    """The help of an office suite, much of it in Turkish, labelled by module."""
    files = (str(folder / "libreoffice-help-tr.jsonl.gz"),)
    return WebSpec("help-tr", files, closed=True, language="tr")


def made_tongues() -> WebSpec:
    """A synthetic web of two like languages among others; a third of its hosts lie about theirs."""
    plan = "seed=21,pages=4000,hosts=40,languages=0.6,tongues=tr+az+ru,tongue_urls=0.5"
    return WebSpec("made", made=f"{plan},tongue_lies=0.3")


def made_small() -> WebSpec:
    """A synthetic web to look at estimates on."""
    return WebSpec("made", made="seed=11,pages=6000,hosts=40")


def made_large() -> WebSpec:
    return WebSpec("made", made="seed=7,pages=100000,hosts=200")


def made_hosts(seed: int) -> WebSpec:
    """A synthetic web of many hosts."""
    return WebSpec(f"made {seed}", made=f"seed={seed},pages=20000,hosts=100")


def frequent(web: WebSpec, most: int) -> list[str]:
    """The topics of a synthetic web that most of its pages have, the most frequent first."""
    truth = open_web(web).responder.web
    counts = Counter(label for url in truth.page_urls() for label in truth.labels_of(url))
    return [topic for topic, _ in counts.most_common(most)]


def scattered() -> tuple[WebSpec, ...]:
    """Synthetic webs of forums and blogs that nobody links to; an engine knows all of them."""
    rest = "hosts=300,pages=6000,scattered=0.98,zipf=0.4,focus=0.9,islands=0,mirrors=0,errors=0"
    return tuple(
        WebSpec(f"scattered {seed}", made=f"seed={seed},{rest}", reach=1.0) for seed in (43, 44)
    )


def known(web: WebSpec) -> WebSpec:
    """The same web, with an engine that knows all of it."""
    return replace(web, reach=1.0)


def demo() -> WebSpec:
    """The embedded web, on which the prior was learned."""
    return WebSpec("demo", demo_files())


def made_for_prior() -> dict[WebSpec, tuple[str, ...]]:
    """Synthetic webs to check the prior on, with the topics to look at; no other bench crawls them."""
    plans = {
        "seed=101,pages=20000,hosts=60": ("sqlite", "borg", "apache"),
        "seed=102,pages=30000,hosts=200,locality=0.3,telling_urls=0.6": (
            "django",
            "restic",
            "python",
        ),
        "seed=103,pages=20000,hosts=100,hubs_only=true": ("apache", "whoosh", "postgresql"),
        "seed=104,pages=20000,hosts=80,locality=0.1": ("sqlite", "django", "python"),
        "seed=105,pages=20000,hosts=20,locality=0.8": ("restic", "whoosh", "apache"),
    }
    return {WebSpec(f"made {plan}", made=plan): topics for plan, topics in plans.items()}
