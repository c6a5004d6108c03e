"""``honeyguide watch``, ``changes``, ``diff`` and ``history``: the watch and what it found."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from honeyguide.cli.formatting import (
    count_noun,
    format_time,
    make_console,
    print_json,
    safe_text,
    say,
    shell_quote,
)
from honeyguide.cli.options import CollectionName, JsonOption, argument, open_collection, option
from honeyguide.errors import ConfigError, suggest_name

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.api.watch import WatchList
    from honeyguide.change import Change, PageEdit
    from honeyguide.config.settings import WatchConfiguration
    from honeyguide.store.change_feed import ChangeRow
    from honeyguide.store.store import Store
    from honeyguide.watch.manual_edits import ListAction


_DAY_S = 86_400.0
WATCH_ACTIONS = (
    "add", "remove", "pause", "resume", "weight", "import", "list", "why", "masks", "mask",
    "unmask", "channels",
)  # fmt: skip


def run_action(collection: Collection, action: str, what: list[str], *, as_json: bool) -> None:
    action = "weight" if action == "weigh" else action  # its name until version 0.1
    if action not in WATCH_ACTIONS:
        hint = suggest_name(action, WATCH_ACTIONS, "{}")
        raise ConfigError(f"watch has no action {action!r}; {hint}")
    if action in ("list", "channels") and what:
        raise ConfigError(f"watch NAME {action} takes nothing more: {what[0]!r}")
    pages = collection.watch_list
    if action == "list":
        _print_list(pages, as_json)
    elif action == "channels":
        _print_channels(pages, as_json)
    elif action == "import":
        _import_lists(pages, what, as_json)
    elif action == "why":
        _explain_schedule(pages, _check_urls(what), as_json)
    elif action in ("masks", "mask", "unmask"):
        _edit_masks(pages, action, _check_urls(what), as_json)
    else:
        _edit_list(pages, action, what, as_json)


def _edit_list(pages: WatchList, action: str, what: list[str], as_json: bool) -> None:
    weight: float | None = None
    if action == "weight":
        try:
            weight = float(what[0])
        except (ValueError, IndexError):
            raise ConfigError("write the weight first: watch NAME weight 3 URL") from None
        what = what[1:]
    done = pages.edit(cast("ListAction", action), _check_urls(what), weight)
    watched = pages.count_watched()
    if as_json:
        print_json({"action": action, "pages": done, "watched": watched})
        return
    past = {"add": "added", "remove": "removed", "pause": "paused", "resume": "resumed"}
    done_what = past.get(action, "given a new weight")
    say(f"{count_noun(done, 'page')} {done_what}; {watched} are watched.")


def _import_lists(pages: WatchList, files: list[str], as_json: bool) -> None:
    if not files:
        raise ConfigError("name the file: watch NAME import FILE")
    added = 0
    left: list[dict[str, str]] = []
    for name in files:
        found = pages.import_file(name)
        added += found.added
        left += [one._asdict() for one in found.skipped]
        if not as_json:
            say(f"{safe_text(name)} ({found.format_name}): {count_noun(found.pages, 'page')}")
    watched = pages.count_watched()
    if as_json:
        print_json({"added": added, "left": left, "watched": watched})
        return
    for one in left:
        say(f"  {safe_text(one['where'])}: {safe_text(one['what'])}: {safe_text(one['why'])}")
    say(f"{count_noun(added, 'page')} added; {watched} are watched.")


def _print_list(pages: WatchList, as_json: bool) -> None:
    from honeyguide.watch.schedule.change_rate import estimate_rate

    if as_json:
        for facts in pages.to_dicts():
            print_json(facts)
        return
    from honeyguide.watch.schedule.schedule import describe_span

    out = make_console()
    head = (
        f"{'state':<8} {'visits':>6} {'failed':>6} {'changes':>7} {'one every':>12}  {'last':<19}"
    )
    out.print(f"{head}  page", style="dim")
    for row in pages:
        every = describe_span(_DAY_S / estimate_rate(row.rate).per_day) if row.rate else "–"
        last = format_time(row.visited) if row.visited else "never"
        figures = f"{row.visits:>6} {row.failures:>6} {row.changes:>7} {every:>12}"
        out.print(f"{row.state:<8} {figures}  {last:<19}  {safe_text(row.url)}")


def _print_channels(pages: WatchList, as_json: bool) -> None:
    """How it stands with those who are told."""
    found = pages.channels()
    if as_json:
        for one in found:
            print_json(one._asdict())
        return
    if not found:
        say("No notification was sent yet; channels are set up under [[notify]] in topic.toml.")
    for one in found:
        line = f"{safe_text(one.channel)}: {one.sent} sent, {one.waiting} waiting"
        if one.given_up:
            line += f", {one.given_up} given up"
        make_console().print(line)
        if one.failed is not None:
            make_console().print(f"  failed {format_time(one.failed)}: {safe_text(one.why)}")


def _explain_schedule(pages: WatchList, urls: list[str], as_json: bool) -> None:
    for row_, found in pages.explain(*urls):
        if as_json:
            facts = {"next_at": None, "reason": row_.state} if found is None else {
                "next_at": found.next_at, "reason": found.reason, "per_day": found.rate.per_day,
                "low": found.rate.low, "high": found.rate.high, "weight": found.weight,
            }  # fmt: skip
            print_json({"url": row_.url, **facts})
            continue
        why = row_.state if found is None else found.reason
        make_console().print(f"{safe_text(row_.url)}: {why}")
        if row_.failures:
            last = f"; the last one {format_time(row_.visited)}" if row_.visited else ""
            make_console().print(
                f"  {count_noun(row_.failures, 'visit')} in a row returned no page{last}"
            )
        if row_.note:
            make_console().print(f"  {safe_text(row_.note)}")


def _edit_masks(pages: WatchList, action: str, what: list[str], as_json: bool) -> None:
    url, *rest = what
    if action != "masks" and not rest:
        raise ConfigError(f"say which: honeyguide watch NAME {action} URL MASK; see masks")
    if action == "masks":
        found = pages.masks(url)
    else:
        found = (pages.mask if action == "mask" else pages.unmask)(url, *rest)
    if as_json:
        names = [one.mask for one in found.masks]
        print_json({"url": found.url, "masks": names, "open": list(found.opened)})
        return
    out = make_console()
    out.print(f"{count_noun(len(found.masks), 'place')} masked on {safe_text(found.url)}")
    for one in found.masks:
        why = "by a person" if one.by == "person" else "it differs every time"
        out.print(f"  {safe_text(one.mask)}  ({safe_text(one.where) or 'the whole page'}: {why})")


def _check_urls(texts: list[str]) -> list[str]:
    if not texts:
        raise ConfigError("name a page: its address, such as https://example.org/finches")
    return texts


# --------------------------------------------------------------------------------------------------
# ``honeyguide watch``
# --------------------------------------------------------------------------------------------------


def action_names() -> list[str]:
    return list(WATCH_ACTIONS)


def watch(
    name: CollectionName,
    action: str = argument(
        "[ACTION]",
        "add, remove, pause, resume, weight or why, with addresses; import, with "
        "files; list; channels; masks, mask or unmask, with an address. Without "
        "one, the watch runs.",
        "",
        autocompletion=action_names,
    ),
    what: list[str] | None = argument("[URL|FILE]...", "Addresses or files for the action.", None),
    once: bool = option("--once", "Visit every page once, then stop: for cron.", False),
    hours: float = option("--hours H", "Stop after so many hours.", 0.0, min=0),
    configuration: str | None = option(
        "--configuration C", "1, 2, 3 or adaptive: see [watch] in the settings.", None
    ),
    threads: str = option("--threads N,M", "Threads of configuration 2 (N,M,K) or 3 (N,M).", ""),
    quiet: bool = option("--quiet -q", "No progress display.", False),
    as_json: JsonOption = False,
) -> None:
    """Revisit the relevant pages, store every version, and report what changed. Ctrl-C stops.

    Pages that a crawl finds relevant are added by themselves, and new links on watched pages are
    followed, all within `[watch] requests_per_hour`. Notifications: `[[notify]]` in topic.toml.

    Examples:

    `honeyguide watch birds`

    `honeyguide watch birds --once --json`

    `honeyguide watch birds --once --configuration 3 --threads 78,11`

    `honeyguide watch birds add https://example.org/finches`

    `honeyguide watch birds import urlwatch.yaml`

    `honeyguide watch birds why https://example.org/finches`
    """
    from honeyguide.api.check_values import check_hours
    from honeyguide.api.watch import describe_configuration, watch_with_progress

    collection = open_collection(name)
    if action and (once or hours or configuration or threads):
        raise ConfigError(f"--once, --hours and --configuration run the watch; {action} does not")
    if action:
        run_action(collection, action, what or [], as_json=as_json)
        return
    silent = quiet or as_json
    nothing = not silent and not collection.watch_list.count_watched()
    if nothing and not collection.status(hosts=0).relevant:
        say(f"{collection.name}: nothing is watched yet; Ctrl-C stops. {_empty_hint(collection)}")
    tally = watch_with_progress(
        collection.folder,
        collection.settings,
        not silent,
        once=once,
        hours=check_hours(hours),
        configuration=cast("WatchConfiguration | None", configuration),
        threads=_read_threads(threads),
    )
    if as_json:
        print_json(tally._asdict())
        return
    say(
        f"{collection.name}: {count_noun(tally.visits, 'visit')}, {tally.unchanged} unchanged, "
        f"{count_noun(tally.changes, 'change')}, {tally.failures} failed, "
        f"{count_noun(tally.discovered, 'new page')}, {count_noun(tally.told, 'message')} sent."
    )
    if tally.visits and (once or configuration):
        say(describe_configuration(tally))
    if tally.trouble:
        say(f"The last error: {safe_text(tally.trouble)}")
    if tally.changes:
        say(f"See them with: honeyguide changes {shell_quote(name)}")
    elif not tally.watched and not tally.visits:
        say(f"Nothing is watched yet. {_empty_hint(collection)}")


def _read_threads(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",") if text]
    except ValueError:
        raise ConfigError(f"--threads {text!r}: write whole numbers, such as 78,11") from None


def _empty_hint(collection: Collection) -> str:
    return (
        "Relevant pages of a crawl are added by themselves; or add some with: honeyguide watch "
        f"{shell_quote(collection.folder)} add URL"
    )


# --------------------------------------------------------------------------------------------------
# ``honeyguide changes``, ``diff`` and ``history``: what the watch found.
# --------------------------------------------------------------------------------------------------


_MAX_EDITS = 6
"""Edits of one change that are shown in a list."""

PageAddress = Annotated[str, argument("URL", "The page's address.")]


def changes(
    name: CollectionName,
    since: str = option("--since SPAN", "Only the last 2d, 12h, 3w, 30min.", ""),
    kind: list[str] | None = option("--kind -k KIND", "content, minor, data, links, gone …", None),
    least: float = option("--least S", "Least significance, 0 to 1.", 0.0, min=0, max=1),
    host: str = option("--host HOST", "Pages of one host.", ""),
    words: list[str] | None = option("--word -w WORD", "This word was added or removed.", None),
    limit: int = option("--limit -n N", "How many to show.", 20),
    as_json: JsonOption = False,
) -> None:
    """What changed on the watched pages, newest first.

    Examples:

    `honeyguide changes birds --since 2d --least 0.1`

    `honeyguide changes birds --kind gone --json`
    """

    found = open_collection(name).changes(
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
            print_json(_change_facts(row))
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
    old: int = option("--from N", "The older version; the one before.", 0),
    new: int = option("--to N", "The newer version; the last.", 0),
    everything: bool = option(
        "--all", "Also show masked parts, which differ at every visit.", False
    ),
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
        print_json({"url": page, "from": seen.old.number, "to": seen.new.number, "change": facts})
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
    show: int = option("--show N", "Print the text of this version.", 0),
    save: Path | None = option("--save FILE", "Write the version as received to a file.", None),
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
            stored = {row.number: row for row in versions}
            check_version(number, sorted(stored))
            body = store.versions.read_body(page, number)
            if save:
                save.write_bytes(body)
                say(f"version {number} is in {save}")
                return
            snapshot = read_snapshot(body, page, stored[number].content_type)
            out = make_console()
            out.print(safe_text(snapshot.title), style="bold")
            for block in snapshot.blocks:
                out.print(safe_text(block.text), style="" if block.weight >= 0.5 else "dim")
            return
    if as_json:
        for row in versions:
            print_json(row._asdict())
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
    from honeyguide.store.store import open_existing_store

    return open_existing_store(open_collection(name).folder, "read")
