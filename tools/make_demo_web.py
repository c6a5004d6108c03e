"""Pack the demo web from Debian documentation packages.

    python tools/make_demo_web.py WORKDIR

Run by a maintainer on a Debian 12 machine (apt-get, dpkg); users get the packed files. What to
take and which pages belong to which topic stands in demo_web.toml beside this file. The same
packages give the same files.
"""

from __future__ import annotations

import html
import json
import lzma
import re
import subprocess
import sys
import tomllib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from honeyguide.types import Url
from honeyguide.url import canonical_url

HERE = Path(__file__).parent
DEMO = HERE.parent / "src/honeyguide/lab/demo_data"
START = "http://docs.demo.example/"
_LINK = re.compile(r"""<a\b[^>]*?\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_HREF = re.compile(r"""\shref\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_DEAD_WEIGHT = (
    re.compile(r"<svg\b.*?</svg>", re.IGNORECASE | re.DOTALL),
    re.compile(r"""(?<=["'(])data:[\w/+;=.-]+,[^"')]*"""),
)


@dataclass(frozen=True)
class Manual:
    name: str
    package: str
    version: str
    root: str
    address: str
    title: str
    licence: str
    holder: str
    skip: tuple[str, ...]
    also: tuple[str, ...]


@dataclass
class Page:
    url: Url
    charset: str
    html: str
    title: str
    labels: list[str] = field(default_factory=list)


def main() -> None:
    work = Path(sys.argv[1])
    plan = tomllib.loads((HERE / "demo_web.toml").read_text())
    manuals = [Manual(name, **table) for name, table in plan["manuals"].items()]
    start = start_page(manuals)
    pages = {start.url: start}
    for manual in manuals:
        judged = {topic: rules.get(manual.name, ()) for topic, rules in plan["relevant"].items()}
        files = unpacked(manual, work)
        for page in read(manual, files / manual.root, judged, plan["largest_kb"] << 10):
            pages[page.url] = page
        keep_notice(files / f"usr/share/doc/{manual.package}/copyright", manual)
    aliases = find_aliases(pages, manuals)
    known = addresses(pages, aliases)
    # A page that nobody links to could not be visited: it would only blur the figures.
    pages = {url: pages[url] for url in sorted(breadth_first([start.url], pages, known))}
    aliases = {alias: url for alias, url in aliases.items() if url in pages}
    without_dead_links(pages, addresses(pages, aliases))
    for manual in manuals:
        mine = [page for page in pages.values() if page.url.startswith(manual.address)]
        write(DEMO / f"{manual.name}.jsonl.xz", [page_line(page) for page in mine])
    write(DEMO / "start.jsonl.xz", [page_line(start)])
    lines = [{"alias": alias, "url": url} for alias, url in sorted(aliases.items())]
    write(DEMO / "start.aliases.jsonl.xz", lines)
    (DEMO / "LICENSES.md").write_text(licences(manuals))
    report(pages, aliases)


def unpacked(manual: Manual, work: Path) -> Path:
    """The package's files, downloaded and unpacked unless that was done before."""
    target = work / f"{manual.package}_{manual.version.replace(':', '_')}"
    if not target.exists():
        named = f"{manual.package}={manual.version}"
        debs = work / "deb" / manual.name
        debs.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", named], cwd=debs, check=True)
        subprocess.run(["dpkg", "-x", next(debs.glob("*.deb")), target], check=True)
    return target


def read(manual: Manual, root: Path, judged: dict[str, list[str]], largest: int) -> Iterator[Page]:
    skip = re.compile("|".join(manual.skip))
    topics = {topic: re.compile("|".join(rules)) for topic, rules in judged.items() if rules}
    for path in sorted(root.rglob("*.html")):
        place = path.relative_to(root).as_posix()
        name = place.removesuffix(".html")
        if path.is_symlink() or path.stat().st_size > largest or skip.fullmatch(name):
            continue
        raw = path.read_bytes()
        found = _CHARSET.search(raw[:1024])
        charset = found[1].decode().lower() if found else "utf-8"
        text = raw.decode(charset, "replace")
        for weight in _DEAD_WEIGHT:
            text = weight.sub("", text)
        title = _TITLE.search(text)
        yield Page(
            Url(manual.address + quote(place)),
            charset,
            text,
            " ".join(html.unescape(title[1]).split()) if title else "",
            [topic for topic, rule in topics.items() if rule.fullmatch(name)],
        )


def start_page(manuals: list[Manual]) -> Page:
    """The one page that is ours: a list of the manuals, and it says so."""
    items = "\n".join(
        f'<li><a href="{m.address}index.html">{html.escape(m.title)}</a></li>' for m in manuals
    )
    text = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Manuals of free software</title></head>
<body><h1>Manuals of free software</h1>
<p>This page was made for Honeyguide's demo web; the manuals behind it are the real ones.</p>
<ul>
{items}
</ul></body></html>
"""
    return Page(Url(START), "utf-8", text, "Manuals of free software")


def links(page: Page) -> Iterator[Url]:
    for match in _LINK.finditer(page.html):
        target = html.unescape(match[1] or match[2] or match[3] or "")
        if url := canonical_url(target.strip(), page.url):
            yield url


def find_aliases(pages: dict[Url, Page], manuals: list[Manual]) -> dict[str, Url]:
    """Redirects for links whose address is another spelling of a page that we have."""
    known = {_bare(url): url for url in pages}
    others = [(re.compile(rule, re.IGNORECASE), m) for m in manuals for rule in m.also]
    found: dict[str, Url] = {}
    wanted = {url for page in pages.values() for url in links(page) if _bare(url) not in known}
    for url in wanted | {Url(manual.address) for manual in manuals}:
        for rule, manual in others:
            if match := rule.match(url):
                rest = url[match.end() :].partition("?")[0].rstrip("/")
                for guess in (rest, f"{rest}.html", f"{rest}/index.html".lstrip("/")):
                    if goal := known.get(_bare(manual.address + guess)):
                        found[url] = goal
                        break
                if url in found:
                    break
    return found


def without_dead_links(pages: dict[Url, Page], known: dict[str, Url]) -> None:
    """Links to what we left out lose their address; their words stay."""
    hosts = {address.partition("/")[0] for address in known}

    for page in pages.values():

        def alive(match: re.Match[str], base: Url = page.url) -> str:
            target = html.unescape(match[1] or match[2] or match[3] or "").strip()
            url = canonical_url(target, base)
            if url is None or url.split("/")[2] not in hosts or _bare(url) in known:
                return match[0]
            return _HREF.sub("", match[0])

        page.html = _LINK.sub(alive, page.html)


def _bare(url: str) -> str:
    return url.partition("//")[2]


def page_line(page: Page) -> dict[str, object]:
    return {
        "url": page.url,
        "charset": page.charset,
        "content_type": "text/html",
        "title": page.title,
        "labels": page.labels,
        "html": page.html,
    }


def write(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def keep_notice(copyright_file: Path, manual: Manual) -> None:
    notice = DEMO / "licenses" / f"{manual.package}.txt"
    notice.parent.mkdir(parents=True, exist_ok=True)
    notice.write_bytes(copyright_file.read_bytes())


def licences(manuals: list[Manual]) -> str:
    rows = "\n".join(
        f"| {m.title} | {m.package} {m.version} | {m.address} | {m.licence} | {m.holder} |"
        for m in manuals
    )
    return (HERE / "demo_web_licenses.md").read_text().replace("{rows}", rows)


def report(pages: dict[Url, Page], aliases: dict[str, Url]) -> None:
    """Sizes, relevant pages per host, and what breadth-first finds from the topics' seeds."""
    size = sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file())
    print(f"{len(pages)} pages, {len(aliases)} aliases, {size / 1e6:.2f} MB")
    known = addresses(pages, aliases)
    for topic, table in tomllib.loads((DEMO / "topics.toml").read_text()).items():
        relevant = {page.url for page in pages.values() if topic in page.labels}
        hosts = Counter(url.split("/")[2] for url in relevant)
        for address in (*table["seeds"], *table["good"]):
            assert _bare(address) in known, address
        for address in table["good"]:
            assert known[_bare(address)] in relevant, address
        order = breadth_first([known[_bare(seed)] for seed in table["seeds"]], pages, known)
        print(f"\n{topic}: {len(relevant)} relevant, {dict(hosts)}")
        print(f"  reachable {len(order)}, relevant {len(relevant & set(order))}")
        for budget in (100, 300, 500, 1000):
            hits = len(relevant & set(order[:budget]))
            print(f"  breadth-first at {budget}: {hits} relevant, harvest {hits / budget:.3f}")


def addresses(pages: dict[Url, Page], aliases: dict[str, Url]) -> dict[str, Url]:
    """Every address without its scheme → the page it leads to."""
    return {_bare(alias): url for alias, url in aliases.items()} | {_bare(u): u for u in pages}


def breadth_first(seeds: list[Url], pages: dict[Url, Page], known: dict[str, Url]) -> list[Url]:
    seen, waiting, order = set(seeds), deque(seeds), []
    while waiting:
        order.append(url := waiting.popleft())
        for link in links(pages[url]):
            if (target := known.get(_bare(link))) and target not in seen:
                seen.add(target)
                waiting.append(target)
    return order


if __name__ == "__main__":
    main()
