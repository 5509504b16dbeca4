"""Plain Scrapy for commands that look at single pages, without JOBDIR and frontier."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.settings import BaseSettings, default_settings

from webcrawl import settings as ours
from webcrawl.adapter.command_line_settings import settings_words
from webcrawl.base.program import name_program

PACKAGE = f"{__name__.partition('.')[0]}."
LAST_PRIORITY = 1_000_000_000  # the add-on comes after all others, which may set up a crawl
# Scrapy's components, with which it merges the user's. A project never sets these; a crawl does.
BASE_SETTINGS = (
    "EXTENSIONS_BASE",
    "ITEM_PIPELINES_BASE",
    "DOWNLOADER_MIDDLEWARES_BASE",
    "SPIDER_MIDDLEWARES_BASE",
    "DOWNLOAD_HANDLERS_BASE",
)
MERGED_SETTINGS = (
    "EXTENSIONS",
    "ITEM_PIPELINES",
    "DOWNLOADER_MIDDLEWARES",
    "SPIDER_MIDDLEWARES",
    "DOWNLOAD_HANDLERS",
)
# Not ITEM_PROCESSOR, because ours calls pipelines as Scrapy's does
SINGLE_COMPONENTS = ("SCHEDULER", "DUPEFILTER_CLASS", "DOWNLOADER", "LOG_FORMATTER")


# Without it, one `scrapy fetch` took 73 URLs out of a crawl's queue, and logged 50 as fetched that
# no archive had.
class PlainScrapy:
    """A Scrapy add-on that removes what makes a spider's run a crawl, and keeps the user's parts.

    It is an add-on because Scrapy applies those last. The project, the spider's custom settings and
    other add-ons may each have set up a crawl.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("JOBDIR", None, "cmdline")
        for name in BASE_SETTINGS:
            settings.set(name, getattr(default_settings, name), "cmdline")
        for name in MERGED_SETTINGS:
            settings.set(name, _without_ours(name, settings[name]), "cmdline")
        for name in SINGLE_COMPONENTS:
            if is_ours(settings[name]):
                settings.set(name, getattr(default_settings, name), "cmdline")


class PlainCommand(ScrapyCommand):
    """Base of Scrapy's commands that fetch single pages, in a project whose spiders crawl."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        name_program(parser, self)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        opts.set[:] = settings_words(self.settings, opts.set)
        super().process_options(args, opts)
        if self.settings is not None:
            self.settings.set(
                "ADDONS", {**self.settings.getdict("ADDONS"), PlainScrapy: LAST_PRIORITY}, "cmdline"
            )


def _without_ours(name: str, components: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a setting of components without webcrawl's own, and without its changes to others."""
    our_entries = getattr(ours, name, {})
    users_entries: dict[Any, Any] = {}
    for key, value in components.items():
        is_our_entry = key in our_entries and our_entries[key] == value
        if is_our_entry or is_ours(key) or is_ours(value):
            continue
        users_entries[key] = value
    return users_entries


def is_ours(component: Any) -> bool:
    """Return whether a component, given as a class or by its path, is one of webcrawl's."""
    path = component if isinstance(component, str) else getattr(component, "__module__", "")
    return bool(path.startswith(PACKAGE))


def trusted_code(settings: BaseSettings) -> frozenset[str]:
    """Return the dotted paths of filters and policies that the project's own settings name.

    A JOBDIR may come from anywhere, so the code that it names is run only if the project names it
    as well.
    """
    filters = settings.getdict("URL_FILTERS")
    foldings = settings.getlist("URL_FOLDINGS")
    others = (settings.get(name) for name in ("POLITENESS_POLICY", "DOMAIN_BUDGET"))
    return frozenset(map(str, (*filters, *foldings, *others)))
