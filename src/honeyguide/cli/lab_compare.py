"""``honeyguide lab compare``"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.formatting import progress_bar, say
from honeyguide.cli.options import (
    AliasesOption,
    DisallowOption,
    ErrorsOption,
    JsonOption,
    OpenLinksOption,
    RobotsOption,
    StripOption,
    robots_text,
)


@contextmanager
def count_jobs(what: str, out: Path) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts crawls; interrupted, it says how many are kept."""
    kept = 0, 0
    try:
        with progress_bar(what) as show:

            def done(number: int, total: int) -> None:
                nonlocal kept
                kept = number, total
                show(number, total)

            yield done
    except KeyboardInterrupt:
        say(
            f"honeyguide: interrupted; {kept[0]} of {kept[1]} crawls are kept in {out}, and the "
            "same command goes on with the others"
        )
        raise typer.Exit(130) from None


def compare_strategies(
    web: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Recorded webs, one comparison each; none: the demo."),
    ] = None,
    made: Annotated[
        list[str] | None,
        typer.Option("--made", metavar="PLAN", help="A made web, such as seed=7,pages=5000."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="LABEL", help="A label of its pages; repeat it."),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", "-s", metavar="NAME", help="Repeat it; references as well."),
    ] = None,
    draws: Annotated[int, typer.Option("--draws", metavar="N", min=1, help="Sets of seeds.")] = 5,
    budget: Annotated[
        int,
        typer.Option(
            "--budget",
            "-n",
            metavar="N",
            min=0,
            help="Visits; 0: as many as there are relevant pages.",
        ),
    ] = 0,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Drawn per set.")] = 3,
    seed: Annotated[
        list[str] | None,
        typer.Option("--seed", metavar="URL", help="Fixed seeds instead of drawn ones."),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Whom the others are measured against; otherwise the best.",
            show_default=False,
        ),
    ] = "",
    count: Annotated[
        int, typer.Option("--to", metavar="K", min=1, help="Count the visits to K relevant pages.")
    ] = 10,
    disallow: DisallowOption = None,
    robots: RobotsOption = None,
    strip: StripOption = None,
    aliases: AliasesOption = None,
    errors: ErrorsOption = 0.0,
    latency: Annotated[
        float,
        typer.Option("--latency", metavar="S", min=0, help="Simulated seconds until an answer."),
    ] = 0.0,
    delay: Annotated[
        float,
        typer.Option(
            "--delay",
            metavar="S",
            min=0,
            help="Simulated rest of a host; 0: the best candidate always goes first.",
        ),
    ] = 0.0,
    open_: OpenLinksOption = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Results.")] = Path(
        "comparison"
    ),
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=0, help="0: all cores.")
    ] = 0,
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
    """
    from honeyguide import registry
    from honeyguide.errors import ConfigError
    from honeyguide.lab.compare import CrawlTrial, WebSpec
    from honeyguide.lab.compare import run_comparison as run
    from honeyguide.lab.oracles import REFERENCE_STRATEGIES
    from honeyguide.lab.report import build_report, markdown_table, write_report
    from honeyguide.lab.variants import parse_variant
    from honeyguide.lab.web import demo_files, load_demo_topics

    def make_spec(name: str, files: tuple[str, ...] = (), plan: str = "") -> WebSpec:
        return WebSpec(
            name,
            files,
            plan,
            robots_text(robots, disallow),
            tuple(strip or ()),
            not open_,
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
    if baseline and baseline not in names:
        raise ConfigError(f"--baseline: {baseline!r} is not compared; add --strategy {baseline}")
    trials = [
        CrawlTrial(each, label, name, draw, budget, seeds)
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
        typer.echo(json.dumps(found.to_json()))
    else:
        typer.echo(markdown_table(found.all, found), nl=False)
        say(f"Curves and tables per topic: {out}/report.md")
