"""A web held in memory: addresses and the answers that were recorded for them.

http and https are one web here, so an address is known by what follows its scheme. Bodies
rest gzip'd, as they will mostly be served, so that tens of thousands of pages are comfortable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, Self
from urllib.parse import unquote

from honeyguide.errors import ConfigError
from honeyguide.lab.gzip_io import unpack
from honeyguide.url import canonical

Headers = tuple[tuple[str, str], ...]


class Recorded(NamedTuple):
    """One recorded answer."""

    url: str
    """Canonical, with the scheme it was recorded under."""
    status: int
    headers: Headers
    packed: bytes
    """The body, content coding undone, then gzip'd."""
    labels: tuple[str, ...] = ()
    """What the judge knows; never served."""
    title: str = ""
    packed_outlinks: bytes = b""

    @property
    def body(self) -> bytes:
        return unpack(self.packed)

    @property
    def outlinks(self) -> list[str]:
        """Links inside the recorded web, as the corpus states them: for the judge."""
        return unpack(self.packed_outlinks).decode().split("\n") if self.packed_outlinks else []

    def header(self, name: str) -> str:
        """The first header of that (lower-case) name, or ''."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def moved(self) -> bool:
        return self.status in (301, 302, 303, 307, 308)


class Web(Protocol):
    """What the lab serves: recorded or made."""

    @property
    def hosts(self) -> frozenset[str]: ...

    def lookup(self, key: str) -> Recorded | None:
        """The answer for a canonical address without its scheme: ``host/path?query``."""

    def labels(self, url: str) -> tuple[str, ...]:
        """What the judge knows of an address."""

    def labelled(self, label: str) -> Iterable[str]:
        """Addresses of the pages that carry this label."""

    def urls(self) -> Iterable[str]:
        """Addresses of all pages."""

    def endless(self, url: str) -> bool:
        """Whether it is one of addresses without end, such as a calendar's months."""

    def __iter__(self) -> Iterator[Recorded]: ...

    def __len__(self) -> int: ...


class RecordedWeb:
    """Address → recorded answer."""

    def __init__(
        self, records: Iterable[Recorded] = (), aliases: Mapping[str, str] | None = None
    ) -> None:
        """``aliases``: addresses that redirect to others; a recorded answer goes before one."""
        self._records: dict[str, Recorded] = {}
        for record in records:
            self._keep(record)
        for alias, target in (aliases or {}).items():
            source, goal = canonical(alias), canonical(target)
            if source and goal and without_scheme(source) not in self._records:
                self._keep(Recorded(source, 301, (("Location", goal),), b""))
        self.hosts: frozenset[str] = frozenset(key.partition("/")[0] for key in self._records)
        # Servers read %7E and ~ alike, so a miss is looked up once more with escapes undone.
        self._loose = {unquote(key): key for key in self._records if "%" in key}

    @classmethod
    def load(cls, paths: Iterable[Path]) -> Self:
        """Read gzip'd or xz'd JSON lines and WARC files; alias files beside them come along."""
        from honeyguide.lab.jsonl import aliases_beside, read_aliases, read_pages
        from honeyguide.lab.warc import read_warc

        files = [Path(path) for path in paths]
        alias_files = {path for path in files if ".aliases." in path.name}
        pages: list[Iterator[Recorded]] = []
        for path in files:
            if path in alias_files:
                continue
            if path.name.endswith((".warc", ".warc.gz")):
                pages.append(read_warc(path))
            else:
                pages.append(read_pages(path))
                alias_files.update(aliases_beside(path))
        aliases: dict[str, str] = {}
        for path in sorted(alias_files):
            aliases.update(read_aliases(path))
        web = cls((record for source in pages for record in source), aliases)
        if not len(web):
            raise ConfigError(f"no web pages in {', '.join(map(str, files)) or 'no files'}")
        return web

    def find(self, url: str) -> Recorded | None:
        """The answer for an address in any spelling, any scheme."""
        known = canonical(url)
        return None if known is None else self.lookup(without_scheme(known))

    def lookup(self, key: str) -> Recorded | None:
        """The answer for a canonical address without its scheme: ``host/path?query``."""
        record = self._records.get(key)
        if record is None and "%" in key:
            plain = unquote(key)
            record = self._records.get(self._loose.get(plain, plain))
        return record

    def labels(self, url: str) -> tuple[str, ...]:
        record = self.find(url)
        return record.labels if record else ()

    def labelled(self, label: str) -> list[str]:
        """Addresses of the pages that carry this label, or all of several: ``a & b``."""
        wanted = set(label.split(" & "))
        return [record.url for record in self if wanted.issubset(record.labels)]

    def urls(self) -> list[str]:
        return [record.url for record in self]

    def endless(self, url: str) -> bool:  # noqa: ARG002 - what was recorded has an end
        return False

    def __iter__(self) -> Iterator[Recorded]:
        """The pages: answers that are not redirects."""
        return (record for record in self._records.values() if not record.moved)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _keep(self, record: Recorded) -> None:
        key = without_scheme(record.url)
        if record.moved:
            goal = canonical(record.header("location"), canonical(record.url))
            if goal and without_scheme(goal) == key:
                return  # http → https of one address: here they are the same
        known = self._records.get(key)
        if known is None or known.status != 200 or record.status == 200:
            self._records[key] = record


def without_scheme(url: str) -> str:
    return url[url.index("//") + 2 :]
