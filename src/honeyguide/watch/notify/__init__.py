"""Which changes are told to whom, when, in which words, and through what."""

from __future__ import annotations
