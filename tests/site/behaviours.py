"""The whole catalogue: every way in which this web misbehaves, by the path it is mounted at.

Robots files have a catalogue of their own (``robots.ROBOTS``): each needs its own host.
"""

from __future__ import annotations

from tests.site.codings import CODINGS
from tests.site.contents import CONTENTS
from tests.site.exchange import Behaviour
from tests.site.redirects import REDIRECTS
from tests.site.robots import SITEMAPS
from tests.site.traps import TRAPS
from tests.site.wire import WIRE

CATALOGUE: dict[str, Behaviour] = {
    **WIRE, **CODINGS, **REDIRECTS, **CONTENTS, **TRAPS, **SITEMAPS,
}  # fmt: skip
