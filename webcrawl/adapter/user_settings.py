"""The settings that the user has made, and a warning for each that has no effect.

Scrapy lets every component ask for settings of its own, so a name that no table has may still be
somebody's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from webcrawl import settings as defaults
from webcrawl.adapter.listeners import has_listener
from webcrawl.base.own_code import class_name, misspelt
from webcrawl.base.settings.setting_kinds import words
from webcrawl.crawl.checks.names import unread
from webcrawl.crawl.checks.scrapys import (
    PAGES,
    REQUESTS,
    TAKEN,
    UNHEARD,
    mistyped,
    overruled,
    unheard,
)

PACKAGE = re.compile(r"\b([A-Za-z_]\w*)\.(?=[A-Za-z_])")  # the first name of a dotted path
OURS = frozenset(("scrapy", "webcrawl"))
_PROXY = (
    "set proxies in the environment: http_proxy=http://HOST:PORT, and https_proxy "
    "(docs/scrapy-compatibility.md#proxies)"
)
PAGES_HOOKS = (  # what a subclass of `web` may have (docs/spiders.md)
    *("links_to_follow", "parse", "parse_all", "start", "start_urls", "closed", "custom_settings"),
    *("from_crawler", "update_settings", "handle_httpstatus_list"),
)
WISHES = {  # names that people try, and what does it here
    "PROXY HTTP_PROXY HTTPS_PROXY PROXIES PROXY_URL": _PROXY,
    "MAX_PAGES PAGE_LIMIT MAX_REQUESTS": (
        "CLOSESPIDER_PAGECOUNT ends the crawl, HOST_MAX_PAGES limits each host"
    ),
    "MAX_DEPTH CRAWL_DEPTH": "URL_MAX_DEPTH",
    "DELAY CRAWL_DELAY REQUEST_DELAY WAIT": "POLITENESS_MIN_DELAY",
    "TIMEOUT REQUEST_TIMEOUT": "DOWNLOAD_TIMEOUT",
    "THREADS WORKERS CONCURRENCY MAX_CONCURRENCY": "CONCURRENT_REQUESTS",
    "ALLOWED_DOMAINS DOMAINS": "-a scope=, URL_INCLUDE",
}


def read_by_nobody(names: Collection[str], given: Mapping[str, Any], spider: type) -> Iterator[str]:
    """Yield one line about those of these names that no code reads, if there are any.

    `given`: the user's settings, which name the packages of the user's code.
    """
    left = _unquoted(names, _packages(given, spider)) if names else set()
    if left:
        listed = ", ".join(sorted(left))
        yield f"{listed}: no effect, because no code here reads a setting of this name{_advice(left)}"


def _packages(given: Mapping[str, Any], spider: type) -> set[str]:
    """Return the packages whose code may read settings: ours, the spider's, those in settings."""
    packages = {spider.__module__.partition(".")[0], *OURS}
    for value in given.values():
        plain = dict(value) if isinstance(value, Mapping) else value
        packages.update(PACKAGE.findall(str(plain)))
    return packages


def _unquoted(names: Collection[str], packages: Collection[str]) -> set[str]:
    """Return the names that stand in quotes in no loaded module of these packages."""
    left = set(names)
    for module, loaded in list(sys.modules.items()):
        if module.partition(".")[0] not in packages:
            continue
        text = _text(loaded)
        for name in names:
            if f'"{name}"' in text or f"'{name}'" in text:
                left.discard(name)
    return left


def _advice(names: Collection[str]) -> str:
    """Return, for the end of a line, what does here what these names do elsewhere."""
    name_by_advice: dict[str, str] = {}
    for name in sorted(names):
        for tried, does in WISHES.items():
            if name.upper() in tried.split():
                name_by_advice[does] = name
    return "".join(f"; for {name}: {does}" for does, name in name_by_advice.items())


def _text(module: Any) -> str:
    path = Path(getattr(module, "__file__", None) or "")
    try:
        return path.read_text("utf-8", "replace") if path.suffix == ".py" else ""
    except OSError:
        return ""


USER, COMMAND_LINE = SETTINGS_PRIORITIES["project"], SETTINGS_PRIORITIES["cmdline"]
COMPONENTS = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS")
# attributes of spiders that Scrapy's own handlers still read
DEPRECATED = ("download_maxsize", "download_warnsize")
UNSENT = {"bytes_received": signals.bytes_received, "headers_received": signals.headers_received}
_NOTHING = object()


