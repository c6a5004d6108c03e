"""Watch lists of other programs."""

from __future__ import annotations
