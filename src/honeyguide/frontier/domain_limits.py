"""Sites: all hosts of one registrable domain, which one owner can have without end.

What is limited is limited for a site as a whole: its links, its hosts, and how many of its hosts
are asked at once. Without limits nobody's site is looked up.
"""

from __future__ import annotations

from math import inf

from honeyguide.url import domain


class Site:
    __slots__ = ("blocked", "busy", "hosts", "rows")

    def __init__(self) -> None:
        self.rows = 0
        """Links ever taken in, whatever became of them."""
        self.hosts = 0
        self.busy = 0
        """Hosts that are being asked."""
        self.blocked: list[int] | None = None
        """A heap of codes: the best links of hosts that wait until another is done. Few sites
        ever have one, and an empty list would cost each of the others as much as itself."""


class Sites:
    """Every site, and the most that any of them may have; 0: no limit."""

    def __init__(self, links: int = 0, hosts: int = 0, busy: int = 0) -> None:
        self.limited = bool(links or hosts or busy)
        self.links = links or inf
        self.hosts = hosts or inf
        self.busy = busy or inf
        self._sites: dict[str, Site] = {}

    def join(self, host: str) -> Site:
        """The site of a host, which is one of its hosts from now on."""
        name = domain(host) if self.limited else ""
        site = self._sites.get(name)
        if site is None:
            # Most sites have one host: the same name twice would be as large as the site.
            site = self._sites[host if name == host else name] = Site()
        site.hosts += 1
        return site

    def opens(self, host: str) -> bool:
        """Whether a host that is new to us may bring a link."""
        site = self._sites.get(domain(host))
        return site is None or (site.hosts < self.hosts and site.rows < self.links)
