"""The settings that the user has set, and a warning for each that has no effect.

Scrapy lets every component read settings of its own, so code of the user's or of a library may read
a setting that no table here has.
"""

from __future__ import annotations

import os
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
from webcrawl.base.settings import PREFIX
from webcrawl.base.settings.setting_kinds import words
from webcrawl.crawl.checks.names import unread
from webcrawl.crawl.checks.scrapys import (
    HIVE,
    PAGES,
    REQUESTS,
    TAKEN,
    UNHEARD,
    mistyped,
    overruled,
    unheard,
)

FIRST_OF_PATH = re.compile(r"\b([A-Za-z_]\w*)\.(?=[A-Za-z_])")  # the first name of a dotted path
# scrapy-playwright is loaded for RENDER, which its settings do not name
OUR_PACKAGES = frozenset(("scrapy", "scrapy_playwright", "webcrawl"))
_PROXY_HINT = (
    "set proxies in the environment: http_proxy=http://HOST:PORT, and https_proxy "
    "(docs/scrapy-compatibility.md#proxies)"
)
PAGES_HOOKS = (  # what a subclass of `web` may have (docs/spiders.md)
    *("links_to_follow", "parse", "parse_all", "start", "start_urls", "closed", "custom_settings"),
    *("from_crawler", "update_settings", "handle_httpstatus_list"),
)
HINTS = {  # names that people try, and what to use here
    "PROXY HTTP_PROXY HTTPS_PROXY PROXIES PROXY_URL": _PROXY_HINT,
    "MAX_PAGES PAGE_LIMIT MAX_REQUESTS": (
        "CLOSESPIDER_PAGECOUNT ends the crawl, HOST_MAX_PAGES limits each host"
    ),
    "MAX_DEPTH CRAWL_DEPTH": "URL_MAX_DEPTH",
    "DELAY CRAWL_DELAY REQUEST_DELAY WAIT": "POLITENESS_MIN_DELAY",
    "TIMEOUT REQUEST_TIMEOUT": "DOWNLOAD_TIMEOUT",
    "THREADS WORKERS CONCURRENCY MAX_CONCURRENCY": "CONCURRENT_REQUESTS",
    "ALLOWED_DOMAINS DOMAINS": "-a scope=, URL_INCLUDE",
}


def unread_setting_warning(
    names: Collection[str], given: Mapping[str, Any], spider: type
) -> Iterator[str]:
    """Yield one line with the names that no code reads, if there are any.

    `given` are the user's settings, whose values name the packages of the user's code.
    """
    unread_names = _names_in_no_module(names, _packages(given, spider)) if names else set()
    if unread_names:
        listing = ", ".join(sorted(unread_names))
        hints = _hints_for(unread_names)
        yield f"{listing}: no effect, because no code here reads a setting of this name{hints}"


def _packages(given: Mapping[str, Any], spider: type) -> set[str]:
    """Return the packages whose code may read settings: ours, the spider's, and those in settings."""
    packages = {spider.__module__.partition(".")[0], *OUR_PACKAGES}
    for value in given.values():
        plain = dict(value) if isinstance(value, Mapping) else value
        packages.update(FIRST_OF_PATH.findall(str(plain)))
    return packages


def _names_in_no_module(names: Collection[str], packages: Collection[str]) -> set[str]:
    """Return the names that stand in quotes in no loaded module of these packages."""
    missing_names = set(names)
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] not in packages:
            continue
        source = _source_of(module)
        for name in names:
            if f'"{name}"' in source or f"'{name}'" in source:
                missing_names.discard(name)
    return missing_names


def _hints_for(names: Collection[str]) -> str:
    """Return the hints for these names, one for each different hint, for the end of a line."""
    name_by_hint: dict[str, str] = {}
    for name in sorted(names):
        for tried_names, hint in HINTS.items():
            if name.upper() in tried_names.split():
                name_by_hint[hint] = name
    return "".join(f"; for {name}: {hint}" for hint, name in name_by_hint.items())


def _source_of(module: Any) -> str:
    """Return the source of a module, empty if it cannot be read."""
    path = Path(getattr(module, "__file__", None) or "")
    try:
        return path.read_text("utf-8", "replace") if path.suffix == ".py" else ""
    except OSError:
        return ""


PROJECT_PRIORITY = SETTINGS_PRIORITIES["project"]
COMMAND_LINE_PRIORITY = SETTINGS_PRIORITIES["cmdline"]
COMPONENTS = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS")
# Attributes of spiders that only Scrapy's own download handlers still read
DEPRECATED_ATTRIBUTES = ("download_maxsize", "download_warnsize")
UNSENT_SIGNALS = {
    "bytes_received": signals.bytes_received,
    "headers_received": signals.headers_received,
}
_NOTHING = object()


def is_given(settings: BaseSettings, name: str) -> bool:
    """Return whether the user has set a setting: in the project, the spider or the command line.

    This package's own settings.py may be the project's settings module. Its values do not count.
    """
    priority = settings.getpriority(name) if name in settings else None
    if priority is None or priority < PROJECT_PRIORITY:
        return False
    if priority > PROJECT_PRIORITY:
        return True
    return bool(settings[name] != getattr(defaults, name, _NOTHING))


