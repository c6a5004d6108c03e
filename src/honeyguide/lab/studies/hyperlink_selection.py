"""Iliou et al., section 4.1: which hyperlinks lead to relevant pages?

Two support vector machines are trained in three stages, with 80, 90 and 100 % of the training
pages, and asked about links to the same test pages after each. *Interactive*: people say what the
new pages of a stage are. *Automatic*: the machine believes its own verdicts, from 0.8 on and up to
0.2. What counts is the selection of hyperlinks: equation 1 on a link, above 0.5, judged by the
page behind it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from honeyguide.api.chart import svg_chart
from honeyguide.errors import ConfigError
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean
from honeyguide.lab.studies.link_contexts import WAYS, SvmKernel, select_links
from honeyguide.lab.studies.study import JobOutcome, StudyTable, by_topic
from honeyguide.lab.studies.topic_pages import (
    LinkedPage,
    PageNeighbourhood,
    read_page,
    relevant_keys,
)
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.web import read_page_labels, without_scheme
from honeyguide.strategies.hybrid_svm import HybridSvm
from honeyguide.types import Example, Link, Page, Url

TITLE = "Iliou et al.: interactive and automatic adaptation"
ABOUT = """\
What counts is *hyperlink selection*, as in tables 3 and 4 of the paper: equation 1 on each link
to a test page (0.1 × page classifier on the page that it stands on + 0.9 × link classifier on its
words), above 0.5, judged by the page behind it. *To accept every link* is what costs nothing.
What the page classifier says of the same pages once they are fetched is another question, and
another table.

