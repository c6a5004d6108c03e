"""The report about a collection as one HTML page, and as Markdown.

Titles, addresses, queries and notes come from the web or from a stranger's collection: all of them
are cut, cleared of invisible characters and escaped. The page loads nothing and runs nothing.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from honeyguide.api.chart import Points, svg_chart
from honeyguide.language_codes import language_name
from honeyguide.store.volumes import CrawlVolume, PrecisionEstimate, SampledResult
from honeyguide.training.documents import visible_text
from honeyguide.training.report import escape_markdown, markdown_table

if TYPE_CHECKING:
    from honeyguide.api.report import CollectionReport

_SHOWN_SAMPLE = 60
_TITLE_CHARS, _URL_CHARS = 160, 2_000
_FEW_JUDGED = 10
_UNITS = ((864_000, 86_400, "days"), (21_600, 3_600, "hours"), (600, 60, "minutes"))
"""From so many seconds on, what the time axis counts."""
TRUTH_NOTE = (
    "Labels teach as well: once the crawl has learned from them, the pages that they are about are "
    "no fresh evidence. Judge newly sampled pages then."
)

_STYLE = """
:root{--ground:#faf7f0;--card:#fffdf8;--ink:#1c1917;--soft:#57534e;--line:#e7e2d6;--mark:#b45309;
--good:#3f6212;--bad:#9f1239;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ground:#16130f;--card:#211d18;--ink:#f5f0e6;
--soft:#b8afa2;--line:#3b352c;--mark:#fbbf24;--good:#a3e635;--bad:#fb7185}
svg [stroke="#64748b"]{stroke:#a8b5c7}svg [fill="#64748b"]{fill:#a8b5c7}
svg [stroke="#0f766e"]{stroke:#2dd4bf}svg [fill="#0f766e"]{fill:#2dd4bf}
svg [stroke="#d97706"]{stroke:#fbbf24}svg [fill="#d97706"]{fill:#fbbf24}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:72rem;margin:0 auto;padding:2.5rem 1.5rem 4rem}
h1{font-size:2rem;line-height:1.2;margin:0;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:0 0 .75rem}
p{margin:.4rem 0;max-width:46rem}
.soft,small{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:14px;
padding:1.25rem 1.5rem;margin-top:1.25rem;min-width:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:1rem;
margin-top:1.5rem}
.tile{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:.9rem 1.1rem}
.tile b{display:block;font-size:1.7rem;line-height:1.2;font-variant-numeric:tabular-nums}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:0 1.25rem}
.wide{overflow-x:auto}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:16px}svg text[font-size]{fill:var(--ink);font-size:19px}
svg>rect:first-of-type{fill:transparent}svg line{stroke:var(--line)}
table{border-collapse:collapse;width:100%;font-size:.93rem}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;
font-variant-numeric:tabular-nums;vertical-align:top;white-space:nowrap}
th{color:var(--soft);font-weight:500;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;
overflow-wrap:anywhere;min-width:9rem}
.notes th:last-child,.notes td:last-child{text-align:left;white-space:normal;min-width:17rem}
.notes td:first-child{min-width:6rem}
tr:last-child td{border-bottom:0}
ol{padding-left:1.6rem;margin:.5rem 0}li{margin:.55rem 0;overflow-wrap:anywhere}
a{color:inherit;text-decoration-color:var(--mark);text-underline-offset:.18em}
code{font:.88em ui-monospace,monospace;overflow-wrap:anywhere}
pre{background:var(--ground);border:1px solid var(--line);border-radius:8px;padding:.6rem .8rem;
overflow-x:auto;margin:.6rem 0}
summary{cursor:pointer;color:var(--soft)}
.good{color:var(--good)}.bad{color:var(--bad)}
@media(max-width:640px){main{padding:1.5rem .9rem 3rem}section{padding:1rem}
.tiles{grid-template-columns:1fr 1fr;gap:.6rem}.wide svg{min-width:31rem}
th,td{padding:.3rem}th:first-child,td:first-child{min-width:7rem}
.notes td:first-child{min-width:4rem}
h1{font-size:1.6rem}}
@media print{body{background:#fff}section,.tile{break-inside:avoid}}
"""
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_html(found: CollectionReport) -> str:
    """One file, readable offline, in light and dark, on paper and on a telephone."""
    out = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{REPORT_POLICY}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(found.name)}: report</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{escape(_clean_text(found.name))}</h1>",
        f'<p class="soft">{escape(_clean_text(_topic_line(found), 400))}</p>',
        f'<p class="soft">{escape(_when_line(found))}</p>',
        '<div class="tiles">',
        *(
            f'<div class="tile"><b>{escape(value)}</b><small>{escape(what)}</small></div>'
            for what, value in _headline_figures(found)
        ),
        "</div>",
        *_card_section("Volume over time", [_volume_intro(found), *_volume_charts(found)]),
        *_card_section(_judging_title(found), _judging_parts(found)),
        '<div class="pair">',
        *_card_section(
            "Harvest", [_chart_box(*_harvest_chart(found)), _soft_line(_harvest_words(found))]
        ),
        *_card_section("Coverage", _coverage_parts(found)),
        "</div>",
        *_card_section("The surest pages", [_page_list(found.best)] if found.best else []),
        '<div class="pair">',
        *_table_section("Sites", ("site", "visits", "relevant", "failed"), _host_rows(found)),
        *_table_section("Languages", ("language", "pages"), _language_rows(found)),
        "</div>",
        *_table_section("What was learned", _GENERATION_COLUMNS, _generation_rows(found), "notes"),
        *_table_section("Queries", _QUERY_COLUMNS, _query_rows(found)),
        "</main></body></html>",
    ]
    return "".join(c for c in "\n".join(out) if c.isprintable() or c == "\n") + "\n"


# -- Figures and sentences that both forms share --


def _topic_line(found: CollectionReport) -> str:
    words = ", ".join(found.keywords)
    return found.description or (f"Keywords: {words}" if words else "A collection of web pages")


def _when_line(found: CollectionReport) -> str:
    if not found.pages:
        return f"Nothing was fetched yet. Counted on {_show_time(found.made)}."
    return (
        f"Pages fetched from {_show_time(found.first)} to {_show_time(found.last)}; strategy "
        f"{found.strategy}; verdicts from {found.threshold:.2g} on count as relevant. Counted on "
        f"{_show_time(found.made)}."
    )


def _headline_figures(found: CollectionReport) -> list[tuple[str, str]]:
    end = found.cumulative[-1] if found.cumulative else CrawlVolume(0, 0, 0, 0, 0)
    covered = found.coverage.covered if found.coverage else 0.0
    return [
        ("pages fetched (raw)", f"{end.raw:,}"),
        ("called relevant (gross)", f"{end.gross:,}"),
        ("relevant, by the judged sample (net)", "–" if found.net is None else f"{found.net:,.0f}"),
        ("precision of the sample", _show_share(found.precision.value)),
        ("of the topic found, estimated", _show_share(covered or None)),
        ("site" if found.hosts == 1 else "sites", f"{found.hosts:,}"),
    ]


def _precision_words(one: PrecisionEstimate) -> str:
    if one.value is None:
        return "nothing is judged yet"
    low, high = one.interval
    few = "" if one.judged >= _FEW_JUDGED else "; that is too few to rely on"
    return (
        f"{one.confirmed} of {one.judged} are relevant: precision {one.value:.0%}, between "
        f"{low:.0%} and {high:.0%} (95 % interval{few})"
    )


def _volume_intro(found: CollectionReport) -> str:
    return _soft_line(
        "Raw: pages fetched. Gross: those that the crawler calls relevant. Net: gross times the "
        "precision of the judged sample. Temporal precision is that of one span of "
        f"{_span_words(found.span_s)}, cumulative precision that of everything so far."
    )


def _judging_title(found: CollectionReport) -> str:
    every = found.sample_every
    return "All results, for judging" if every == 1 else f"One result in {every}, for judging"


def _harvest_words(found: CollectionReport) -> str:
    if not found.visits:
        return "No visit yet."
    share = f"{found.relevant / found.visits:.0%}"
    return f"{found.relevant:,} of {found.visits:,} visits were relevant: harvest rate {share}."


def _coverage_words(found: CollectionReport) -> str:
    one = found.coverage
    if one is None or not one.covered:
        return "How much of the topic is found cannot be estimated yet."
    return (
        f"About {one.covered:.0%} of what is in reach is found: {one.found:,} pages of some "
        f"{one.total:,.0f} (between {one.low:,.0f} and {one.high:,.0f}). The curve divides what "
        f"was found after so many visits by today's estimate. Because: {one.why}."
    )


def _open_sample(found: CollectionReport) -> list[SampledResult]:
    return [one for one in found.sample if one.relevant is None]


def _label_commands(found: CollectionReport) -> list[str]:
    name = shlex.quote(visible_text(found.folder))
    return [
        f"honeyguide label {name} --good URL --bad URL",
        f"honeyguide report {name} --sample judge.csv    # fill in the column label, then:",
        f"honeyguide label {name} judge.csv",
    ]


_GENERATION_COLUMNS = ("generation", "made", "labels", "pages judged", "relevant", "what was said")
_QUERY_COLUMNS = ("query", "by", "results", "fetched", "relevant")
_VOLUME_COLUMNS = ("until", "raw", "gross", "judged", "precision", "raw in all", "gross in all",
                   "precision in all")  # fmt: skip


def _volume_rows(found: CollectionReport) -> list[list[str]]:
    return [
        [
            _span_words(one.until), f"{one.raw:,}", f"{one.gross:,}", str(one.judged),
            _show_share(one.precision), f"{so_far.raw:,}", f"{so_far.gross:,}",
            _show_share(so_far.precision),
        ]
        for one, so_far in zip(found.temporal, found.cumulative, strict=True)
    ]  # fmt: skip


def _host_rows(found: CollectionReport) -> list[list[str]]:
    return [
        [_clean_text(one.host), f"{one.visits:,}", f"{one.relevant:,}", f"{one.failures:,}"]
        for one in found.top_hosts
    ]


def _language_rows(found: CollectionReport) -> list[list[str]]:
    return [[language_name(code), f"{pages:,}"] for code, pages in found.languages.items()]


def _generation_rows(found: CollectionReport) -> list[list[str]]:
    return [
        [
            f"{one.number}{' (decides)' if one.live else ''}",
            _show_time(one.at) if one.at else "–", str(one.labels), f"{one.pages:,}",
            f"{one.relevant:,}", _clean_text(one.note, 300),
        ]
        for one in found.generations
    ]  # fmt: skip


def _query_rows(found: CollectionReport) -> list[list[str]]:
    return [
        [_clean_text(q.query, 200), _clean_text(q.by), str(q.results), str(q.fetched),
         str(q.relevant)]
        for q in found.queries
    ]  # fmt: skip


# -- HTML --


def _card_section(title: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        yield f"<section><h2>{escape(title)}</h2>"
        yield from parts
        yield "</section>"


def _table_section(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], style: str = ""
) -> list[str]:
    return list(_card_section(title, [_html_table(columns, rows, style)] if rows else []))


def _html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], style: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f'<div class="wide"><table class="{style}"><tr>{head}</tr>{body}</table></div>'


def _soft_line(words: str) -> str:
    return f'<p class="soft">{escape(words)}</p>'


def _chart_box(title: str, x: str, y: str, curves: dict[str, Points]) -> str:
    drawn = {name: points for name, points in curves.items() if len(points) > 1}
    return f'<div class="wide">{svg_chart(title, x, y, drawn)}</div>' if drawn else ""


def _volume_charts(found: CollectionReport) -> list[str]:
    if not found.cumulative:
        return []
    seconds, unit = _time_unit(found.cumulative[-1].until)

    def curve(volumes: Sequence[CrawlVolume], what: str) -> Points:
        values = ((one.until / seconds, getattr(one, what)) for one in volumes)
        return [(x, y) for x, y in values if y is not None]

    value = found.precision.value
    volumes: dict[str, Points] = {
        name: [(0.0, 0.0), *curve(found.cumulative, name)] for name in ("raw", "gross")
    }
    if value is not None:
        volumes["net"] = [(x, y * value) for x, y in volumes["gross"]]
    precisions: dict[str, Points] = {
        "cumulative": curve(found.cumulative, "precision"),
        "temporal": curve(found.temporal, "precision"),
    }
    pictures = [
        _chart_box("Pages so far", unit, "pages", volumes),
        _chart_box("Precision of the judged sample", unit, "precision", precisions),
    ]
    rows = _html_table(_VOLUME_COLUMNS, _volume_rows(found))
    return [
        f'<div class="pair">{"".join(pictures)}</div>',
        f"<details><summary>All figures, by time</summary>{rows}</details>",
    ]


def _judging_parts(found: CollectionReport) -> list[str]:
    if not found.sample:
        return [_soft_line("Nothing is called relevant yet.")]
    open_ones = _open_sample(found)
    commands = "\n".join(_label_commands(found))
    parts = [
        f"<p>Of this sample, {escape(_precision_words(found.precision))}.</p>",
        _soft_line(
            f"Of all results with labels, {_precision_words(found.all_judged)}. {TRUTH_NOTE}"
        ),
        f"<pre><code>{escape(commands)}</code></pre>",
    ]
    if open_ones:
        left = len(open_ones) - _SHOWN_SAMPLE
        more = _soft_line(f"… and {left:,} more, in the file of --sample.") if left > 0 else ""
        parts += [_page_list(open_ones[:_SHOWN_SAMPLE]), more]
    else:
        parts.append(_soft_line("Every page of the sample is judged."))
    return parts


def _page_list(results: Sequence[SampledResult]) -> str:
    marks = {True: ' · <span class="good">judged good</span>', False: ' · <span class="bad">judged '
             "bad</span>", None: ""}  # fmt: skip
    rows = (
        f"<li>{_result_link(one)}<br><small>{escape(_clean_text(one.url, _TITLE_CHARS))} · verdict "
        f"{one.verdict:.2f}{marks[one.relevant]}</small></li>"
        for one in results
    )
    return f"<ol>{''.join(rows)}</ol>"


def _result_link(one: SampledResult) -> str:
    title = escape(_page_title(one))
    if len(one.url) > _URL_CHARS or not one.url.startswith(("http://", "https://")):
        return title
    return f'<a href="{escape(one.url)}" rel="noopener noreferrer nofollow">{title}</a>'


def _harvest_chart(found: CollectionReport) -> tuple[str, str, str, dict[str, Points]]:
    points = [(0.0, 0.0), *((float(x), float(y)) for x, y in found.harvest)]
    return "Relevant pages found", "visits", "relevant pages", {"found": points}


def _coverage_parts(found: CollectionReport) -> list[str]:
    one, words = found.coverage, _soft_line(_coverage_words(found))
    if one is None or not one.covered or one.total <= 0:
        return [words]
    curves: dict[str, Points] = {
        "best estimate": _found_shares(found, one.total),
        "if there are most": _found_shares(found, one.high),
    }
    return [_chart_box("Share of the topic found, estimated", "visits", "share", curves), words]


def _found_shares(found: CollectionReport, total: float) -> Points:
    return [(0.0, 0.0), *((float(x), min(1.0, y / total)) for x, y in found.harvest)]


# -- Markdown --


def report_markdown(found: CollectionReport) -> str:
    """The same without pictures."""
    tables: list[tuple[str, Sequence[str], list[list[str]]]] = [
        ("Volume over time", _VOLUME_COLUMNS, _volume_rows(found)),
        ("Sites", ("site", "visits", "relevant", "failed"), _host_rows(found)),
        ("Languages", ("language", "pages"), _language_rows(found)),
        ("What was learned", _GENERATION_COLUMNS, _generation_rows(found)),
        ("Queries", _QUERY_COLUMNS, _query_rows(found)),
    ]
    out = [
        f"# {escape_markdown(found.name)}", "",
        escape_markdown(_clean_text(_topic_line(found), 400)), "", _when_line(found), "",
        *markdown_table(("", "figure"), _headline_figures(found)), "",
        _harvest_words(found), "", escape_markdown(_coverage_words(found)), "",
        f"## {_judging_title(found)}", "",
        f"Of this sample, {_precision_words(found.precision)}.",
        f"Of all results with labels, {_precision_words(found.all_judged)}. {TRUTH_NOTE}", "",
        *(f"    {line}" for line in _label_commands(found)), "",
        *(_markdown_page(one) for one in _open_sample(found)[:_SHOWN_SAMPLE]),
        "", "## The surest pages", "", *(_markdown_page(one) for one in found.best),
    ]  # fmt: skip
    for title, columns, rows in tables:
        if rows:
            out += ["", f"## {title}", "", *markdown_table(columns, rows)]
    return "\n".join(out) + "\n"


def _markdown_page(one: SampledResult) -> str:
    address = escape_markdown(_clean_text(one.url, _URL_CHARS))
    return f"- {escape_markdown(_page_title(one))} ({one.verdict:.2f})<br>{address}"


# -- Words --


def _clean_text(text: str, most: int = 100) -> str:
    """One line of visible characters, cut."""
    shown = visible_text(text[: 4 * most])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _page_title(one: SampledResult) -> str:
    return _clean_text(one.title, _TITLE_CHARS) or _clean_text(_last_part(one.url), _TITLE_CHARS)


def _last_part(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}"


def _show_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _show_time(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return "an unknown day"


def _time_unit(seconds: float) -> tuple[float, str]:
    found = next(((size, name) for least, size, name in _UNITS if seconds >= least), None)
    return found or (1.0, "seconds")


def _span_words(seconds: float) -> str:
    size, name = next(
        ((size, name) for _, size, name in _UNITS if seconds >= size), (1.0, "seconds")
    )
    number = f"{seconds / size:.1f}".removesuffix(".0")
    return f"{number} {name if number != '1' else name[:-1]}"
