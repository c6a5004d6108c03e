"""Where links come from besides pages: search engines, and what to ask them."""

from __future__ import annotations