As in the paper: 138 training pages (80 good, 58 bad), of which 110 (64/46) make the first stage
and 14 (8/6) are added in each of the next two; 41 test pages (23/18). All are pages one link away
from good ones, those for testing from other pages than those for training (4 of 15 good pages, as
the paper's seeds). Pages are neighbours of good pages, so the bad ones are near misses. Where a
topic has fewer pages, all sizes shrink alike. No page weighs double here, and no cap holds self-
training back, as in the paper. Differs: several topics and draws instead of one.

*What else can be read before a page is fetched* trains the link classifier of the last
interactive stage on more of what is known: words of the address; 100 characters on each side of
the anchor, across its neighbours; the words around all links to the page on pages fetched so far;
all three; all three with a threshold that was chosen by cross-validation on the training links.
*The topic changes* begins with the first topic's pages and goes on, 14 pages at a time, with
those of a second one; test links lead to pages of the second.
"""
DEMO_TOPICS = ("backup-and-replication", "full-text-search", "authentication")

_TRAIN_SEEDS, _SEEDS = 11, 15
_HIGH, _LOW, _HALF = 0.8, 0.2, 0.5
_PAPER: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "interactive": ((0.61, 1.00, 0.76), (0.70, 1.00, 0.82), (0.91, 0.95, 0.93)),
    "automatic": ((0.61, 1.00, 0.76), (0.70, 0.94, 0.80), (0.78, 0.95, 0.86)),
}
_TAKEN = (5, 2)
"""Pages of 14 that the paper's machine believed itself about, in stages two and three."""
_PAPER_STAGES = (80, 90, 100)
_KINDS = (True, False)
_LEAST = 0.1
"""Less than such a share of the wanted pages is no study of them."""
_BATCHES = 4
"""Times 14 pages (8 good, 6 bad) of the second topic, after it changed."""


@dataclass(frozen=True, slots=True)
class LinkSelectionJob:
    """One draw of one topic."""

    web: WebSpec
    topic: str
    draw: int
    then: str = ""
    """The topic that it changes into; '': it does not."""
    train: tuple[int, int] = (80, 58)
    test: tuple[int, int] = (23, 18)
    """Good and bad pages."""
    stages: tuple[int, ...] = _PAPER_STAGES
    """Per cent of the training pages that each stage has."""
    split: str = ""
    """A file that says which pages are for testing and which for each stage; '': drawn."""
    kernels: tuple[SvmKernel, ...] = ("rbf", "linear")


@dataclass(frozen=True, slots=True)
class StagedPages:
    """The pages of one draw."""

    stages: tuple[list[LinkedPage], ...]
    test: list[LinkedPage]
    sources: Mapping[Url, Page]
    """Pages that the links of test pages stand on."""
    sides: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Good pages whose links are followed, for training and for testing."""


def run_job(job: LinkSelectionJob) -> JobOutcome:
    drawn = draw_pages(job)
    asked = {
        f"{mode} {kernel}": _train_stages(drawn, kernel, mode == "automatic")
        for kernel in job.kernels
        for mode in _PAPER
    }
    train = [seen for stage in drawn.stages for seen in stage]
    selected = select_links(job.web, train, drawn.test, drawn.sides, job.kernels[-1])
    return {
        "topic": job.topic,
        "draw": job.draw,
        "percent": list(job.stages),
        "sizes": [[sum(s.good for s in some), len(some)] for some in (*drawn.stages, drawn.test)],
        "stages": asked,
        "ways": {name: _count_right(drawn.test, kept) for name, kept in selected.items()},
        "change": _change_topic(job, drawn) if job.then else None,
    }


# --------------------------------------------------------------------------------------------------
# Pages: drawn, or as the user split them.
# --------------------------------------------------------------------------------------------------


def draw_pages(job: LinkSelectionJob) -> StagedPages:
    """Pages for training in stages and for testing; no page is in two parts."""
    good = sorted(relevant_keys(job.web, (job.topic,)))
    dice = random.Random(f"{job.web.name} {job.topic} {job.draw}")
    dice.shuffle(good)
    if job.split:
        return _split_pages(job, good, dice)
    cut = len(good) * _TRAIN_SEEDS // _SEEDS
    near = PageNeighbourhood(job.web, (job.topic,), good[cut:], dice)
    test = [near.sample_pages(kind, most) for kind, most in zip(_KINDS, job.test, strict=True)]
    taken = {without_scheme(seen.link.url) for some in test for seen in some}
    near = PageNeighbourhood(job.web, (job.topic,), good[:cut], dice)
    train = [
        near.sample_pages(kind, most, taken) for kind, most in zip(_KINDS, job.train, strict=True)
    ]
    have = [len(some) for some in (*test, *train)]
    share = min(n / m for n, m in zip(have, (*job.test, *job.train), strict=True))
    if share < _LEAST:
        raise ConfigError(
            f"too few pages about {job.topic!r} in {job.web.name} for this study: {have[0]} good "
            f"and {have[1]} bad ones for testing, {have[2]} and {have[3]} for training, each one "
            "link away from a good page. Give a topic with more pages, label more (of a "
            "collection: honeyguide label), or make --train and --test smaller"
        )
    parts: list[list[LinkedPage]] = []
    before = 0
    for percent in job.stages:
        sizes = [max(1, _stage_size(n, percent) - _stage_size(n, before)) for n in job.train]
        sizes = [max(1, int(size * share)) for size in sizes]
        parts.append([seen for some, n in zip(train, sizes, strict=True) for seen in some[:n]])
        train = [some[n:] for some, n in zip(train, sizes, strict=True)]
        before = percent
    asked = [
        seen
        for some, size in zip(test, job.test, strict=True)
        for seen in some[: max(1, int(size * share))]
    ]
    sides = tuple(good[:cut]), tuple(good[cut:])
    return StagedPages(tuple(parts), asked, _source_pages(job.web, asked), sides)


def _stage_size(pages: int, percent: int) -> int:
    """Of 80 and 58 pages, 80 % are 64 and 46, and 90 % are 72 and 52, as in the paper."""
    return int(pages * percent / 100 + 1e-9)


def _split_pages(job: LinkSelectionJob, good: Sequence[str], dice: random.Random) -> StagedPages:
    """What the file names, as far as a good page links to it."""
    part = {key: labels[0] for key, labels in read_page_labels([Path(job.split)]).items() if labels}
    near = PageNeighbourhood(job.web, (job.topic,), good, dice)
    seen = [page for kind in _KINDS for page in near.sample_pages(kind, len(part), part=part)]

    def named(name: str) -> list[LinkedPage]:
        return [page for page in seen if part[without_scheme(page.link.url)] == name]

    stages = tuple(named(str(number + 1)) for number in range(len(job.stages)))
    test = named("test")
    for name, some in (("test", test), ("1", stages[0])):
        if {page.good for page in some} != set(_KINDS):
            raise ConfigError(
                f"--split: part {name} needs pages about {job.topic!r} and others, each linked to "
                f"by a page about it; found {len(some)}. Lines are like "
                '{"url": "http://…", "labels": ["test"]}, with test or the number of a stage'
            )
    return StagedPages(stages, test, _source_pages(job.web, test), (tuple(good), tuple(good)))


def _source_pages(spec: WebSpec, test: Sequence[LinkedPage]) -> dict[Url, Page]:
    urls = {seen.link.source for seen in test if seen.link.source is not None}
    pages = {url: read_page(spec, Link(url)) for url in urls}
    return {url: page for url, page in pages.items() if page is not None}


# --------------------------------------------------------------------------------------------------
# The paper's protocol: stages, told by people or by the machine itself.
# --------------------------------------------------------------------------------------------------


def _train_stages(drawn: StagedPages, kernel: SvmKernel, alone: bool) -> list[JobOutcome]:
    """What the machine knows after each stage, alone or told by people."""
    machine = HybridSvm(kernel=kernel, alone=True)
    examples: list[Example] = []
    stages = []
    for number, stage in enumerate(drawn.stages):
        added = [_true_example(seen) for seen in stage]
        if alone and number:
            added = [one for seen in stage if (one := _believed_example(machine, seen)) is not None]
        truth = {seen.link.url: float(seen.good) for seen in stage}
        right = sum(one.target == truth[one.link.url] for one in added)
        examples += added
        machine = machine.learn(examples)
        read = [machine.judge(seen.page).score >= _HALF for seen in drawn.test]
        stages.append(
            {
                "added": [sum(one.target >= _HALF for one in added), len(added), right],
                "link": _count_right(drawn.test, _followed_links(machine, drawn)),
                "page": _count_right(drawn.test, read),
            }
        )
    return stages


def _true_example(seen: LinkedPage) -> Example:
    return Example(seen.link, seen.page, float(seen.good), "user")


def _believed_example(machine: HybridSvm, seen: LinkedPage) -> Example | None:
    score = machine.judge(seen.page).score
    if _LOW < score < _HIGH:
        return None
    return Example(seen.link, seen.page, float(score >= _HIGH), "judge")


def _followed_links(machine: HybridSvm, drawn: StagedPages) -> list[bool]:
    """Which links of test pages would be followed."""
    parents = {url: machine.judge(page).score for url, page in drawn.sources.items()}
    links = [
        seen.link._replace(parent=parents.get(seen.link.source or Url(""), 0.0))
        for seen in drawn.test
    ]
    return [score > machine.threshold for score in machine.rank(links)]


def _count_right(test: Sequence[LinkedPage], kept: Sequence[bool]) -> list[int]:
    """Right ones among those kept, those kept, and all that should be."""
    right = sum(seen.good and keep for seen, keep in zip(test, kept, strict=True))
    return [right, sum(kept), sum(seen.good for seen in test)]


def precision_recall_f(counts: Sequence[int]) -> tuple[float, float, float]:
    """Precision, recall, F of what :func:`_count_right` counted."""
    right, kept, good = counts
    precision, recall = right / kept if kept else 0.0, right / good if good else 0.0
    return precision, recall, 2 * right / (kept + good) if kept + good else 0.0


# --------------------------------------------------------------------------------------------------
# A topic whose words change: pages of another one from the second half on.
# --------------------------------------------------------------------------------------------------


def _change_topic(job: LinkSelectionJob, drawn: StagedPages) -> dict[str, list[list[int]]]:
    """F on links to the second topic's pages: before it, and after each batch of its pages."""
    other = LinkSelectionJob(job.web, job.then, job.draw, train=(8 * _BATCHES, 6 * _BATCHES))
    batches = tuple(100 * (n + 1) // _BATCHES for n in range(_BATCHES))
    later = draw_pages(
        LinkSelectionJob(job.web, job.then, job.draw, "", other.train, job.test, batches)
    )
    new = {seen.link.url for some in (later.test, *later.stages) for seen in some}
    first = [seen for seen in drawn.stages[0] if seen.link.url not in new]
    staged = StagedPages((first, *later.stages), later.test, later.sources)
    kernel = job.kernels[-1]
    static = _train_stages(StagedPages((first,), later.test, later.sources), kernel, False)
    modes = {"static": static * (_BATCHES + 1)}
    modes |= {mode: _train_stages(staged, kernel, mode == "automatic") for mode in _PAPER}
    return {mode: [stage["link"] for stage in stages] for mode, stages in modes.items()}


# --------------------------------------------------------------------------------------------------
# Tables and pictures.
# --------------------------------------------------------------------------------------------------


_NOTE = "Mean over topics of the mean over draws; after F its 95 % interval."


def result_tables(outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
    made = [
        _stage_table(outcomes, "link", "Hyperlink selection: equation 1 on links to test pages"),
        _way_table(outcomes),
    ]
    if any(o["change"] for o in outcomes):
        made.append(_change_table(outcomes))
    made.append(_stage_table(outcomes, "page", "The page classifier on the pages themselves"))
    return [*made, _belief_table(outcomes), _topic_table(outcomes)]


def draw_pictures(outcomes: Sequence[JobOutcome]) -> dict[str, str]:
    percent = outcomes[0]["percent"]
    kernel = _kernels(outcomes)[-1]
    curves = {
        mode: [
            (float(at), _estimates(outcomes, _stage_counts(f"{mode} {kernel}", n, "link"))[2].mean)
            for n, at in enumerate(percent)
        ]
        for mode in _PAPER
    }
    curves["every link"] = [(float(at), _accept_all(outcomes)[2]) for at in percent]
    if tuple(percent) == _PAPER_STAGES:
        curves |= {
            f"paper, {mode}": [(float(at), f[2]) for at, f in zip(percent, told, strict=True)]
            for mode, told in _PAPER.items()
        }
    pictures = {
        "selection": svg_chart(
            f"Hyperlink selection ({kernel})", "% of the training pages", "F", curves
        )
    }
    changed = [o for o in outcomes if o["change"]]
    if changed:
        pictures["change"] = svg_chart(
            "The topic changes: links to pages of the second one",
            "pages of the second topic",
            "F",
            {
                mode: [
                    (14.0 * n, _estimates(changed, _change_counts(mode, n))[2].mean)
                    for n in range(_BATCHES + 1)
                ]
                for mode in ("interactive", "automatic", "static")
            },
        )
    return pictures


Counting = Callable[[JobOutcome], Sequence[int]]


def _stage_counts(name: str, stage: int, what: str) -> Counting:
    return lambda outcome: outcome["stages"][name][stage][what]


def _change_counts(mode: str, batch: int) -> Counting:
    return lambda outcome: outcome["change"][mode][batch]


def _way_counts(way: str) -> Counting:
    return lambda outcome: outcome["ways"][way]


def _kernels(outcomes: Sequence[JobOutcome]) -> list[str]:
    return [name.split(" ")[1] for name in outcomes[0]["stages"] if name.startswith("interactive")]


def _estimates(
    outcomes: Sequence[JobOutcome], counts: Counting
) -> tuple[BootstrapEstimate, BootstrapEstimate, BootstrapEstimate]:
    """Precision, recall, F."""
    groups = by_topic(outcomes)
    each = [[precision_recall_f(counts(o)) for o in group] for group in groups]
    p, r, f = (bootstrap_mean([[row[n] for row in some] for some in each]) for n in range(3))
    return p, r, f


def _accept_all(outcomes: Sequence[JobOutcome]) -> tuple[float, float, float]:
    test = [o["sizes"][-1] for o in outcomes]
    share = sum(good for good, _ in test) / sum(size for _, size in test)
    return share, 1.0, 2 * share / (1 + share)


def _join_figures(figures: Sequence[float]) -> str:
    return " / ".join(f"{one:.2f}" for one in figures)


def _tell_estimates(each: Sequence[BootstrapEstimate]) -> str:
    f = each[2]
    return f"{_join_figures([one.mean for one in each])} [{f.low:.2f}, {f.high:.2f}]"


def _stage_table(outcomes: Sequence[JobOutcome], what: str, title: str) -> StudyTable:
    percent = tuple(outcomes[0]["percent"])
    rows: list[tuple[str, ...]] = []
    for mode, figures in _PAPER.items():
        if what == "link" and percent == _PAPER_STAGES:
            rows.append((f"paper, {mode}", *map(_join_figures, figures), ""))
        for kernel in _kernels(outcomes):
            name = f"{mode} {kernel}"
            each = [
                _tell_estimates(_estimates(outcomes, _stage_counts(name, n, what)))
                for n in range(len(percent))
            ]
            rows.append((f"ours, {mode}, {kernel}", *each, str(_f_gain(outcomes, name, what))))
    every, everything = "link" if what == "link" else "page", _join_figures(_accept_all(outcomes))
    rows.append((f"to accept every {every}", *[everything] * len(percent), ""))
    stages = tuple(f"{one} %: P / R / F" for one in percent)
    gained = f"F gained, {percent[0]} to {percent[-1]} %"
    return StudyTable(title, ("", *stages, gained), tuple(rows), _NOTE)


def _f_gain(outcomes: Sequence[JobOutcome], name: str, what: str) -> BootstrapEstimate:
    def f_measure(outcome: JobOutcome, stage: int) -> float:
        return precision_recall_f(outcome["stages"][name][stage][what])[2]

    return bootstrap_mean(
        [[f_measure(o, -1) - f_measure(o, 0) for o in group] for group in by_topic(outcomes)]
    )


def _way_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    def f_measure(outcome: JobOutcome, way: str) -> float:
        return precision_recall_f(outcome["ways"][way])[2]

    plain = next(iter(WAYS))
    rows = [("to accept every link", _join_figures(_accept_all(outcomes)), "")]
    for way in WAYS:
        told = _tell_estimates(_estimates(outcomes, _way_counts(way)))
        more = [
            [f_measure(o, way) - f_measure(o, plain) for o in group] for group in by_topic(outcomes)
        ]
        rows.append((way, told, "–" if way == plain else str(bootstrap_mean(more))))
    title = "What else can be read before a page is fetched (interactive, last stage)"
    head = ("the link classifier reads", "P / R / F", f"F more than {plain}")
    return StudyTable(title, head, tuple(rows), f"Kernel: {_kernels(outcomes)[-1]}. {_NOTE}")


def _change_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    changed = [o for o in outcomes if o["change"]]
    rows = [
        (
            mode,
            *(
                _tell_estimates(_estimates(changed, _change_counts(mode, n)))
                for n in range(_BATCHES + 1)
            ),
        )
        for mode in ("static", "automatic", "interactive")
    ]
    head = ("", *(f"after {14 * n} pages of the second topic" for n in range(_BATCHES + 1)))
    return StudyTable("The topic changes: links to pages of the second", head, tuple(rows), _NOTE)


def _belief_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    """How many of the new pages the machine believed itself about, and how often rightly."""
    later = range(1, len(outcomes[0]["percent"]))
    rows: list[tuple[str, ...]] = []
    if tuple(outcomes[0]["percent"]) == _PAPER_STAGES:
        rows.append(("paper", *(f"{taken} of 14" for taken in _TAKEN), ""))
    for kernel in _kernels(outcomes):
        stages = [o["stages"][f"automatic {kernel}"] for o in outcomes]
        each = [[stage[n]["added"] for stage in stages] for n in later]
        new = [sum(o["sizes"][n][1] for o in outcomes) for n in later]
        cells = [
            f"{14 * sum(a[1] for a in added) / max(1, size):.1f} of 14"
            for added, size in zip(each, new, strict=True)
        ]
        told = [a for added in each for a in added]
        right = sum(a[2] for a in told) / max(1, sum(a[1] for a in told))
        rows.append((f"ours, {kernel}", *cells, f"{right:.3f}"))
    head = ("", *(f"stage {n + 1}" for n in later), "rightly")
    return StudyTable("New pages that the automatic mode believed itself about", head, tuple(rows))


def _topic_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    kernel = _kernels(outcomes)[-1]
    rows = []
    for group in by_topic(outcomes):
        train = [sum(size for _, size in o["sizes"][:-1]) for o in group]

        def mean_f(counts: Counting, group: Sequence[JobOutcome] = group) -> str:
            return f"{sum(precision_recall_f(counts(o))[2] for o in group) / len(group):.2f}"

        cells = [
            " → ".join(
                mean_f(_stage_counts(f"{mode} {kernel}", n, "link"))
                for n in range(len(group[0]["percent"]))
            )
            for mode in _PAPER
        ]
        best = mean_f(_way_counts("all three"))
        every = f"{_accept_all(group)[2]:.2f}"
        rows.append((group[0]["topic"], f"{sum(train) / len(train):.0f}", every, *cells, best))
    head = ("topic", "training pages", "every link", *_PAPER, "all three")
    title = f"Each topic: F of hyperlink selection ({kernel}) after each stage"
    return StudyTable(title, head, tuple(rows))
