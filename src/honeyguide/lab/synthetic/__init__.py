"""A web made from a seed number: any size, nothing stored, the truth known."""

from __future__ import annotations
