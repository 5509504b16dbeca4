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

NONE = "none"
FILTERS = "URL_FILTERS "
CONNECTIONS = "HOST_CONNECTIONS "
BETWEEN = ", "  # what joins the values of a list
NAMES = (
    *(
        "USER_AGENT",
        "URL_SCOPE",
        "URL_SCHEMES",
        "URL_MAX_LENGTH",
        "URL_MAX_DEPTH",
        "URL_EXCLUDE_FILE",
        "AUTH_FILE",
    ),
    *("URL_EXCLUDE_EXTENSIONS", "URL_INCLUDE", "URL_EXCLUDE", "TRAP_RULES"),
    *(
        "TRAP_MAX_PAGES",
        "URL_FOLDINGS",
        "URL_HOST_RULES",
        "PORTS_ALLOWED",
        "REQUISITES",
        "REDIRECT_MAX_HOPS",
    ),
    *(
        "FRONTIER_LEVELS",
        "POLITENESS_POLICY",
        "POLITENESS_FACTOR",
        "POLITENESS_MIN_DELAY",
        "POLITENESS_MAX_DELAY",
    ),
    *(
        "POLITENESS_PER_IP",
        "CRAWL_DELAY_MAX",
        "HOST_MAX_PAGES",
        "HOST_MAX_FAILURES",
        "HOST_PATIENCE",
        "DOMAIN_BUDGET",
    ),
    *("DOMAIN_BUDGET_PAGES", "OBEY_NOFOLLOW", "HIVE_PARTITION", "PRIVATE_NETWORKS_ALLOWED"),
    *("FRONTIER_QUEUES", "FRONTIER_MAX_QUEUES", "CONCURRENT_REQUESTS", "HOST_RETRY_WAIT"),
    *("RETRY_AFTER_MAX", "FRONTIER_PRIORITIZER", "FRONTIER_MEMORY", "FOCUS_LANGUAGES"),
)
# paths of classes, beside the filters and foldings
CODE = ("POLITENESS_POLICY", "DOMAIN_BUDGET", "FRONTIER_PRIORITIZER")


def values_of(
    terms: Mapping[str, str], ordered: Mapping[str, Any], trusted: Container[str], odd: list[str]
) -> CheckedSettings:
    """Return the settings of NAMES, which are all that questions about a URL need. `ordered`: what was set by command.

    Code that is neither webcrawl's nor `trusted` is not loaded.
    """
    values: dict[str, Any] = {}
    for name in NAMES:
        default = getattr(defaults, name)
        written = _written(name, terms[name]) if name in terms else default
        if name in CODE and not may_load(str(written), trusted):
            odd.append(f"{name} = {written}: not one of webcrawl's own values, so it was not used")
            written = default
        if name == "URL_FOLDINGS":
            written = _trusted(name, written, trusted, odd)
        values[name] = _value(name, written, default, odd)
    values["URL_FILTERS"] = _filters(terms)
    connections = _entries(CONNECTIONS, terms)
    values["HOST_CONNECTIONS"] = _value("HOST_CONNECTIONS", connections, {}, odd)
    values |= {**RETRIES, "RETRY_HTTP_CODES": None}  # what is retried is the crawl's business
    values["DEPTH_LIMIT"] = _number(terms.get("DEPTH_LIMIT"))
    # as text: whose code it is does not matter
    values["REVISIT_POLICY"] = terms.get("REVISIT_POLICY", NONE)
    values["ROBOTSTXT_OBEY"] = terms.get("ROBOTSTXT_OBEY", "on") == "on"
    values["ROBOTSTXT_USER_AGENT"] = _maybe(terms.get("ROBOTSTXT_USER_AGENT"))
    for name in CHANGEABLE:  # nothing else, for a name of code would be loaded
        if name in ordered and name in values:
            values[name] = _ordered(name, ordered[name], values[name], odd)
    return cast("CheckedSettings", values)


def _written(name: str, text: str) -> Any:
    """Return a value that a user could have written for this text of the state."""
    if name == "URL_HOST_RULES":
        return text.rpartition(" (")[0] or text
    if name in ("URL_INCLUDE", "URL_EXCLUDE"):
        return [] if text == NONE else text.split(BETWEEN)
    return text


def _value(name: str, written: Any, default: Any, odd: list[str]) -> Any:
    try:
        return read(name, written)
    except SettingError as error:
        if isinstance(written, list):  # one expression with a comma and a blank in it
            try:
                return read(name, [BETWEEN.join(written)])
            except SettingError:
                pass
        odd.append(str(error))
        return read(name, default)


def _ordered(name: str, written: Any, before: Any, odd: list[str]) -> Any:
    """Return lists as the user wrote them."""
    try:
        return read(name, written)
    except SettingError as error:  # a file that is gone since
        odd.append(str(error))
        return before


def _trusted(name: str, written: Any, trusted: Container[str], odd: list[str]) -> list[str]:
    paths = written.split(BETWEEN) if isinstance(written, str) else list(written)
    kept = []
    for path in paths:
        if path == NONE:
            continue
        if may_load(path, trusted):
            kept.append(path)
        else:
            odd.append(f"{name}: {path} is not part of webcrawl, so it was not used")
    return kept


def _filters(terms: Mapping[str, str]) -> dict[str, int]:
    """Return the filters with their orders, without those that the crawl switched off."""
    found: dict[str, int] = {}
    named = _entries(FILTERS, terms)
    for path, order in (named or defaults.URL_FILTERS).items():
        number = _number(str(order))
        if number is not None:
            found[path] = number
    return found


def _entries(prefix: str, terms: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of a setting that is a mapping: the state keeps each as a term."""
    names = [name for name in terms if name.startswith(prefix)]
    return {name.removeprefix(prefix): terms[name] for name in names}


def may_load(path: str, trusted: Container[str]) -> bool:
    """Return whether a saved name may be imported: no JOBDIR decides which code runs here."""
    return path.startswith(OURS) or path in trusted


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _maybe(text: str | None) -> str:
    return "" if text in (None, NONE) else str(text)


def values_for(host: str, values: CheckedSettings, sheets: Sheets) -> CheckedSettings:
    """Return all settings, as they hold for this host."""
    own = sheets.of(host)
    return without_conflict(with_values(values, own)) if own else values
