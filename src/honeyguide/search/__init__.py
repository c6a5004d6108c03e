"""Search engines: which queries are asked, and how."""

from __future__ import annotations
