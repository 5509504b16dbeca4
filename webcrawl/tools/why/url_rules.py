"""Tells what a crawl's settings say of a URL: its canonical form, and each filter's verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import re2

from webcrawl.base.errors import RulesError
from webcrawl.base.readable import count, url_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.sheets import DEPTH, SCOPE, Sheets
from webcrawl.net.logins import Logins
from webcrawl.tools.why.saved_settings import may_load, values_for
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.exclusion_rules import OptOut, parse_exclusions
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.exclusion import CommandedFilter
from webcrawl.urls.filters.filter_protocol import (
    Bounds,
    Lines,
    Origin,
    Remembers,
    Setup,
    Suspects,
    UrlFilter,
    named_filter,
)
from webcrawl.urls.filters.known_paths import RULES
from webcrawl.urls.filters.logout import LogoutFilter
from webcrawl.urls.filters.scope import PageScope, ScopeFilter
from webcrawl.urls.foldings import Folding
from webcrawl.urls.host_names import RegisteredDomains, sites, steps

WHY = {
    "scheme": "its scheme is not one that this crawler speaks (http, https, ftp, gopher)",
    "syntax": "it is not an absolute URL, such as http://example.com/page",
    "host": "it has no host, or a host name that is impossible in DNS",
    "encoding": "it has characters that cannot be encoded",
    "length": "it is longer than URL_MAX_LENGTH",
}
SHOWN = 2000  # characters of what was asked for; a URL may be of any length


@dataclass(slots=True)
class CanonicalForm:
    """The canonical form of a URL. `url` is "" if there is none, and `invalid` says why."""

    url: str
    invalid: str = ""
    changes: list[str] = field(default_factory=list)
    compared: str = ""  # by which the seen store knows it

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"url": self.url or None, "changes": self.changes}
        if self.invalid:
            found |= {"invalid": self.invalid, "why": WHY.get(self.invalid, self.invalid)}
        if self.compared not in ("", self.url):
            found["compared"] = self.compared
        return found


STANDARD_FORM = "it is rewritten in the URL standard's form"


def form_of(asked: str, longest: int, foldings: Sequence[Folding]) -> CanonicalForm:
    """Return the canonical form of the text that was asked for."""
    try:
        url = canonical(asked, max_length=longest)
    except InvalidUrl as error:
        return CanonicalForm("", error.reason)
    form = CanonicalForm(url, changes=_changes(asked, url), compared=url)
    for folding in foldings:
        folded = folding(form.compared)
        if folded != form.compared:
            form.changes.append(
                f"{getattr(folding, '__name__', 'URL_HOST_RULES')}: {form.compared} counts as {folded}"
            )
            form.compared = folded
    return form


def _changes(asked: str, url: str) -> list[str]:
    """Return the parts that are not as they were asked for, each as it is in the canonical form."""
    if asked == url:
        return []
    changes = []
    if url_without_credentials(asked) != asked:
        changes.append("user name and password: removed")
    try:
        before = urlsplit(asked.strip())
        after = urlsplit(url)
    except ValueError:  # Python reads fewer URLs than the standard does
        return [*changes, STANDARD_FORM]
    changes += _changed_parts(before, after)
    if before.fragment or asked.endswith("#"):
        changes.append("fragment: removed, because it is never sent to a server")
    return changes or [STANDARD_FORM]


def _changed_parts(before: SplitResult, after: SplitResult) -> Iterator[str]:
    if before.netloc.rpartition("@")[2] != after.netloc:
        yield f"host: {after.netloc}"
    if before.path != after.path:
        yield f"path: {after.path}"
    if before.query != after.query:
        yield f"query: {after.query or 'left out'}"


def shown(asked: str) -> str:
    """Return the text that was asked for, without credentials, and not for ever."""
    text = url_without_credentials(asked[: SHOWN + 1])
    return text if len(asked) <= SHOWN else f"{text[:SHOWN]}... ({len(asked)} characters)"


PASSES, REFUSES, UNASKED = "passes", "refuses", "not asked"


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """The verdict of one filter."""

    name: str
    verdict: str
    rule: str = ""


class CrawlFilters:
    """The filters of a crawl, in their order, with what they had learned by the last checkpoint."""

    def __init__(
        self,
        values: CheckedSettings,
        key: bytes,
        domains: RegisteredDomains,
        learned: Mapping[str, bytes],
        excluded: list[OptOut],
        sheets: Sheets,
        trusted: Container[str] = (),
    ) -> None:
        self._values = values
        self._domains = domains
        self._learned = learned
        self._sheets = sheets
        # a verdict: of one that cannot be asked
        self._filters: list[UrlFilter | FilterVerdict] = []
        setup = Setup(values, time.time, key, domains)
        order = {path: place for path, place in values["URL_FILTERS"].items() if place is not None}
        for path in sorted(order, key=order.__getitem__):
            self._add_named(path, setup, trusted)
        self._add_commanded(excluded)
        self._add_logout(values["AUTH_FILE"])
        has_scope_for_one = any(SCOPE in sheet for sheet in sheets.sheets.values())
        if values["URL_SCOPE"] == "any" and has_scope_for_one:
            self._add(PageScope(domains))

    def _add_named(self, path: str, setup: Setup, trusted: Container[str]) -> None:
        if not may_load(path, trusted):
            self._filters.append(
                FilterVerdict(path, UNASKED, "not one of URL_FILTERS in this project")
            )
            return
        try:
            made = named_filter(path, setup)
            if isinstance(made, Remembers) and made.name in self._learned:
                made.restore(self._learned[made.name])
        except Exception as error:  # noqa: BLE001 - a user's filter may raise anything
            self._filters.append(_unasked(path, error))
        else:
            if made is not None:  # otherwise the settings leave it nothing to do
                self._add(made)

    def _add_commanded(self, excluded: list[OptOut]) -> None:
        commanded = CommandedFilter()
        try:
            commanded.use(excluded)
        except (RulesError, TypeError, AttributeError) as error:  # of a state that is damaged
            self._filters.append(_unasked(commanded.name, error))
        else:
            self._filters.append(commanded)

    def _add_logout(self, path: str | None) -> None:
        try:
            if path:
                self._filters.append(LogoutFilter(Logins.read(path).urls))
        except (OSError, ValueError) as error:
            self._filters.append(_unasked(LogoutFilter.name, error))

    def _add(self, made: UrlFilter) -> None:
        """Add a filter, which heeds the settings of single hosts."""
        if isinstance(made, (DepthFilter, PageScope)):
            setting = DEPTH if isinstance(made, DepthFilter) else SCOPE
            self._sheets.listen([setting], itemgetter(setting), partial(setattr, made, "per_host"))
        self._filters.append(made)

    def ask(self, url: str, origin: Origin, *, needed: bool = False) -> list[FilterVerdict]:
        """Return each filter's verdict on a link found there, also behind the first that refuses.

        `needed`: as what a page needs to be shown.
        """
        said = []
        for one in self._filters:
            asked = one.for_requisites if needed and isinstance(one, Bounds) else one
            if isinstance(asked, FilterVerdict):
                said.append(asked)
            elif asked is not None:
                said.append(self._verdict(asked, url, origin))
        return said

    def in_scope(self, url: str) -> bool:
        """Return whether the seeds say that it is; they do so where requisites are fetched too."""
        return all(one.within(url) for one in self._filters if isinstance(one, ScopeFilter))

    def _verdict(self, one: UrlFilter, url: str, origin: Origin) -> FilterVerdict:
        try:
            kept = one.keep([url], origin)
            if isinstance(one, Remembers) and one.name in self._learned and _learns(one, url):
                one.restore(self._learned[one.name])  # it must not learn from questions
        except Exception as error:  # noqa: BLE001 - as above
            return _unasked(one.name, error)
        if kept:
            return FilterVerdict(one.name, PASSES)
        # a scope is that of the page
        home = origin.url if one.name == "scope" and origin.url else url
        values = values_for(host_of(home), self._values, self._sheets)
        return FilterVerdict(
            one.name, REFUSES, rule_of(FilterRefusal(one, url, origin, values, self._domains))
        )


def _unasked(name: str, error: Exception) -> FilterVerdict:
    return FilterVerdict(name, UNASKED, " ".join(str(error).split()))


def _learns(one: UrlFilter, url: str) -> bool:
    return not isinstance(one, Suspects) or bool(Lines(one.suspects).among([url]))


def first_refusal(verdicts: list[FilterVerdict]) -> FilterVerdict | None:
    """Return the first that refuses, which is the one that counts."""
    return next((one for one in verdicts if one.verdict == REFUSES), None)


SCOPES = {
    "host": "URL_SCOPE = host: links to another host are not followed",
    "domain": "URL_SCOPE = domain: links to another registered domain are not followed",
    "seeds": "URL_SCOPE = seeds: no seed is in its registered domain",
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
    "trap_repeats": "TRAP_RULES: parts of its path repeat, as when relative links lead ever deeper",
    "trap_growth": "TRAP_RULES: it has too many path segments, repeated parameters, or nested escapes",
    "trap_calendar": "TRAP_RULES: it is a calendar page more than two years ahead",
}


def setting_of(name: str, values: CheckedSettings) -> str:
    """Return the setting of a filter, and its value; empty if there is none, or a long one."""
    setting = SETTINGS.get(name)
    value = values.get(setting, "") if setting is not None else ""
    return f"{setting} = {value}" if isinstance(value, str | int) and value != "" else ""


class FilterRefusal(NamedTuple):
    """A URL that a filter leaves out; `values` are the settings that hold there."""

    filter: UrlFilter
    url: str
    origin: Origin
    values: CheckedSettings
    domains: RegisteredDomains


def rule_of(refusal: FilterRefusal) -> str:
    name, kind = refusal.filter.name, type(refusal.filter)
    if name in TEXTS:
        return TEXTS[name](refusal)
    return TRAPS.get(name, f"the filter {kind.__module__}.{kind.__qualname__} rejects it")


def _depth(refusal: FilterRefusal) -> str:
    deepest = refusal.values["URL_MAX_DEPTH"]
    path = refusal.origin.path
    if not path:
        return (
            f"URL_MAX_DEPTH = {deepest}: it is {count(refusal.origin.depth, 'link')} from the start"
        )
    here, others = count(steps(path), "link"), count(sites(path), "site")
    return f"URL_MAX_DEPTH = {deepest}: {here} within its site, {others} from the seed"


def _scope(refusal: FilterRefusal) -> str:
    scope = refusal.values["URL_SCOPE"]
    host = host_of(refusal.url)
    name = host if scope == "host" else refusal.domains(host)
    return f"{SCOPES.get(scope, f'URL_SCOPE = {scope}')} (here {name})"


def _excluded(refusal: FilterRefusal) -> str:
    path = Path(refusal.values["URL_EXCLUDE_FILE"] or "")
    try:
        text = path.read_text(encoding="utf-8-sig")
        parse_exclusions(text, "")
    except (OSError, UnicodeDecodeError, RulesError):
        # nothing is quoted from what is no list of rules
        return f"URL_EXCLUDE_FILE = {path}"
    for number, line in enumerate(text.splitlines(), 1):
        if _excludes(line, refusal.url):
            return f"{path}, line {number}: {line.strip()[:200]}"
    return f"URL_EXCLUDE_FILE = {path}"


def _commanded(refusal: FilterRefusal) -> str:
    now = time.time()
    for wish in getattr(refusal.filter, "records", []):
        if wish.holds(now) and _excludes(wish.rule, refusal.url):
            details = f" ({wish.details})" if wish.details else ""
            return f"excluded by command: exclude {wish.rule}{details}"
    return "excluded by command"


def _excludes(line: str, url: str) -> bool:
    try:
        return parse_exclusions(line, "", time.time()).excludes(url)
    except RulesError:
        return False


def _port(refusal: FilterRefusal) -> str:
    authority = refusal.url.split("/", 3)[2]
    return f"the port of {authority} belongs to another service; PORTS_ALLOWED does not allow it"


def _extension(refusal: FilterRefusal) -> str:
    name = refusal.url.partition("?")[0].rpartition("/")[2]
    return f"URL_EXCLUDE_EXTENSIONS: the name {name[:80]} has one of these endings"


def _expression(refusal: FilterRefusal) -> str:
    include = refusal.values["URL_INCLUDE"]
    is_included = not include or _first_match(include, refusal.url) is not None
    if not is_included:
        return f"it matches none of URL_INCLUDE: {', '.join(include)[:200]}"
    found = _first_match(refusal.values["URL_EXCLUDE"], refusal.url)
    if found is not None:
        return f"URL_EXCLUDE: {found}"
    return "URL_INCLUDE and URL_EXCLUDE"


def _first_match(expressions: Sequence[str], url: str) -> str | None:
    for expression in expressions:
        if re2.search(expression, url):
            return expression
    return None


def _known_path(refusal: FilterRefusal) -> str:
    name = next((name for name, rule in RULES.items() if Lines(rule).among([refusal.url])), "")
    return f"the known path {name} leads to another view of a page, a form or a button, not to a page of its own"


def _family(refusal: FilterRefusal) -> str:
    most, host = refusal.values["TRAP_MAX_PAGES"], host_of(refusal.url)
    kinds = "calendar pages, session ids, long queries or deep paths"
    return f"TRAP_MAX_PAGES = {most}: that many pages of its kind ({kinds}) were already accepted from {host}"


TEXTS: dict[str, Callable[[FilterRefusal], str]] = {
    "scheme": lambda one: f"URL_SCHEMES = {', '.join(one.values['URL_SCHEMES'])}",
    "length": lambda one: (
        f"URL_MAX_LENGTH = {one.values['URL_MAX_LENGTH']}: it has {len(one.url)} characters"
    ),
    "depth": _depth,
    "scope": _scope,
    "excluded": _excluded,
    "commanded": _commanded,
    "port": _port,
    "extension": _extension,
    "expression": _expression,
    "known_path": _known_path,
    "logout": lambda one: (
        f"AUTH_FILE has a login for {host_of(one.url)}, and words of this URL say that it logs out"
    ),
    "trap_family": _family,
}
