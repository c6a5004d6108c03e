"""Honeyguide, the adaptive focused web crawler.

import honeyguide
birds = honeyguide.create("birds", seeds=[…], keywords=[…], contact="you@example.org")
birds.crawl(pages=500)
birds.label("https://example.org/finches", 1.0)
birds.learn()
birds.watch(once=True)
birds.pages(relevant=True).to_pandas()

In a program with an event loop: ``await birds.crawl_async(pages=500)``, and so on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# numpy's linear algebra starts a thread for every core when it is loaded, which then spins for a
# while. A crawl multiplies no matrices worth sharing, and whoever wants the threads may say so.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.api.create import create
    from honeyguide.api.train import train, train_async
    from honeyguide.crawl.status import Report
    from honeyguide.errors import HoneyguideError
    from honeyguide.run_status import Progress

__all__ = [
    "Collection",
    "HoneyguideError",
    "Progress",
    "Report",
    "__version__",
    "create",
    "train",
    "train_async",
]

_HOMES = {
    "Collection": "honeyguide.api.collection",
    "HoneyguideError": "honeyguide.errors",
    "Progress": "honeyguide.run_status",
    "Report": "honeyguide.crawl.status",
    "create": "honeyguide.api.create",
    "train": "honeyguide.api.train",
    "train_async": "honeyguide.api.train",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that ``import`` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'honeyguide' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
