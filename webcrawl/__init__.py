"""Mercator's web crawler as a Scrapy project, and as a library: `webcrawl.crawl(…)`, `pages(…)`."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported when they are first used: the core runs without Scrapy, and a command of any project
# imports this package.
_LATER = {
    "Page": "webcrawl.content.page",
    "WebSpider": "webcrawl.adapter.spiders.web",
    "WebcrawlAddon": "webcrawl.adapter.addon",
    "open_output": "webcrawl.adapter.pipelines.output",
    "pages": "webcrawl.library",
}


def __getattr__(name: str) -> Any:
    if name == "crawl":
        return import_module("webcrawl.crawl")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
