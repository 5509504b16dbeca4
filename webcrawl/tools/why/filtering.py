"""Asks each URL filter of a crawl about one URL, and says by which rule it decides, in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import re2

from webcrawl.base.errors import RulesError
from webcrawl.base.loading import load
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.sheets import DEPTH, SCOPE
from webcrawl.tools.why.saved_settings import SavedSheets, may_load
from webcrawl.urls.exclusion_rules import OptOut, parse_exclusions
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.exclusion import CommandedFilter
from webcrawl.urls.filters.filter_protocol import Bounds, Lines, Origin, Remembers, Setup, Suspects, UrlFilter
from webcrawl.urls.filters.known_paths import RULES
from webcrawl.urls.filters.scope import PageScope, ScopeFilter
from webcrawl.urls.host_names import RegisteredDomains, sites, steps

PASSES, REFUSES, UNASKED = "passes", "refuses", "not asked"


class Verdict(NamedTuple):
    """The verdict of one filter."""

    name: str
    verdict: str
    rule: str = ""

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "verdict": self.verdict, "rule": self.rule}


class Filters:
    """The filters of a crawl, in their order, with what they had learned by the last checkpoint."""

    def __init__(
        self,
        values: Mapping[str, Any],
        key: bytes,
        domains: RegisteredDomains,
        learned: Mapping[str, bytes],
        excluded: list[OptOut],
        sheets: SavedSheets,
        trusted: Container[str] = (),
    ) -> None:
        self._values, self._domains, self._sheets = values, domains, sheets
        self._learned = learned
        self._unasked: dict[int, Verdict] = {}
        self._filters: list[UrlFilter | None] = []
        setup = Setup(values, time.time, key, domains)
        for path in sorted(values["URL_FILTERS"], key=values["URL_FILTERS"].__getitem__):
            self._add(path, setup, trusted)
        commanded = CommandedFilter()
        try:
            commanded.use(excluded)
        except (RulesError, TypeError, AttributeError) as error:  # of a state that is damaged
            self._miss(commanded.name, str(error))
        else:
            self._filters.append(commanded)
        if values["URL_SCOPE"] == "any":  # single hosts' pages may have a scope all the same
            self._heed(PageScope(domains))

    def _add(self, path: str, setup: Setup, trusted: Container[str]) -> None:
        if not may_load(path, trusted):
            self._miss(path, "not one of URL_FILTERS in this project")
            return
        try:
            made: UrlFilter | None = load(path).from_setup(setup)
            if isinstance(made, Remembers) and made.name in self._learned:
                made.restore(self._learned[made.name])
        except Exception as error:  # noqa: BLE001 - a filter of somebody's may raise anything
            self._miss(path, " ".join(str(error).split()))
        else:
            if made is not None:  # otherwise the settings leave it nothing to do
                self._heed(made)

    def _heed(self, made: UrlFilter) -> None:
        """Adds a filter, which heeds the settings of single hosts."""
        if isinstance(made, DepthFilter):
            made.per_host = self._sheets.per_host(DEPTH)
        elif isinstance(made, PageScope):
            made.per_host = self._sheets.per_host(SCOPE)
            if made.per_host is None and self._values["URL_SCOPE"] == "any":
                return
        self._filters.append(made)

    def _miss(self, path: str, why: str) -> None:
        self._unasked[len(self._filters)] = Verdict(path, UNASKED, why)
        self._filters.append(None)

    def ask(self, url: str, origin: Origin, *, needed: bool = False) -> list[Verdict]:
        """The verdict of each on a link found there; those behind the first that refuses are asked too.

        `needed`: as what a page needs to be shown.
        """
        said = []
        for place, one in enumerate(self._filters):
            if one is None:
                said.append(self._unasked[place])
                continue
            asked = one.for_requisites if needed and isinstance(one, Bounds) else one
            if asked is not None:
                said.append(self._verdict(asked, url, origin))
        return said

    def in_scope(self, url: str) -> bool:
        """True if the seeds say that it is; they do so where requisites are fetched too."""
        return all(one.within(url) for one in self._filters if isinstance(one, ScopeFilter))

    def _verdict(self, one: UrlFilter, url: str, origin: Origin) -> Verdict:
        try:
            kept = one.keep([url], origin)
            if isinstance(one, Remembers) and one.name in self._learned and _learns(one, url):
                one.restore(self._learned[one.name])  # it must not learn from questions
        except Exception as error:  # noqa: BLE001 - as above
            return Verdict(one.name, UNASKED, " ".join(str(error).split()))
        home = origin.url if one.name == "scope" and origin.url else url  # a scope is that of the page
        values = self._sheets.values(self._values, host_of(home))
        rule = "" if kept else rule_of(one, url, origin, values, self._domains)
        return Verdict(one.name, PASSES if kept else REFUSES, rule)


def _learns(one: UrlFilter, url: str) -> bool:
    return not isinstance(one, Suspects) or bool(Lines(one.suspects).among([url]))


def first_refusal(verdicts: list[Verdict]) -> Verdict | None:
    """The first that refuses, which is the one that counts."""
    return next((one for one in verdicts if one.verdict == REFUSES), None)


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
    """The rule of this filter that refuses the URL, in words."""
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
        return f"URL_MAX_DEPTH = {deepest}: it is {count(origin.depth, 'link')} from the start"
    here, others = steps(origin.path), sites(origin.path)
    return f"URL_MAX_DEPTH = {deepest}: {count(here, 'link')} within its site, {count(others, 'site')} from the seed"


def _scope(url: str, _: Origin, values: Values, domains: RegisteredDomains, __: UrlFilter) -> str:
    scope = values["URL_SCOPE"]
    name = host_of(url) if scope == "host" else domains(host_of(url))
    return f"{SCOPES.get(scope, f'URL_SCOPE = {scope}')} (here {name})"


def _excluded(url: str, _: Origin, values: Values, __: RegisteredDomains, ___: UrlFilter) -> str:
    path = Path(values["URL_EXCLUDE_FILE"])
    try:
        text = path.read_text(encoding="utf-8-sig")
        parse_exclusions(text, "")
    except (OSError, UnicodeDecodeError, RulesError):  # nothing is quoted from what is no list of rules
        return f"URL_EXCLUDE_FILE = {path}"
    for number, line in enumerate(text.splitlines(), 1):
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
