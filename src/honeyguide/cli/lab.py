"""``honeyguide lab``: recorded webs, served locally, to try and compare crawlers."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from honeyguide.cli.formatting import (
    count_noun,
    print_json,
    print_table,
    progress_bar,
    safe_text,
    say,
)
from honeyguide.cli.lab_options import (
    AliasesOption,
    ClosedOption,
    DisallowOption,
    ErrorsOption,
    RobotsOption,
    StripOption,
    count_jobs,
    robots_text,
)
from honeyguide.cli.lab_study import app as study_app
from honeyguide.cli.options import (
    CliCommand,
    CliGroup,
    JsonOption,
    argument,
    open_collection,
    option,
)
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.lab.responses import ServingOptions
    from honeyguide.lab.search_engine import LabSearchEngine
    from honeyguide.lab.web import LabWeb


# --------------------------------------------------------------------------------------------------
# ``honeyguide lab compare``
# --------------------------------------------------------------------------------------------------


def compare_strategies(
    web: list[Path] | None = argument(
        "FILE", "Recorded webs, one comparison each; none: the demo.", None
    ),
    made: list[str] | None = option(
        "--made PLAN", "A synthetic web, such as seed=7,pages=5000.", None
    ),
    topic: list[str] | None = option("--topic -t LABEL", "A label of its pages; repeat it.", None),
    strategy: list[str] | None = option(
        "--strategy -s NAME", "Strategy or reference to compare; repeat it.", None
    ),
    draws: int = option("--draws N", "Sets of seeds.", 5, min=1),
    budget: int = option(
        "--budget -n N", "Visits; 0: as many as there are relevant pages.", 0, min=0
    ),
    seeds: int = option("--seeds N", "Seeds drawn per set.", 3, min=1),
    seed: list[str] | None = option("--seed URL", "Fixed seeds instead of drawn ones.", None),
    ontology: str = option(
        "--ontology FILE", "What the topic begins with, for strategies that read it.", ""
    ),
    concept: str = option("--concept NAME", "Which concept of the ontology the topic is.", ""),
    model: str = option("--model DIR", "A category model that the topic begins with.", ""),
    category: list[str] | None = option(
        "--category NAME", "Which of its categories the topic is; repeat it.", None
    ),
    baseline: str = option(
        "--baseline NAME",
        "Baseline for the differences; otherwise the best.",
        "",
        show_default=False,
    ),
    count: int = option("--to K", "Count the visits to K relevant pages.", 10, min=1),
    disallow: DisallowOption = None,
    robots: RobotsOption = None,
    strip: StripOption = None,
    aliases: AliasesOption = None,
    errors: ErrorsOption = 0.0,
    latency: float = option("--latency S", "Simulated seconds until an answer.", 1.0, min=0.01),
    delay: float = option(
        "--delay S",
        "Simulated delay between requests to a host; 0: the best candidate always goes first.",
        0.0,
        min=0,
    ),
    closed: ClosedOption = False,
    out: Path = option("--out -o DIR", "Results.", Path("comparison")),
    workers: int = option("--workers N", "0: all cores.", 0, min=0),
    as_json: JsonOption = False,
) -> None:
    """Run strategies on the same webs and topics, in simulated time, and compare them.

    Goes on where an interrupted comparison ended, and adds what is missing. References:
    `random`, `true-parent` and `oracle`, which know the truth.

    Examples:

    `honeyguide lab compare --topic backup-and-replication --strategy keyword --strategy breadth`

    `honeyguide lab compare schools.jsonl.gz -t Science.Biology.Birds -s keyword -s oracle
    --disallow /wp/index/ --strip h3#siteSub`

    `honeyguide lab compare --made seed=7,pages=3000 -t borg -s keyword -s breadth -n 300`

    `honeyguide lab compare --made seed=7,hosts=300,pages=6000,scattered=0.9 -t borg -n 300
    -s honeyguide -s honeyguide:engine=lab,queries=2`

    `honeyguide lab compare -t full-text-search -s honeyguide
    -s critic=hybrid_svm,links=honeyguide,order=best,teacher=both`

    `honeyguide lab compare pages.jsonl.gz -t birds --model models/animals --category birds
    -s topic_cnn -s topic_cnn:adapts=false -s topic_cnn+honeyguide`
    """
    from honeyguide import registry
    from honeyguide.lab.compare import run_comparison as run
    from honeyguide.lab.report import build_report, markdown_table, write_report
    from honeyguide.lab.trials import CrawlTrial, GivenKnowledge, WebSpec
    from honeyguide.lab.variants import REFERENCE_STRATEGIES, parse_variant, strategy_table
    from honeyguide.lab.web import demo_files, load_demo_topics

    def make_spec(name: str, files: tuple[str, ...] = (), plan: str = "") -> WebSpec:
        return WebSpec(
            name,
            files,
            plan,
            robots_text(robots, disallow),
            tuple(strip or ()),
            closed,
            tuple(seed or ()),
            tuple(map(str, aliases or ())),
            errors,
            latency,
            delay,
            reach=reach,
        )

    names = strategy or ["keyword", "breadth", "oracle"]
    variants = [parse_variant(name) for name in names]
    # What one of them may find through an engine is missing to the others.
    reach = max((each.engine.reach for each in variants if each.engine), default=0.0)
    webs = [make_spec(path.name.split(".")[0], (str(path),)) for path in web or []]
    webs += [make_spec(plan, plan=plan) for plan in made or []]
    labels = topic or []
    if not webs:
        webs = [make_spec("demo", demo_files())]
        labels = labels or list(load_demo_topics())
    if not labels:
        raise ConfigError("which topic? Name a label of the web's pages with --topic")
    for name, chosen in zip(names, variants, strict=True):
        if name not in REFERENCE_STRATEGIES:
            registry.find_strategy(chosen.name)
            strategy_table(chosen)
    given = GivenKnowledge(ontology, concept, model, tuple(category or ()))
    if given != GivenKnowledge() and len(labels) != 1:
        raise ConfigError(
            "--ontology, --concept, --model and --category say what one topic is: name it with "
            "--topic, and compare further topics by themselves"
        )
    stated = None if given == GivenKnowledge() else given
    if baseline and baseline not in names:
        raise ConfigError(f"--baseline: {baseline!r} is not compared; add --strategy {baseline}")
    trials = [
        CrawlTrial(each, label, name, draw, budget, seeds, given=stated)
        for each in webs
        for label in labels
        for name in names
        for draw in range(draws)
    ]
    with count_jobs("crawls", out) as done:
        results = run(trials, out, workers=workers, done=done)
    found = build_report(results, tuple(REFERENCE_STRATEGIES), baseline, count)
    write_report(results, out, found)
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(markdown_table(found.all, found), nl=False)
        say(f"Curves and tables per topic: {out}/report.md")


# --------------------------------------------------------------------------------------------------
# ``honeyguide lab overlap``
# --------------------------------------------------------------------------------------------------


def compare_overlap(
    first: Path = argument("A", "A collection's folder."),
    second: Path = argument("B", "Another collection's folder."),
    most: int = option("--most N", "Relevant pages of each to compare.", 5000, min=1),
    parts: int = option(
        "--parts N", "Also after each of so many parts of the visits.", 0, min=0, max=100
    ),
    words: int = option("--words N", "How many key phrases of each kind to list.", 15, min=0),
    as_json: JsonOption = False,
) -> None:
    """Compare what two crawls found: sites, documents, key words and key phrases they share.

    Lists the key phrases that both crawls have and those that only one has (RAKE), for several
    numbers of key words, and with --parts over time.

    Examples:

    `honeyguide lab overlap birds birds-by-hand`

    `honeyguide lab overlap birds birds-by-hand --parts 5`

    `honeyguide lab overlap birds birds-by-hand --json`
    """
    from dataclasses import asdict

    from honeyguide.lab.overlap import measure_overlap as measure

    one, two = open_collection(first), open_collection(second)
    with progress_bar("reading pages", quiet=as_json) as told:
        found = measure(one, two, most, parts, told)
    if as_json:
        print_json(asdict(found))
        return
    shared, names = "of them shared", (safe_text(one.name), safe_text(two.name))
    counts = {"sites": found.sites, "documents": found.documents, "key words": found.words,
              "key phrases": found.phrases}  # fmt: skip
    rows = [
        (what, row.first, f"{row.shares[0]:.1%}", row.second, f"{row.shares[1]:.1%}")
        for what, row in counts.items()
    ]
    print_table(("", names[0], shared, names[1], shared), rows)
    kinds = {"both": found.both, names[0]: found.only_first, names[1]: found.only_second}
    for name, phrases in kinds.items():
        if words and phrases:
            only = "key phrases of both" if name == "both" else f"only of {name}"
            typer.echo(f"{only}: {safe_text(', '.join(phrases[:words]))}")
    titles = ("best", "key words", "of the other", "key phrases", "of the other")
    print_table(
        titles,
        [
            (w.size, *(f"{share:.0%}" for share in (*w.words.shares, *w.phrases.shares)))
            for w in found.windows
        ],
    )
    if found.over_time:
        titles = ("after", "sites", "of the other", "documents", "of the other")
        print_table(
            titles,
            [
                (f"{part.share:.0%}", *(f"{s:.0%}" for row in rows for s in row.shares))
                for part in found.over_time
                for rows in [(part.overlap.sites, part.overlap.documents)]
            ],
        )


# --------------------------------------------------------------------------------------------------
# ``honeyguide lab``
# --------------------------------------------------------------------------------------------------


app = typer.Typer(
    cls=CliGroup,
    no_args_is_help=True,
    help="Recorded webs, served locally, to test and compare crawlers.",
)


app.command("compare", cls=CliCommand)(compare_strategies)
app.add_typer(study_app, name="study")
app.command("overlap", cls=CliCommand)(compare_overlap)


@app.command("serve", cls=CliCommand)
def serve_lab(
    web: list[Path] | None = argument(
        "FILE", "WARC files or gzip'd JSON lines; none: the embedded demo web.", None
    ),
    made: str = option("--made PLAN", "A synthetic web instead: seed=7,pages=100000.", ""),
    port: int = option("--port -p N", "0: any free port.", 8787),
    latency: float = option("--latency S", "Seconds before an answer.", 0.0, min=0),
    disallow: DisallowOption = None,
    robots: RobotsOption = None,
    strip: StripOption = None,
    aliases: AliasesOption = None,
    errors: ErrorsOption = 0.0,
    closed: ClosedOption = False,
    engine: bool = option("--engine", "Also serve a search engine, at search.lab.", False),
    reach: float = option("--engine-reach SHARE", "Share of the pages in its index.", 1.0),
    thinks: float = option("--engine-latency S", "Seconds until it answers.", 0.0, min=0),
    fault: str = option(
        "--engine-fault HOW",
        "down, slow, limited, garbage, html, million or hostile.",
        "",
        show_default=False,
    ),
) -> None:
    """Serve a recorded web under its own host names, as a forward proxy for any crawler.

    Examples:

    `honeyguide lab serve` then, in another terminal,
    `curl -x http://127.0.0.1:8787 http://www.sqlite.org/fts5.html`, or
    `honeyguide new bees --lab http://127.0.0.1:8787 -s http://www.sqlite.org/ -c you@example.org`

    `honeyguide lab serve pages.warc.gz --port 9000`

    `honeyguide lab serve --made seed=7,pages=100000 --errors 0.05 --latency 0.2`

    `honeyguide lab serve pages.jsonl.gz --disallow /index/ --strip h3#siteSub`

    `honeyguide lab serve --engine` then
    `curl 'http://127.0.0.1:8787/search?q=borg+backup&format=json'`
    """
    from honeyguide.lab.responses import ServingOptions
    from honeyguide.lab.search_engine import LAB_ENGINE_URL
    from honeyguide.lab.server import serve_web
    from honeyguide.lab.synthetic.topology import parse_plan
    from honeyguide.lab.synthetic.web import SyntheticWeb
    from honeyguide.lab.trials import read_redirects
    from honeyguide.lab.web import RecordedWeb, load_demo_web, without_scheme

    if not 0 <= port <= 65535:
        raise ConfigError(f"there is no port {port}; choose one up to 65535, or --port 0")
    serving = ServingOptions(
        robots=robots_text(robots, disallow) or None,
        latency_s=latency,
        strip=tuple(strip or ()),
        aliases=read_redirects(aliases or ()),
        error_rate=errors,
        closed=closed and not made,
    )
    served: LabWeb = (
        SyntheticWeb(parse_plan(made))
        if made
        else RecordedWeb.load(web)
        if web
        else load_demo_web()
    )
    counts = f"{count_noun(len(served), 'page')} on {count_noun(len(served.hosts), 'host')}"
    start = next(iter(served.page_urls()), "")
    say(f"{counts}, such as http://{safe_text(without_scheme(start))}" if start else counts)
    search_engine = (
        _build_engine(served, serving, reach, thinks, fault) if engine or fault else None
    )

    def announce(address: str) -> None:
        say(
            f"serving at {address}; crawl it with: honeyguide new NAME --lab {address}, or "
            "use it as HTTP proxy. Ctrl-C ends it."
        )
        if search_engine is not None:
            say(
                f"a search engine with {count_noun(len(search_engine.index), 'page')} answers at "
                f"{address}/search?q=…&format=json; for a crawl of this web, in its topic.toml:\n"
                f'\n[search]\nengine = "searxng"\nurl = "{LAB_ENGINE_URL}"\n'
            )

    try:
        serve_web(served, port=port, serving=serving, engine=search_engine, ready=announce)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} is in use; is a lab running already? try --port 0"
            ) from error
        if error.errno == errno.EACCES:
            raise ConfigError(f"port {port} needs administrator rights; try --port 0") from error
        raise


def _build_engine(
    web: LabWeb, serving: ServingOptions, reach: float, latency_s: float, fault: str
) -> LabSearchEngine:
    """Reading a large web takes a while: say how far it is."""
    from honeyguide.lab.search_engine import make_lab_engine

    with progress_bar("indexing") as show:
        return make_lab_engine(
            web, serving, reach=reach, latency_s=latency_s, fault=fault, progress=show
        )
