"""How often a page changes, what a visit is worth, and whose turn it is."""

from __future__ import annotations
