"""``honeyguide lab study``: the founding papers' experiments, on the user's own data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honeyguide.cli.formatting import print_json, say
from honeyguide.cli.lab_options import (
    ClosedOption,
    DisallowOption,
    RobotsOption,
    StripOption,
    count_jobs,
    robots_text,
)
from honeyguide.cli.options import CliCommand, CliGroup, JsonOption, argument, option
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.lab.trials import WebSpec

SourcesArgument = Annotated[
    list[Path] | None,
    argument("WEB", "WARC files, JSON lines or a collection's folder; none: the demo web."),
]
TopicsOption = Annotated[
    list[str] | None, option("--topic -t LABEL", "A label of its pages; repeat it.")
]
LabelsOption = Annotated[
    Path | None,
    option(
        "--labels FILE",
        "Labels of the pages: CSV or JSON lines with url and label. Yes, no and numbers are "
        "read as well, and are the topic `relevant`.",
        show_default=False,
    ),
]
SeedsOption = Annotated[
    list[str] | None, option("--seed -s URL", "Your own seeds instead of drawn ones; repeat it.")
]
DrawsOption = Annotated[int, option("--draws N", "Sets of pages or seeds for a topic.", min=1)]
OutOption = Annotated[Path, option("--out -o DIR", "Results, tables and pictures.")]
WorkersOption = Annotated[int, option("--workers N", "0: all cores.", min=0)]

app = typer.Typer(
    cls=CliGroup,
    no_args_is_help=True,
    help="The experiments of the founding papers, on your own pages: one command a paper.",
)


@app.command("000", cls=CliCommand)
def study_hyperlink_selection(
    web: SourcesArgument = None,
    topic: TopicsOption = None,
    labels: LabelsOption = None,
    then: str = option(
        "--then LABEL", "What a topic changes into; otherwise the next of the topics.", ""
    ),
    train: str = option("--train GOOD/BAD", "Pages for training.", "80/58"),
    test: str = option("--test GOOD/BAD", "Pages for testing.", "23/18"),
    stages: str = option("--stages PERCENT", "Training pages of each stage.", "80/90/100"),
    split: Path | None = option(
        "--split FILE",
        'Your own split: lines like {"url": "http://…", "labels": ["1"]}, with the number of a '
        "stage or test.",
        None,
        show_default=False,
    ),
    draws: DrawsOption = 1,
    disallow: DisallowOption = None,
    robots: RobotsOption = None,
    strip: StripOption = None,
    closed: ClosedOption = False,
    out: OutOption = Path("study-000"),
    workers: WorkersOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Iliou et al.: which links lead to relevant pages, as more pages are labelled?

    Examples:

    `honeyguide lab study 000`

    `honeyguide lab study 000 birds/ --train 40/30 --test 12/10 --draws 5`

    `honeyguide lab study 000 pages.warc.gz --labels labels.csv --stages 50/100`
    """
    from honeyguide.lab.studies.hyperlink_selection import DEMO_TOPICS, LinkSelectionJob

    if split is not None and not split.is_file():
        raise ConfigError(f"--split: there is no file {split}")
    spec = _web_spec(web, labels, out, disallow, robots, strip, closed)
    topics = _choose_topics(topic, web, labels, DEMO_TOPICS)
    percent = tuple(_parse_numbers(stages, "--stages"))
    if list(percent) != sorted({*percent}) or not 0 < percent[0] <= percent[-1] <= 100:
        raise ConfigError(f"--stages must grow and end at 100 at most, like 80/90/100: {stages!r}")
    following = [then] * len(topics) if then else [*topics[1:], *topics[:1]]
    jobs = [
        LinkSelectionJob(
            spec,
            name,
            draw,
            "" if other == name else other,
            _parse_pair(train, "--train"),
            _parse_pair(test, "--test"),
            percent,
            str(split or ""),
        )
        for draw in range(draws)
        for name, other in zip(topics, following, strict=True)
    ]
    _show_study("000", jobs, out, workers, as_json)


