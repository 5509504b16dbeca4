"""The settings of a crawl as its state keeps them: of all hosts, and of single ones."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, cast

from webcrawl import settings as defaults
from webcrawl.base.loading import OURS
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.crawl.checks import SettingError, read
from webcrawl.crawl.checks.check import RETRIES
from webcrawl.crawl.control.in_force import CHANGEABLE
from webcrawl.crawl.control.sheets import Sheets, without_conflict

SAVED_NONE = "none"  # what the state has for None and for an empty list
# The state has a term for each entry of a mapping: this, and the key of the entry.
FILTER_PREFIX = "URL_FILTERS "
CONNECTIONS_PREFIX = "HOST_CONNECTIONS "
LIST_SEPARATOR = ", "
URL_SETTINGS = (  # that questions about a URL need
    "USER_AGENT",
    "URL_SCOPE",
    "URL_SCHEMES",
    "URL_MAX_LENGTH",
    "URL_MAX_DEPTH",
    "URL_EXCLUDE_FILE",
    "AUTH_FILE",
    "URL_EXCLUDE_EXTENSIONS",
    "URL_INCLUDE",
    "URL_EXCLUDE",
    "TRAP_RULES",
    "TRAP_MAX_PAGES",
    "URL_FOLDINGS",
    "URL_HOST_RULES",
    "PORTS_ALLOWED",
    "REQUISITES",
    "REDIRECT_MAX_HOPS",
    "FRONTIER_LEVELS",
    "POLITENESS_POLICY",
    "POLITENESS_FACTOR",
    "POLITENESS_MIN_DELAY",
    "POLITENESS_MAX_DELAY",
    "POLITENESS_PER_IP",
    "CRAWL_DELAY_MAX",
    "HOST_MAX_PAGES",
    "HOST_MAX_FAILURES",
    "HOST_PATIENCE",
    "DOMAIN_BUDGET",
    "DOMAIN_BUDGET_PAGES",
    "OBEY_NOFOLLOW",
    "LINK_SOURCES",
    "HIVE_PARTITION",
    "PRIVATE_NETWORKS_ALLOWED",
    "FRONTIER_QUEUES",
    "FRONTIER_MAX_QUEUES",
    "CONCURRENT_REQUESTS",
    "HOST_RETRY_WAIT",
    "RETRY_AFTER_MAX",
    "FRONTIER_PRIORITIZER",
    "FRONTIER_MEMORY",
    "FOCUS_LANGUAGES",
)
# whose values are paths of classes; those of filters and foldings are lists
CODE_SETTINGS = ("POLITENESS_POLICY", "DOMAIN_BUDGET", "FRONTIER_PRIORITIZER")


def values_of(
    terms: Mapping[str, str], ordered: Mapping[str, Any], trusted: Container[str], notes: list[str]
) -> CheckedSettings:
    """Return the settings that questions about a URL need, as a crawl's state has them.

    `terms`: the state's text for each setting. `ordered`: what was set by command since. Code that
    is neither webcrawl's nor `trusted` is not loaded. A line about each value that could not be
    used is added to `notes`.
    """
    values: dict[str, Any] = {}
    for name in URL_SETTINGS:
        default = getattr(defaults, name)
        written = _as_written(name, terms[name]) if name in terms else default
        if name in CODE_SETTINGS and not may_load(str(written), trusted):
            notes.append(
                f"{name} = {written}: not one of webcrawl's own values, so it was not used"
            )
            written = default
        if name == "URL_FOLDINGS":
            written = _trusted_paths(name, written, trusted, notes)
        values[name] = _value(name, written, default, notes)
    values["URL_FILTERS"] = _filters(terms)
    connections = _entries(CONNECTIONS_PREFIX, terms)
    values["HOST_CONNECTIONS"] = _value("HOST_CONNECTIONS", connections, {}, notes)
    values |= {**RETRIES, "RETRY_HTTP_CODES": None}  # what is retried is the crawl's business
    values["DEPTH_LIMIT"] = _number(terms.get("DEPTH_LIMIT"))
    # only as text, which no code is loaded for
    values["REVISIT_POLICY"] = terms.get("REVISIT_POLICY", SAVED_NONE)
    values["ROBOTSTXT_OBEY"] = terms.get("ROBOTSTXT_OBEY", "on") == "on"
    values["ROBOTSTXT_USER_AGENT"] = _text_or_empty(terms.get("ROBOTSTXT_USER_AGENT"))
    for name in CHANGEABLE:  # and no others: code could be named there, and would be loaded
        if name in ordered and name in values:
            values[name] = _ordered_value(name, ordered[name], values[name], notes)
    return cast("CheckedSettings", values)


def _as_written(name: str, text: str) -> Any:
    """Return a value that a user could have written for this text in the state."""
    if name == "URL_HOST_RULES":
        return text.rpartition(" (")[0] or text
    if name in ("URL_INCLUDE", "URL_EXCLUDE"):
        return [] if text == SAVED_NONE else text.split(LIST_SEPARATOR)
    return text


def _value(name: str, written: Any, default: Any, notes: list[str]) -> Any:
    """Return the checked value of a setting, or the checked default if it cannot be used."""
    try:
        return read(name, written)
    except SettingError as error:
        # The list may be one expression that has the separator in it.
        if isinstance(written, list):
            try:
                return read(name, [LIST_SEPARATOR.join(written)])
            except SettingError:
                pass
        notes.append(str(error))
        return read(name, default)


def _ordered_value(name: str, written: Any, before: Any, notes: list[str]) -> Any:
    """Return the checked value that was set by command, or the one before if it cannot be used."""
    try:
        return read(name, written)
    except SettingError as error:  # a file that is gone since
        notes.append(str(error))
        return before


def _trusted_paths(name: str, written: Any, trusted: Container[str], notes: list[str]) -> list[str]:
    """Return the paths of code that may be loaded; note each of the others."""
    paths = written.split(LIST_SEPARATOR) if isinstance(written, str) else list(written)
    kept = []
    for path in paths:
        if path == SAVED_NONE:
            continue
        if may_load(path, trusted):
            kept.append(path)
        else:
            notes.append(f"{name}: {path} is not part of webcrawl, so it was not used")
    return kept


def _filters(terms: Mapping[str, str]) -> dict[str, int]:
    """Return the filters with their orders, without those that the crawl switched off."""
    orders: dict[str, int] = {}
    saved = _entries(FILTER_PREFIX, terms)
    for path, order in (saved or defaults.URL_FILTERS).items():
        number = _number(str(order))
        if number is not None:
            orders[path] = number
    return orders


def _entries(prefix: str, terms: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in terms if name.startswith(prefix)]
    return {name.removeprefix(prefix): terms[name] for name in names}


def may_load(path: str, trusted: Container[str]) -> bool:
    """Return whether a saved name may be imported: no JOBDIR decides which code runs here."""
    return path.startswith(OURS) or path in trusted


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _text_or_empty(text: str | None) -> str:
    return "" if text in (None, SAVED_NONE) else str(text)


def values_for(host: str, values: CheckedSettings, sheets: Sheets) -> CheckedSettings:
    own = sheets.of(host)
    return without_conflict(with_values(values, own)) if own else values
