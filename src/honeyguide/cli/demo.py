"""``honeyguide demo``"""

from __future__ import annotations

from pathlib import Path

from honeyguide.cli.formatting import (
    make_console,
    print_json,
    print_table,
    runnable_hints,
    safe_text,
    shell_quote,
)
from honeyguide.cli.options import JsonOption, demo_topics, option


def demo(
    topic: str = option(
        "--topic -t TOPIC",
        "Which of the demo's topics: {topics}.",
        "backup-and-replication",
        autocompletion=demo_topics,
    ),
    pages: int = option("--pages -n N", "Visits per crawl.", 300, min=1),
    folder: Path = option("--folder FOLDER", "Where the collections go.", Path("demo-collection")),
    as_json: JsonOption = False,
) -> None:
    """Crawl the embedded web, offline, and compare with breadth-first.

    Examples:

    `honeyguide demo`

    `honeyguide demo --topic authentication --pages 400`
    """
    from rich.text import Text

    from honeyguide.api.chart import terminal_chart
    from honeyguide.cli.terminal import CrawlDisplay
    from honeyguide.lab.demo import curve_points, run_demo
    from honeyguide.lab.web import load_demo_topics

    talk = make_console(stderr=True)
    wanted = load_demo_topics().get(topic)
    if wanted is not None and not as_json:
        talk.print(f"Looking for pages on {wanted.title} in manuals of free software,")
        talk.print("served on this machine under their own host names. No internet is used.\n")
    runs = run_demo(
        folder, topic, pages, lambda title, budget: CrawlDisplay(title, budget, quiet=as_json)
    )
    if as_json:
        facts = {
            run.title: {
                "visits": len(run.harvest.found),
                "relevant": run.harvest.found[-1] if run.harvest.found else 0,
                "harvest": round(run.harvest.rate, 4),
                "recall": round(run.harvest.recall, 4),
                "area": round(run.harvest.area, 4),
                "seconds": round(run.report.seconds, 2),
                "collection": str(run.collection.folder),
            }
            for run in runs
        }
        print_json(facts)
        return
    out = make_console()
    titles = ("crawl", "pages", "relevant", "harvest rate", "recall", "area", "pages/s")
    rows = []
    for run in runs:
        harvest, speed = run.harvest, run.report.progress.visits / max(0.001, run.report.seconds)
        shares = (f"{harvest.rate:.0%}", f"{harvest.recall:.0%}", f"{harvest.area:.2f}")
        relevant = harvest.found[-1] if harvest.found else 0
        rows.append((run.title, len(harvest.found), relevant, *shares, f"{speed:.0f}"))
    print_table(titles, rows, header_style="bold")
    out.print("\nRelevant pages found, by pages visited (judged by hand, not by the crawler):")
    for line in terminal_chart({run.title: curve_points(run) for run in runs}):
        out.print(Text.from_markup(line))
    first = shell_quote(runs[0].collection.folder)
    example = next(iter(row.url for row in runs[0].collection.pages()), "URL")
    out.print(f"\nThe collection is in {first}, the curves in {folder}/harvest.svg.")
    out.print("Next:")
    for line in (
        f"honeyguide status {first}",
        f"honeyguide explain {first} {shell_quote(safe_text(example))}",
        f"honeyguide export {first} --to pages.csv",
        "honeyguide new NAME        start your own",
    ):
        out.print(f"  {runnable_hints(line)}")