def is_given(settings: BaseSettings, name: str) -> bool:
    """Return whether the user has set it: in the project, in the spider or on the command line.

    This package's own settings.py may be the project's: what it says is a default.
    """
    priority = settings.getpriority(name) if name in settings else None
    if priority is None or priority < USER:
        return False
    if priority > USER:
        return True
    return bool(settings[name] != getattr(defaults, name, _NOTHING))


def on_command_line(settings: BaseSettings) -> frozenset[str]:
    """Return the names of the settings that the command line gives."""
    return frozenset(name for name in settings if (settings.getpriority(name) or 0) >= COMMAND_LINE)


def origin(settings: BaseSettings, name: str) -> str:
    """Return the place that a setting comes from, or the setting of Scrapy's that gives it."""
    if is_given(settings, name):
        priority = settings.getpriority(name) or 0
        if priority >= COMMAND_LINE:
            return "command line"
        if priority > USER:
            return "spider"
        return "settings"
    # Scrapy's setting of the same meaning, as DOWNLOAD_DELAY for POLITENESS_MIN_DELAY
    for one in TAKEN:
        if one.ours == name and is_given(settings, one.theirs):
            return one.theirs
    return "default"


def warnings(settings: BaseSettings, spider: Spider) -> Iterator[str]:
    """Yield a line for each setting of the user's that has no effect, or is near a known one.

    So for each signal that a component listens to and no code sends.
    """
    reader = PAGES if getattr(spider, "makes_pages", False) else REQUESTS

    def given(name: str) -> bool:
        return is_given(settings, name)

    users = {name: settings[name] for name in settings if name.isupper() and given(name)}
    yield from unheard(users, enabled(settings) | {reader})
    yield from overruled(given)
    if given("DOWNLOAD_DELAY") and not given("POLITENESS_FACTOR"):
        yield (
            "DOWNLOAD_DELAY is the shortest wait between two requests to a host: the crawl waits "
            "POLITENESS_FACTOR times its last "
            "answer's duration if that is longer (POLITENESS_FACTOR = 0: never)"
        )
    yield from unknown(settings, spider)
    if reader is PAGES:
        yield from _unused_by_pages(settings, spider)
    for name in DEPRECATED:
        if hasattr(spider, name):
            yield f"{spider.name}.{name}: no effect; set {name.upper()} in custom_settings instead"
    # Scrapy's own handlers send these signals
    if hasattr(spider, "crawler") and not settings["FOREIGN_HANDLERS_ALLOWED"]:
        yield from unsent(spider.crawler.signals.sender)


def _unused_by_pages(settings: BaseSettings, spider: Spider) -> Iterator[str]:
    """Yield a line for each output and each method that a spider which makes pages does not use."""
    outputs = map(str.lower, words(settings["OUTPUTS"] or ""))
    yield from unread(settings["LINK_SOURCES"], outputs)
    for name, hook in misspelt(type(spider), PAGES_HOOKS):
        yield f"{class_name(spider)}.{name} is never called; did you mean {hook}?"


def unsent(sender: object) -> Iterator[str]:
    """Yield a line for each signal by which Scrapy's handlers let a listener stop a download."""
    for name, signal in UNSENT.items():
        if has_listener(signal, sender):
            yield (
                f"signal {name}: is never sent here, so it cannot stop a download; use "
                "DOWNLOAD_MAXSIZE or DOWNLOAD_TRUNCATE"
            )


def unknown(settings: BaseSettings, spider: Spider) -> Iterator[str]:
    """Yield a line for each setting near a known one, and one for other unknown ones of `-s`."""
    known = _known()
    given = {name: settings[name] for name in settings if is_given(settings, name)}
    near = mistyped(given, known)
    yield from (f"{name}: unknown setting; did you mean {meant}?" for name, meant in near.items())
    # Other libraries have settings of their own in a project, and rarely on the command line
    typed = on_command_line(settings) & given.keys()
    yield from read_by_nobody(typed - known - near.keys(), given, type(spider))


def enabled(settings: BaseSettings) -> set[str]:
    """Return the names of the classes of those components that are enabled."""
    found = {_class(settings["LOG_FORMATTER"])}
    for kind in COMPONENTS:
        for path, order in settings.getwithbase(kind).items():
            if order is not None:
                found.add(_class(path))
    return found


def _class(path: Any) -> str:
    return path.rpartition(".")[2] if isinstance(path, str) else getattr(path, "__name__", "")


def _known() -> set[str]:
    known = set(default_settings.__all__)
    known.update(filter(str.isupper, vars(defaults)))
    known.update(one.theirs for one in TAKEN)
    for row in UNHEARD:
        known.update(row.names.split())
    return known
