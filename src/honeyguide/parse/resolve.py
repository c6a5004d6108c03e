"""Resolve the text of a link to a canonical address, once for each page and text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from honeyguide.types import Url
from honeyguide.url import canonical_url, without_tracking

if TYPE_CHECKING:
    from honeyguide.parse.decoded import DecodedResponse

_SKIPPED = ("javascript:", "mailto:", "data:", "tel:")
_LONGEST = 4_096
"""Longest address that is resolved; the limit of the frontier is lower."""

_UNREADABLE = frozenset(
    """
    avif bmp cur gif heic ico jfif jpe jpeg jpg png psd raw svg svgz tif tiff webp
    aac aif aiff flac m4a m4b mid midi mp3 oga ogg opus ra wav wma
    3gp asf avi flv m3u8 m4v mkv mov mp4 mpeg mpg ogv swf ts vob webm wmv
    7z bz2 cab gz iso jar lz lzma rar rpm tar tbz tgz txz war whl xz z zip zst
    css eot js less map mjs otf scss ttf wasm woff woff2
    apk bin class crx deb dll dmg exe img ipa msi o pkg pyc so sys torrent xpi
    """.split()  # noqa: SIM905 - a hundred quotes would hide the words
)
"""Endings of files without text. A sitemap may end in ``.xml.gz``."""


_SHORT = 200
_SHORT_BASE = 2_000
"""Longest base: it is put before each link of its page."""
_FOLDERS_OWN = re.compile(r"(?:https?://|/|[A-Za-z0-9_.~-]+(?:[/?]|\Z))").match
_TRIED = 20
"""Texts that are resolved for each wanted address: a page may contain a million of them."""
_MEMO = 3_000
"""Addresses cached for one folder: neighbouring pages share most of their links."""


class LinkResolver:
    """Resolves the addresses of one page. ``base`` is the declared base of the page."""

    __slots__ = ("_base", "_folder", "_known", "_page")

    def __init__(self, source: DecodedResponse, base: str = "") -> None:
        self._page = source.url
        self._base = source.url
        if base and len(base) <= _SHORT_BASE:
            self._base = canonical_url(base.strip(), source.url) or source.url
        path = self._base.partition("?")[0]
        self._folder = _url_folder(path[: path.rindex("/") + 1], source.strip_tracking)
        self._known = self._folder.targets

    def resolve_address(self, text: str) -> Url | None:
        """The address of the text; None: it cannot be visited."""
        return self._folder.resolve_address(text, self._base)

    def resolve_target(self, text: str) -> Url | None:
        """The target of a link; None for the page itself and for files without text."""
        text = text.partition("#")[0]
        known = self._known
        url = known[text] if text in known else self._folder.resolve_target(text, self._base)
        return None if url == self._page else url

    def resolve_targets(self, texts: Iterable[str], wanted: int) -> dict[str, Url | None]:
        """The same for many texts without fragments, each once. Only ``_TRIED`` texts for each
        wanted address are resolved."""
        known, page = self._known, self._page
        found: dict[str, Url | None] = dict.fromkeys(texts)
        for text in islice(found, _TRIED * wanted):
            url = known[text] if text in known else self._folder.resolve_target(text, self._base)
            if url != page:
                found[text] = url
        return found


class _UrlFolder:
    """What the pages of one folder share: most targets of their links."""

    __slots__ = ("_strip", "targets")

    def __init__(self, strip: bool) -> None:
        self._strip = strip
        self.targets: dict[str, Url | None] = {}
        """Results that do not depend on the page."""

    def resolve_target(self, text: str, base: Url) -> Url | None:
        url = self.resolve_address(text, base)
        if url and is_unreadable(url):
            url = None
        # Only what means the same on every page of the folder: a mere query does not, nor does
        # "https:" without slashes.
        if len(text) <= _SHORT and _FOLDERS_OWN(text):
            if len(self.targets) >= _MEMO:
                self.targets.clear()
            self.targets[text] = url
        return url

    def resolve_address(self, text: str, base: Url) -> Url | None:
        text = text.strip()
        if len(text) > _LONGEST or text[:11].lower().startswith(_SKIPPED):
            return None
        whole = len(text) <= _SHORT and text.startswith(("http://", "https://"))
        url = _absolute_url(text) if whole else canonical_url(text, base)
        return without_tracking(url) if url and self._strip and "?" in url else url


@lru_cache(maxsize=4_096)
def _absolute_url(text: str) -> Url | None:
    """Addresses without a base, cached: the pages of a site link to the same ones elsewhere."""
    return canonical_url(text)


@lru_cache(maxsize=64)
def _url_folder(_folder: str, strip: bool) -> _UrlFolder:
    return _UrlFolder(strip)


def is_unreadable(url: Url) -> bool:
    """Whether the address ends like an image, a film, an archive or the like."""
    path = url.partition("?")[0]
    _, dot, ending = path[path.rindex("/") :].rpartition(".")
    if not dot or ending.lower() not in _UNREADABLE:
        return False
    return not path.endswith((".xml.gz", ".txt.gz"))