@app.command("001", cls=CliCommand)
def study_ontology_harvest(
    web: SourcesArgument = None,
    topic: TopicsOption = None,
    labels: LabelsOption = None,
    ontology: str = option(
        "--ontology FILE", "Your ontology, or cell or mammal.", "", show_default=False
    ),
    concept: str = option("--concept NAME", "The topic's concept in it.", ""),
    distance: int = option("--distance N", "Concepts within so many links.", 3, min=0),
    seed: SeedsOption = None,
    good: int = option("--good N", "Training pages; at most half of the topic's pages.", 73, min=1),
    bad: int = option("--bad N", "Pages that are not relevant, to so many good ones.", 47, min=1),
    budget: int = option("--budget -n N", "Visits.", 300, min=50),
    draws: DrawsOption = 1,
    disallow: DisallowOption = None,
    robots: RobotsOption = None,
    strip: StripOption = None,
    closed: ClosedOption = False,
    out: OutOption = Path("study-001"),
    workers: WorkersOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Zheng, Kang & Kim: train a network over an ontology, then crawl; against its rivals.

    Several topics are one: pages with any of the labels are relevant.

    Examples:

    `honeyguide lab study 001`

    `honeyguide lab study 001 schools.jsonl.gz -t Science.Biology.Mammals --ontology mammal
    --concept mammal --distance 4 -n 980 --draws 3`
    """
    from honeyguide.lab.studies.ontology_harvest import DEMO, OntologyJob, OntologyTopic

    if bool(ontology) != bool(concept):
        raise ConfigError("--ontology and --concept belong together: a file, and a concept in it")
    if web and not ontology:
        raise ConfigError("which ontology? Name a file with --ontology, its concept with --concept")
    spec = _web_spec(web, labels, out, disallow, robots, strip, closed)
    names = tuple(_choose_topics(topic, web, labels, DEMO.labels))
    start = _seed_urls(seed)
    chosen = OntologyTopic(
        concept or DEMO.name,
        names,
        ontology or DEMO.ontology,
        concept or DEMO.concept,
        distance,
        budget,
        good,
        bad,
        start,
    )
    jobs = [OntologyJob(spec, chosen, draw) for draw in range(draws)]
    _show_study("001", jobs, out, workers, as_json)


@app.command("002", cls=CliCommand)
def study_thread_sweep(
    web: SourcesArgument = None,
    made: str = option(
        "--made PLAN", "A synthetic web instead, such as seed=7,pages=500,hosts=100.", ""
    ),
    pages: int = option("--pages N", "Most pages to watch.", 100, min=10),
    fetchers: str = option("--fetchers N/N/…", "Numbers of threads that crawl (N).", "8/32/78"),
    comparers: str = option(
        "--comparers M/M/…",
        "Of threads that bring and compare (M, K): at most N/4 and 15.",
        "1/2/6/11",
    ),
    rounds: int = option("--rounds N", "Rounds of each.", 5, min=1),
    latency: float = option("--latency S", "Seconds until the server answers.", 0.05, min=0),
    out: OutOption = Path("study-002"),
    as_json: JsonOption = False,
) -> None:
    """Meegahapola et al.: how many threads, and which configuration, watch pages fastest?

    A local server answers; a tenth of its pages changes. Hosts are asked by one at a time, so a
    web of few hosts keeps few threads busy.

    Examples:

    `honeyguide lab study 002`

    `honeyguide lab study 002 --made seed=7,pages=6540,hosts=300 --pages 6540 --latency 0.9`
    """
    from honeyguide.lab.studies.thread_sweep import DEMO_PLAN, plan_jobs
    from honeyguide.lab.trials import WebSpec

    if web and made:
        raise ConfigError("give a web or --made, not both")
    chosen = made or DEMO_PLAN
    spec = (
        _web_spec(web, None, out, None, None, None, False) if web else WebSpec(chosen, made=chosen)
    )
    crawling, comparing = (
        _parse_numbers(fetchers, "--fetchers"),
        _parse_numbers(comparers, "--comparers"),
    )
    if min(*crawling, *comparing) < 1:
        raise ConfigError("--fetchers and --comparers count threads, from 1 on")
    jobs = plan_jobs(spec, pages, crawling, comparing, rounds, latency)
    # One after another: they are timed.
    _show_study("002", jobs, out, 1, as_json)


@app.command("003", cls=CliCommand)
def study_category_transfer(
    train: Annotated[
        list[Path] | None,
        argument("TRAIN", "Labelled texts, as for `honeyguide train`; none: the demo web."),
    ] = None,
    test: Path | None = option(
        "--test FILE", "Labelled texts that nothing is learned from.", None, show_default=False
    ),
    kind: list[str] | None = option(
        "--kind KIND", "linear, paper, conv, one_layer or sensitivity; repeat it.", None
    ),
    embedding: list[str] | None = option(
        "--embedding PATH", "Word vectors, or a BERT-like model; repeat it.", None
    ),
    repeats: int = option("--repeats N", "Repetitions.", 5, min=1),
    language: str = option(
        "--language CODE", "Language of the texts, such as tr; otherwise detected.", ""
    ),
    normalise: bool = option("--normalise", "Also with repaired Turkish.", False),
    text: str = option("--text NAME", "Column or key of the texts.", ""),
    label: str = option("--label NAME", "Column or key of the categories.", ""),
    epochs: int = option("--epochs N", "Most rounds of a network's training.", 20, min=1),
    most: int = option("--most N", "Most documents of either side.", 50_000, min=2),
    out: OutOption = Path("study-003"),
    workers: WorkersOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Alqaraleh & Sırın: train on two sets, test on a third, with several networks.

    Examples:

    `honeyguide lab study 003`

    `honeyguide lab study 003 one.csv two.csv --test three.csv --language tr --normalise`

    `honeyguide lab study 003 news.jsonl --test blogs.jsonl --embedding vectors.vec`
    """
    from honeyguide.lab.studies.category_transfer import plan_jobs, write_demo_sets

    if bool(train) != bool(test):
        raise ConfigError("name both: the sets to train with, and --test with the set to test on")
    sets, unseen = (list(map(str, train)), str(test)) if train else write_demo_sets(out)
    jobs = plan_jobs(
        sets,
        unseen,
        kinds=kind or (),
        embeddings=embedding or (),
        repeats=repeats,
        language=language,
        normalise=normalise,
        columns=(text, label),
        epochs=epochs,
        most=most,
    )
    _show_study("003", jobs, out, workers, as_json)


@app.command("004", cls=CliCommand)
def study_utility_volumes(
    web: SourcesArgument = None,
    topic: TopicsOption = None,
    labels: LabelsOption = None,
    seeds: int = option("--seeds N", "Seeds drawn for each set.", 5, min=1),
    seed: SeedsOption = None,
    good: int = option("--good N", "Good examples; at most a third of the topic.", 20, min=2),
    bad: int = option("--bad N", "Bad examples.", 120, min=2),
    budget: int = option("--budget -n N", "Visits.", 200, min=5),
    draws: DrawsOption = 1,
    disallow: DisallowOption = None,
    robots: RobotsOption = None,
    strip: StripOption = None,
    closed: ClosedOption = False,
    out: OutOption = Path("study-004"),
    workers: WorkersOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Xu, Yoon & Tourassi: their crawler with its search engine, against an adaptive one.

    All examples and half of them; raw, gross and net volume as time goes by; what both found.

    Examples:

    `honeyguide lab study 004`

    `honeyguide lab study 004 schools.jsonl.gz -t Science.Physics --closed --seeds 10 --good 40
    --bad 260 -n 600 --draws 3`
    """
    from honeyguide.lab.studies.utility_volumes import DEMO_TOPICS, UtilityJob

    spec = _web_spec(web, labels, out, disallow, robots, strip, closed)
    start = _seed_urls(seed)
    jobs = [
        UtilityJob(spec, name, draw, budget, seeds, good, bad, halved, start)
        for draw in range(draws)
        for name in _choose_topics(topic, web, labels, DEMO_TOPICS)
        for halved in (False, True)
    ]
    _show_study("004", jobs, out, workers, as_json)


def _seed_urls(named: Sequence[str] | None) -> tuple[str, ...]:
    from honeyguide.api.user_urls import possible_urls

    return tuple(possible_urls(name)[0] for name in named or ())


def _web_spec(
    sources: Sequence[Path] | None,
    labels: Path | None,
    out: Path,
    disallow: Sequence[str] | None,
    robots: Path | None,
    strip: Sequence[str] | None,
    closed: bool,
) -> WebSpec:
    from honeyguide.lab.studies.study import study_web
    from honeyguide.lab.trials import WebSpec

    serving = WebSpec(
        "", robots=robots_text(robots, disallow), strip=tuple(strip or ()), closed=closed
    )
    return study_web(sources or (), _read_labels(labels) if labels else {}, out, serving)


def _read_labels(file: Path) -> dict[str, str]:
    """Address → topic; a yes or no is told about the one topic there is."""
    from honeyguide.cli.label_file import label_value, read_label_words
    from honeyguide.lab.studies.study import OWN_TOPIC

    found = {}
    for url, word in read_label_words(file):
        try:
            found[url] = OWN_TOPIC if label_value(word) >= 0.5 else "other"
        except ConfigError:
            found[url] = word
    return found


def _choose_topics(
    named: Sequence[str] | None,
    sources: Sequence[Path] | None,
    labels: Path | None,
    demo: Sequence[str],
) -> list[str]:
    from honeyguide.lab.studies.study import OWN_TOPIC

    if named:
        return list(named)
    if not sources:
        return list(demo)
    if labels or any((source / "topic.toml").exists() for source in sources):
        return [OWN_TOPIC]
    raise ConfigError("which topic? Name a label of the web's pages with --topic")


def _parse_numbers(text: str, name: str) -> list[int]:
    parts = text.split("/")
    if not all(part.isdecimal() and len(part) < 7 for part in parts):
        raise ConfigError(f"{name} must be whole numbers like 80/58, not {text!r}")
    return [int(part) for part in parts]


def _parse_pair(text: str, name: str) -> tuple[int, int]:
    numbers = _parse_numbers(text, name)
    if len(numbers) != 2 or min(numbers) < 1:
        raise ConfigError(f"{name} must be two numbers like 80/58, not {text!r}")
    return numbers[0], numbers[1]


def _show_study(paper: str, jobs: Sequence[Any], out: Path, workers: int, as_json: bool) -> None:
    """Run the study with a bar, and print its tables."""
    from honeyguide.lab.studies.study import run_study

    with count_jobs("trials", out) as done:
        found = run_study(paper, jobs, out, workers=workers, done=done)
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_markdown(pictures=False), nl=False)
        say(f"Tables and pictures: {out}/report.md")
