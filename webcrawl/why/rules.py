"""The rule by which a URL filter refuses a URL, in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import re2

from webcrawl.urls.filters.exclusion_rules import parse_exclusions
from webcrawl.urls.filters.known_rules import RULES
from webcrawl.urls.filters.lines import Lines
from webcrawl.urls.filters.protocol import Origin, UrlFilter
from webcrawl.urls.hosts import RegisteredDomains, host_of
from webcrawl.urls.rules_file import RulesError
from webcrawl.urls.sites import sites, steps

Values = Mapping[str, Any]
SCOPES = {
    "host": "URL_SCOPE = host: links to another host than their page's are not followed",
    "domain": "URL_SCOPE = domain: links to another registered domain than their page's are not followed",
    "seeds": "URL_SCOPE = seeds: no seed is of its registered domain",
}
SETTINGS = {  # that say what a filter leaves out
    "scheme": "URL_SCHEMES",
    "length": "URL_MAX_LENGTH",
    "depth": "URL_MAX_DEPTH",
    "scope": "URL_SCOPE",
    "excluded": "URL_EXCLUDE_FILE",
    "extension": "URL_EXCLUDE_EXTENSIONS",
    "trap_family": "TRAP_MAX_PAGES",
}
TRAPS = {
    "trap_repeats": "TRAP_RULES: parts of its path come again and again, as where relative links lead into themselves",
    "trap_growth": "TRAP_RULES: it has too many segments, parameters that repeat, or escapes of escapes",
    "trap_calendar": "TRAP_RULES: a calendar page more than two years ahead",
}


def rule_of(one: UrlFilter, url: str, origin: Origin, values: Values, domains: RegisteredDomains) -> str:
    """Which rule of this filter refuses the URL."""
    rule = TEXTS.get(one.name)
    if rule is not None:
        return rule(url, origin, values, domains, one)
    return TRAPS.get(one.name, f"the filter {type(one).__module__}.{type(one).__qualname__} refuses it")


def setting_of(name: str, values: Values) -> str:
    """The setting of a filter of this name, and its value; empty if it has none, or one that is long."""
    setting = SETTINGS.get(name)
    value = values.get(setting, "") if setting is not None else ""
    return f"{setting} = {value}" if isinstance(value, str | int) and value != "" else ""


def _scheme(_: str, __: Origin, values: Values, ___: RegisteredDomains, ____: UrlFilter) -> str:
    return f"URL_SCHEMES = {', '.join(values['URL_SCHEMES'])}"


def _length(url: str, _: Origin, values: Values, __: RegisteredDomains, ___: UrlFilter) -> str:
    return f"URL_MAX_LENGTH = {values['URL_MAX_LENGTH']}: it has {len(url)} characters"


def _depth(_: str, origin: Origin, values: Values, __: RegisteredDomains, ___: UrlFilter) -> str:
    deepest = values["URL_MAX_DEPTH"]
    if not origin.path:
        return f"URL_MAX_DEPTH = {deepest}: it is {origin.depth} links from the start"
    here, others = steps(origin.path), sites(origin.path)
    return f"URL_MAX_DEPTH = {deepest}: {here} links within its site, {others} sites from the seed"


def _scope(url: str, _: Origin, values: Values, domains: RegisteredDomains, __: UrlFilter) -> str:
    scope = values["URL_SCOPE"]
    name = host_of(url) if scope == "host" else domains(host_of(url))
    return f"{SCOPES.get(scope, f'URL_SCOPE = {scope}')} (here {name})"


def _excluded(url: str, _: Origin, values: Values, __: RegisteredDomains, ___: UrlFilter) -> str:
    path = Path(values["URL_EXCLUDE_FILE"])
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return f"URL_EXCLUDE_FILE = {path}"
    for number, line in enumerate(lines, 1):
        if _excludes(line, url):
            return f"{path}, line {number}: {line.strip()[:200]}"
    return f"URL_EXCLUDE_FILE = {path}"


def _commanded(url: str, _: Origin, __: Values, ___: RegisteredDomains, one: UrlFilter) -> str:
    now = time.time()
    for wish in getattr(one, "records", []):
        if wish.holds(now) and _excludes(wish.rule, url):
            return f"excluded by command: exclude {wish.rule}{f' ({wish.details})' if wish.details else ''}"
    return "excluded by command"


def _excludes(line: str, url: str) -> bool:
    try:
        return parse_exclusions(line, "", time.time()).excludes(url)
    except RulesError:
        return False


def _port(url: str, _: Origin, __: Values, ___: RegisteredDomains, ____: UrlFilter) -> str:
    authority = url.split("/", 3)[2]
    return f"the port of {authority} belongs to another service; PORTS_ALLOWED does not name it"


def _extension(url: str, _: Origin, __: Values, ___: RegisteredDomains, ____: UrlFilter) -> str:
    name = url.partition("?")[0].rpartition("/")[2]
    return f"URL_EXCLUDE_EXTENSIONS: no pages are expected in files named {name[:80]}"


def _expression(url: str, _: Origin, values: Values, __: RegisteredDomains, ___: UrlFilter) -> str:
    include = values["URL_INCLUDE"]
    if include and not any(re2.search(one, url) for one in include):
        return f"it matches none of URL_INCLUDE: {', '.join(include)[:200]}"
    for one in values["URL_EXCLUDE"]:
        if re2.search(one, url):
            return f"URL_EXCLUDE: {one}"
    return "URL_INCLUDE and URL_EXCLUDE"


def _known(url: str, _: Origin, __: Values, ___: RegisteredDomains, ____: UrlFilter) -> str:
    name = next((name for name, rule in RULES.items() if Lines(rule).among([url])), "")
    return f"the known path {name}: another view of a page, a form or a button, not a page of its own"


def _family(url: str, _: Origin, values: Values, __: RegisteredDomains, ___: UrlFilter) -> str:
    return (
        f"TRAP_MAX_PAGES = {values['TRAP_MAX_PAGES']}: so many pages of its kind (calendar pages, session ids, "
        f"long queries or deep paths) were let in from {host_of(url)}"
    )


TEXTS: dict[str, Callable[[str, Origin, Values, RegisteredDomains, UrlFilter], str]] = {
    "scheme": _scheme,
    "length": _length,
    "depth": _depth,
    "scope": _scope,
    "excluded": _excluded,
    "commanded": _commanded,
    "port": _port,
    "extension": _extension,
    "expression": _expression,
    "known_path": _known,
    "trap_family": _family,
}
