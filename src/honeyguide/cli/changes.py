"""``honeyguide changes``, ``diff`` and ``history``: what the watch found, for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honeyguide.cli.formatting import format_time, make_console, safe_text, say, shell_quote
from honeyguide.cli.options import CollectionName, JsonOption
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.change import Change, PageEdit
    from honeyguide.store.change_feed import ChangeRow
    from honeyguide.store.store import Store

_MAX_EDITS = 6
"""Edits of one change that are shown in a list."""

PageAddress = Annotated[str, typer.Argument(metavar="URL", help="The page's address.")]


def changes(
    name: CollectionName,
    since: Annotated[
        str, typer.Option("--since", metavar="SPAN", help="Only the last 2d, 12h, 3w, 30min.")
    ] = "",
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", "-k", metavar="KIND", help="content, minor, data, links, gone …"),
    ] = None,
    least: Annotated[
        float,
        typer.Option("--least", metavar="S", help="Least significance, 0 to 1.", min=0, max=1),
    ] = 0.0,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Pages of one host.")] = "",
    words: Annotated[
        list[str] | None,
        typer.Option("--word", "-w", metavar="WORD", help="This word was added or removed."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="How many to show.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """What changed on the watched pages, newest first.

    Examples:

    `honeyguide changes birds --since 2d --least 0.1`

    `honeyguide changes birds --kind gone --json`
    """
    from honeyguide.api.collection import Collection

    found = Collection(name).changes(
        since=since or None,
        kinds=kind or (),
        least=least,
        host=host,
        words=words or (),
        limit=limit,
    )
    shown = 0
    for row in found:
        shown += 1
        if as_json:
            typer.echo(json.dumps(_change_facts(row)))
        else:
            known = row.old is not None and row.new is not None
            _print_change(row.change, between=f"  ({row.old} → {row.new})" if known else "")
    if not shown and not as_json:
        filtered = any((since, kind, least, host, words))
        hint = "" if filtered else f" Find them with: honeyguide watch {shell_quote(name)}"
        say(f"No changes{' of that kind' if filtered else ''}.{hint}")


def diff(
    name: CollectionName,
    url: PageAddress,
    old: Annotated[
        int, typer.Option("--from", metavar="N", help="The older version; the one before.")
    ] = 0,
    new: Annotated[int, typer.Option("--to", metavar="N", help="The newer version; the last.")] = 0,
    everything: Annotated[
        bool, typer.Option("--all", help="Also show masked parts, which differ at every visit.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two versions of a page; without numbers, its last change.

    Examples:

    `honeyguide diff birds https://example.org/finches`

    `honeyguide diff birds https://example.org/finches --from 1 --to 5`
    """
    from honeyguide.api.user_urls import resolve_url
    from honeyguide.watch.version_diff import diff_versions

    with _open_store(name) as store:
        page = resolve_url(store, url)
        seen = diff_versions(store, page, old, new, everything=everything)
    found = seen.change
    if as_json:
        facts = None if found is None else asdict(found)
        typer.echo(
            json.dumps(
                {"url": page, "from": seen.old.number, "to": seen.new.number, "change": facts}
            )
        )
        return
    if found is None:
        numbers = f"{seen.old.number} and {seen.new.number}"
        say(f"Versions {numbers} differ only in masked parts; --all shows them.")
        return
    one, other = (f"version {row.number}, {format_time(row.at)}" for row in (seen.old, seen.new))
    say(f"{one} → {other}")
    _print_change(found, most=1_000, weighed=False)


def history(
    name: CollectionName,
    url: PageAddress,
    show: Annotated[
        int, typer.Option("--show", metavar="N", help="Print the text of this version.")
    ] = 0,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the version as received to a file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the stored versions of a page, or show one of them.

    Examples:

    `honeyguide history birds https://example.org/finches`

    `honeyguide history birds https://example.org/finches --show 2`
    """
    from honeyguide.api.user_urls import resolve_url
    from honeyguide.parse.blocks import read_snapshot
    from honeyguide.watch.version_diff import check_version, no_versions_hint

    with _open_store(name) as store:
        page = resolve_url(store, url)
        versions = store.versions.list_versions(page)
        if not versions:
            raise ConfigError(no_versions_hint(store, page))
        if show or save:
            number = show or versions[-1].number
            kept = {row.number: row for row in versions}
            check_version(number, sorted(kept))
            body = store.versions.read_body(page, number)
            if save:
                save.write_bytes(body)
                say(f"version {number} is in {save}")
                return
            snapshot = read_snapshot(body, page, kept[number].content_type)
            out = make_console()
            out.print(safe_text(snapshot.title), style="bold")
            for block in snapshot.blocks:
                out.print(safe_text(block.text), style="" if block.weight >= 0.5 else "dim")
            return
    if as_json:
        for row in versions:
            typer.echo(json.dumps(row._asdict()))
        return
    out = make_console()
    for row in versions:
        out.print(
            f"{row.number:>4}  {format_time(row.at)} – {format_time(row.last_seen)}  {row.status}  "
            f"{row.size} bytes, {row.stored} on disk"
        )


def _print_change(
    change: Change, most: int = _MAX_EDITS, *, weighed: bool = True, between: str = ""
) -> None:
    out = make_console()
    weight = f"  {change.significance:.2f}" if weighed else ""
    head = f"{format_time(change.at)}  {', '.join(change.kinds)}{weight}  "
    out.print(f"{head}{safe_text(change.url)}{between}", style="bold")
    if change.detail:
        out.print(f"  {safe_text(change.detail)}")
    for edit in change.edits[:most]:
        _print_edit(edit)
    more = len(change.edits) - most
    if more > 0:
        out.print(f"  and {more} more", style="dim")
    for sign, links, style in (
        ("+", change.links_added, "green"),
        ("-", change.links_removed, "red"),
    ):
        for link in links[:most]:
            out.print(f"  {sign} link {safe_text(link)}", style=style)
    if change.masked:
        what = "place that differs" if change.masked == 1 else "places that differ"
        out.print(f"  and {change.masked} {what} every time", style="dim")


def _print_edit(edit: PageEdit) -> None:
    from rich.text import Text

    from honeyguide.watch.version_diff import diff_words

    line = Text(f"  {'·' if edit.what == 'changed' else edit.what} ")
    if edit.what == "data":
        line.append(f"{safe_text(edit.path)}: ")
    if edit.what == "moved":
        line.append(safe_text(edit.new)[:300], "yellow")
        make_console().print(line)
        return
    for piece, text in diff_words(edit.old, edit.new):
        shown = safe_text(text)
        if piece == "same":
            line.append(shown if len(shown) <= 120 else f"{shown[:50]} … {shown[-50:]}")
        else:
            marked = f"[-{shown[:600]}-]" if piece == "removed" else f"{{+{shown[:600]}+}}"
            line.append(marked, "red" if piece == "removed" else "green")
        line.append(" ")
    make_console().print(line)


def _change_facts(row: ChangeRow) -> dict[str, Any]:
    facts = asdict(row.change)
    facts["edits"] = [edit._asdict() for edit in row.change.edits]
    return {"id": row.id, **facts, "old": row.old, "new": row.new, "seen": row.seen}


def _open_store(name: Path) -> Store:
    from honeyguide.api.collection import Collection
    from honeyguide.store.store import open_existing_store

    return open_existing_store(Collection(name).folder, "read")
