"""Mercator's web crawler, reborn as a Scrapy project."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported when somebody asks for them: the core runs without Scrapy, and a command of any project imports this package.
_LATER = {"WebcrawlAddon": "webcrawl.adapter.addon"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