def on_command_line(settings: BaseSettings) -> frozenset[str]:
    """Return the names of the settings that the command line gives."""
    return frozenset(
        name for name in settings if (settings.getpriority(name) or 0) >= COMMAND_LINE_PRIORITY
    )


def origin(settings: BaseSettings, name: str) -> str:
    """Return where the value of a setting comes from, for the answer of `ctl get`.

    That is a place, such as "command line", or the name of Scrapy's setting of the same meaning.
    """
    if is_given(settings, name):
        priority = settings.getpriority(name) or 0
        if priority >= COMMAND_LINE_PRIORITY:
            return "command line"
        if priority > PROJECT_PRIORITY:
            return "spider"
        return "settings"
    # Scrapy's setting of the same meaning, as DOWNLOAD_DELAY for POLITENESS_MIN_DELAY
    for row in TAKEN:
        if row.ours == name and is_given(settings, row.theirs):
            return row.theirs
    return "default"


def setting_warnings(settings: BaseSettings, spider: Spider) -> Iterator[str]:
    """Yield a line for each setting of the user's that has no effect, or looks mistyped.

    Signals that a component listens to, but that are never sent, get a line as well.
    """
    reader = PAGES if getattr(spider, "makes_pages", False) else REQUESTS

    def is_set(name: str) -> bool:
        return is_given(settings, name)

    users = {name: settings[name] for name in settings if name.isupper() and is_set(name)}
    readers = {reader, HIVE} if settings.getint("HIVE_DRONES") else {reader}
    yield from unheard(users, enabled_components(settings) | readers)
    yield from overruled(is_set)
    if is_set("DOWNLOAD_DELAY") and not is_set("POLITENESS_FACTOR"):
        yield (
            "DOWNLOAD_DELAY is the shortest wait between two requests to a host: the crawl waits "
            "POLITENESS_FACTOR times its last "
            "answer's duration if that is longer (POLITENESS_FACTOR = 0: never)"
        )
    yield from unknown_setting_warnings(settings, spider)
    if reader is PAGES:
        yield from _unused_by_pages_warnings(settings, spider)
    for name in DEPRECATED_ATTRIBUTES:
        if hasattr(spider, name):
            yield f"{spider.name}.{name}: no effect; set {name.upper()} in custom_settings instead"
    # Scrapy's own handlers send these signals
    if hasattr(spider, "crawler") and not settings["FOREIGN_HANDLERS_ALLOWED"]:
        yield from unsent_signal_warnings(spider.crawler.signals.sender)


def _unused_by_pages_warnings(settings: BaseSettings, spider: Spider) -> Iterator[str]:
    """Yield a line for each setting and method that has no effect in a spider that makes pages."""
    outputs = map(str.lower, words(settings["OUTPUTS"] or ""))
    yield from unread(settings["LINK_SOURCES"], outputs)
    for name, hook in misspelt(type(spider), PAGES_HOOKS):
        yield f"{class_name(spider)}.{name} is never called; did you mean {hook}?"


def unsent_signal_warnings(sender: object) -> Iterator[str]:
    """Yield a line for each signal that has a listener, but is sent by Scrapy's own handlers only."""
    for name, signal in UNSENT_SIGNALS.items():
        if has_listener(signal, sender):
            yield (
                f"signal {name}: is never sent here, so it cannot stop a download; use "
                "DOWNLOAD_MAXSIZE or DOWNLOAD_TRUNCATE"
            )


def unknown_setting_warnings(settings: BaseSettings, spider: Spider) -> Iterator[str]:
    """Yield a line for each setting that looks mistyped, and one for other unknown ones of `-s`."""
    known = _known_names()
    given = {name: settings[name] for name in settings if is_given(settings, name)}
    near = mistyped(given, known)
    yield from (f"{name}: unknown setting; did you mean {meant}?" for name, meant in near.items())
    variables = (name.removeprefix(PREFIX) for name in os.environ if name.startswith(PREFIX))
    for name, meant in mistyped(variables, known).items():
        yield f"{PREFIX}{name}: unknown setting; did you mean {PREFIX}{meant}?"
    # Other libraries have settings of their own in a project, and rarely on the command line
    typed = on_command_line(settings) & given.keys()
    yield from unread_setting_warning(typed - known - near.keys(), given, type(spider))


def enabled_components(settings: BaseSettings) -> set[str]:
    """Return the class names of the middlewares, extensions and log formatter that are enabled."""
    names = {_class_name(settings["LOG_FORMATTER"])}
    for kind in COMPONENTS:
        for path, order in settings.getwithbase(kind).items():
            if order is not None:
                names.add(_class_name(path))
    return names


def _class_name(path: Any) -> str:
    return path.rpartition(".")[2] if isinstance(path, str) else getattr(path, "__name__", "")


def _known_names() -> set[str]:
    """Return the names of all settings that Scrapy or webcrawl know, with or without effect."""
    names = set(default_settings.__all__)
    names.update(filter(str.isupper, vars(defaults)))
    names.update(row.theirs for row in TAKEN)
    for row in UNHEARD:
        names.update(row.names.split())
    return names
