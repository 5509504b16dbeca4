"""Plain Scrapy for commands that look at single pages, without JOBDIR and frontier."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.settings import BaseSettings, default_settings

from webcrawl import settings as ours
from webcrawl.adapter.command_line_settings import given_words
from webcrawl.base.program import name_program

PACKAGE = f"{__name__.partition('.')[0]}."
LAST = 1_000_000_000  # the add-on's place: after all others, which may set up a crawl
# Components that Scrapy merges with those of a user's, which no project changes: a crawl does
BASES = (
    "EXTENSIONS_BASE",
    "ITEM_PIPELINES_BASE",
    "DOWNLOADER_MIDDLEWARES_BASE",
    "SPIDER_MIDDLEWARES_BASE",
    "DOWNLOAD_HANDLERS_BASE",
)
MERGED = (
    "EXTENSIONS",
    "ITEM_PIPELINES",
    "DOWNLOADER_MIDDLEWARES",
    "SPIDER_MIDDLEWARES",
    "DOWNLOAD_HANDLERS",
)
# ITEM_PROCESSOR does Scrapy's own work
SINGLE = ("SCHEDULER", "DUPEFILTER_CLASS", "DOWNLOADER", "LOG_FORMATTER")


# One `scrapy fetch` took 73 URLs out of a crawl's queue, and logged 50 as fetched that no archive
# had.
class PlainScrapy:
    """A Scrapy add-on that undoes what makes a spider's run a crawl; the user's parts stay.

    It is an add-on because Scrapy applies those last: the spider's custom settings and other
    add-ons may ask for a crawl as well as the project does.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("JOBDIR", None, "cmdline")
        for name in BASES:
            settings.set(name, getattr(default_settings, name), "cmdline")
        for name in MERGED:
            settings.set(name, _without_ours(name, settings[name]), "cmdline")
        for name in SINGLE:
            if is_ours(settings[name]):
                settings.set(name, getattr(default_settings, name), "cmdline")


class PlainCommand(ScrapyCommand):
    """Base of Scrapy's commands that look at single pages, in a project whose spiders crawl."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        name_program(parser, self)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        opts.set[:] = given_words(self.settings, opts.set)
        super().process_options(args, opts)
        if self.settings is not None:
            self.settings.set(
                "ADDONS", {**self.settings.getdict("ADDONS"), PlainScrapy: LAST}, "cmdline"
            )


def _without_ours(name: str, given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a component setting without webcrawl's, and without what webcrawl switches off."""
    switched = getattr(ours, name, {})
    kept: dict[Any, Any] = {}
    for key, value in given.items():
        is_switched = key in switched and switched[key] == value
        if is_switched or is_ours(key) or is_ours(value):
            continue
        kept[key] = value
    return kept


def is_ours(component: Any) -> bool:
    """Return whether a component, given as a class or by its path, is one of webcrawl's."""
    path = component if isinstance(component, str) else getattr(component, "__module__", "")
    return bool(path.startswith(PACKAGE))


def trusted_code(settings: BaseSettings) -> frozenset[str]:
    """Return the code that the project's settings name: a JOBDIR may come from anywhere."""
    filters = settings.getdict("URL_FILTERS")
    foldings = settings.getlist("URL_FOLDINGS")
    others = (settings.get(name) for name in ("POLITENESS_POLICY", "DOMAIN_BUDGET"))
    return frozenset(map(str, (*filters, *foldings, *others)))
