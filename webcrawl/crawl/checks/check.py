"""The one place that checks settings, before the first request."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from webcrawl import settings as defaults
from webcrawl.base.readable import shortened
from webcrawl.base.settings.setting_kinds import Kind, Secret
from webcrawl.crawl.checks.names import NONE
from webcrawl.crawl.checks.scrapys import Given, translated
from webcrawl.crawl.checks.table import KINDS, OF_ONE_HOST, RULES, SCRAPYS

RETRIES = {"RETRY_ENABLED": True, "RETRY_TIMES": 2}  # Scrapy's defaults, for a crawl without Scrapy
UNFOCUSED = {"FOCUS_LANGUAGES": ()}
WITH_REVISITS = ("SITEMAPS", "FEED_LINKS")  # on with them, if nothing else is said
DEPRECATED = ("DNS_RESOLVER",)  # Scrapy warns whoever reads it
ARCHIVED_TRUNCATE = 64 << 20  # bytes of a body in a crawl that is to keep what it finds


class SettingError(ValueError):
    """A setting with an invalid value; the message is one line with its name, the value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str, detail: str = "") -> None:
        shown = dict(value) if isinstance(value, Mapping) else value
        line = f"{name} = {shortened(repr(shown))}: must be {allowed}" + (f" ({shortened(detail)})" if detail else "")
        super().__init__(" ".join(line.split()))


def check(settings: Mapping[str, Any], given: Given = lambda _: False) -> dict[str, Any]:
    """Returns every setting of the tables as a plain value, defaults included. Raises SettingError.

    A setting of Scrapy's that the user has `given` counts as ours of the same meaning, unless that was given too.
    """
    kinds = {name: kind for name, kind in SCRAPYS.items() if name not in DEPRECATED or given(name)}
    theirs = {name: _read(name, kind, settings[name]) for name, kind in kinds.items() if settings.get(name) is not None}
    ours = translated(theirs, given)
    if "POLITENESS_MIN_DELAY" in ours and not given("POLITENESS_MAX_DELAY"):
        ours["POLITENESS_MAX_DELAY"] = max(ours["POLITENESS_MIN_DELAY"], defaults.POLITENESS_MAX_DELAY)
    if not given("RETRY_HTTP_CODES"):
        theirs["RETRY_HTTP_CODES"] = None  # Scrapy's default knows fewer than the frontier
    values = RETRIES | UNFOCUSED | theirs
    for name, kind in KINDS.items():
        value = ours[name] if name in ours else settings[name] if name in settings else getattr(defaults, name)
        values[name] = _read(name, kind, value)
    _hold(values)
    for name in WITH_REVISITS:
        if values[name] is None and values["REVISIT_POLICY"] != NONE:
            values[name] = True
    if values["SITEMAPS"] is None and not values["URL_FOLLOW"]:
        values["SITEMAPS"] = False  # they are links
    if values["OBEY_NOFOLLOW"] is None:
        values["OBEY_NOFOLLOW"] = "search" in values["PURPOSE"]
    values["READ_TRUNCATE"] = sys.maxsize
    is_default = "DOWNLOAD_TRUNCATE" not in ours and values["DOWNLOAD_TRUNCATE"] == defaults.DOWNLOAD_TRUNCATE
    if is_default and not given("DOWNLOAD_TRUNCATE") and _is_archive(values):
        values |= whole_bodies(values)
    return values | {"FRONTIER_QUEUES": values["FRONTIER_QUEUES"] or _default_queues(values)}


def whole_bodies(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings by which large bodies are kept. Of a document no more is read than without them."""
    return {"READ_TRUNCATE": values["DOWNLOAD_TRUNCATE"], "DOWNLOAD_TRUNCATE": ARCHIVED_TRUNCATE}


def _is_archive(values: Mapping[str, Any]) -> bool:
    """Return whether these settings are those of a crawl whose pages are to be kept whole."""
    return bool(values["REQUISITES"]) or "archive" in values["PURPOSE"] or values["URL_SCOPE"] == "host"


def read(name: str, value: Any) -> Any:
    """The plain value of one setting, by itself. Raises SettingError."""
    return _read(name, KINDS.get(name) or SCRAPYS[name], value)


def read_for_host(name: str, value: Any) -> Any:
    """The plain value that a single domain or host has of a setting. Raises SettingError."""
    kind = OF_ONE_HOST.get(name)
    return read(name, value) if kind is None else _read(name, kind, value)


def changed(values: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Checked values with other ones for some settings, which are checked like all. Raises SettingError."""
    values = {**values, **{name: read(name, value) for name, value in new.items()}}
    _hold(values)
    return values


def _hold(values: Mapping[str, Any]) -> None:
    for rule in RULES:
        if not rule.holds(values):
            raise SettingError(rule.name, values[rule.name], rule.allowed.format(**values))


def _read(name: str, kind: Kind, value: Any) -> Any:
    try:
        return kind.read(value)
    except Secret as error:
        raise SettingError(name, error, kind.allowed, str(error)) from None
    except (ValueError, TypeError, OSError, OverflowError, RecursionError) as error:
        raise SettingError(name, getattr(error, "shown", value), kind.allowed, str(error)) from error


def _default_queues(values: Mapping[str, Any]) -> int:
    """Three host queues per concurrent download, as the Mercator paper recommends."""
    return int(min(3 * values["CONCURRENT_REQUESTS"], values["FRONTIER_MAX_QUEUES"]))
