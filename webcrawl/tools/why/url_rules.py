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

INVALID_REASONS = {
    "scheme": "its scheme is not one that this crawler speaks (http, https, ftp, gopher)",
    "syntax": "it is not an absolute URL, such as http://example.com/page",
    "host": "it has no host, or a host name that is impossible in DNS",
    "encoding": "it has characters that cannot be encoded",
    "length": "it is longer than URL_MAX_LENGTH",
}
MAX_SHOWN_CHARS = 2000  # of the text that was asked about, which may be of any length


@dataclass(slots=True)
class CanonicalForm:
    """The canonical form of a URL. `url` is "" if there is none, and `invalid` says why."""

    url: str
    invalid: str = ""  # a key of INVALID_REASONS
    changes: list[str] = field(default_factory=list)  # of the text, in words
    compared: str = ""  # the form by which the seen store knows the URL

    def to_json(self) -> dict[str, Any]:
        form: dict[str, Any] = {"url": self.url or None, "changes": self.changes}
        if self.invalid:
            form["invalid"] = self.invalid
            form["why"] = INVALID_REASONS.get(self.invalid, self.invalid)
        if self.compared not in ("", self.url):
            form["compared"] = self.compared
        return form


STANDARD_FORM = "it is rewritten in the URL standard's form"


def form_of(text: str, max_url_chars: int, foldings: Sequence[Folding]) -> CanonicalForm:
    """Return the canonical form of a text, and what in the text differs from it.

    `foldings`: what makes one URL of several before they are compared.
    """
    try:
        url = canonical(text, max_length=max_url_chars)
    except InvalidUrl as error:
        return CanonicalForm("", error.reason)
    form = CanonicalForm(url, changes=_changes(text, url), compared=url)
    for folding in foldings:
        folded = folding(form.compared)
        if folded != form.compared:
            form.changes.append(
                f"{getattr(folding, '__name__', 'URL_HOST_RULES')}: {form.compared} counts as {folded}"
            )
            form.compared = folded
    return form


def _changes(text: str, url: str) -> list[str]:
    """Return which parts of the text the canonical form has in another way, in words."""
    if text == url:
        return []
    changes = []
    if url_without_credentials(text) != text:
        changes.append("user name and password: removed")
    try:
        before = urlsplit(text.strip())
        after = urlsplit(url)
    except ValueError:  # Python reads fewer URLs than the standard does
        return [*changes, STANDARD_FORM]
    changes += _changed_parts(before, after)
    if before.fragment or text.endswith("#"):
        changes.append("fragment: removed, because it is never sent to a server")
    return changes or [STANDARD_FORM]


def _changed_parts(before: SplitResult, after: SplitResult) -> Iterator[str]:
    if before.netloc.rpartition("@")[2] != after.netloc:
        yield f"host: {after.netloc}"
    if before.path != after.path:
        yield f"path: {after.path}"
    if before.query != after.query:
        yield f"query: {after.query or 'left out'}"


def shown_text(text: str) -> str:
    """Return the text that was asked about, without credentials, and truncated if it is very long."""
    # one character more, by which a long text is known
    shown = url_without_credentials(text[: MAX_SHOWN_CHARS + 1])
    if len(text) <= MAX_SHOWN_CHARS:
        return shown
    return f"{shown[:MAX_SHOWN_CHARS]}... ({len(text)} characters)"


PASSES, REFUSES, UNASKED = "passes", "refuses", "not asked"


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """The verdict of one filter: PASSES, REFUSES or UNASKED. `rule` says why, unless it passes."""

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
        """Make the filters as the crawl does, with what they have `learned`, by their names.

        `excluded`: what was excluded by command. `sheets`: the settings of single hosts. `trusted`:
        code beyond webcrawl's own that may be loaded.
        """
        self._values = values
        self._domains = domains
        self._learned = learned
        self._sheets = sheets
        # a verdict in the place of a filter that cannot be asked
        self._filters: list[UrlFilter | FilterVerdict] = []
        setup = Setup(values, time.time, key, domains)
        order = {path: place for path, place in values["URL_FILTERS"].items() if place is not None}
        for path in sorted(order, key=order.__getitem__):
            self._add_named(path, setup, trusted)
        self._add_commanded(excluded)
        self._add_logout(values["AUTH_FILE"])
        has_host_scope = any(SCOPE in sheet for sheet in sheets.sheets.values())
        if values["URL_SCOPE"] == "any" and has_host_scope:
            self._add(PageScope(domains))

    def _add_named(self, path: str, setup: Setup, trusted: Container[str]) -> None:
        """Add the filter of this path in URL_FILTERS, with what it has learned."""
        if not may_load(path, trusted):
            self._filters.append(
                FilterVerdict(path, UNASKED, "not one of URL_FILTERS in this project")
            )
            return
        try:
            url_filter = named_filter(path, setup)
            if isinstance(url_filter, Remembers) and url_filter.name in self._learned:
                url_filter.restore(self._learned[url_filter.name])
        except Exception as error:  # noqa: BLE001 - a user's filter may raise anything
            self._filters.append(_unasked(path, error))
        else:
            if url_filter is not None:  # otherwise the settings leave it nothing to do
                self._add(url_filter)

    def _add_commanded(self, excluded: list[OptOut]) -> None:
        commanded = CommandedFilter()
        try:
            commanded.use(excluded)
        except (RulesError, TypeError, AttributeError) as error:  # of a state that is damaged
            self._filters.append(_unasked(commanded.name, error))
        else:
            self._filters.append(commanded)

    def _add_logout(self, path: str | None) -> None:
        """Add the filter of links that log out, if the crawl logs in anywhere."""
        try:
            if path:
                self._filters.append(LogoutFilter(Logins.read(path).urls))
        except (OSError, ValueError) as error:
            self._filters.append(_unasked(LogoutFilter.name, error))

    def _add(self, url_filter: UrlFilter) -> None:
        """Add a filter, and have it apply the settings of single hosts if it has any."""
        if isinstance(url_filter, (DepthFilter, PageScope)):
            setting = DEPTH if isinstance(url_filter, DepthFilter) else SCOPE
            set_per_host = partial(setattr, url_filter, "per_host")
            self._sheets.listen([setting], itemgetter(setting), set_per_host)
        self._filters.append(url_filter)

    def verdicts(self, url: str, origin: Origin, *, needed: bool = False) -> list[FilterVerdict]:
        """Return each filter's verdict on a link of this origin, also after one that refuses.

        `needed`: the link is to something that a page needs to be shown. Not all filters judge it.
        """
        verdicts = []
        for entry in self._filters:
            judge = entry.for_requisites if needed and isinstance(entry, Bounds) else entry
            if isinstance(judge, FilterVerdict):
                verdicts.append(judge)
            elif judge is not None:
                verdicts.append(self._verdict(judge, url, origin))
        return verdicts

    def in_scope(self, url: str) -> bool:
        """Return whether the URL is in scope by the seeds.

        With a scope of hosts or domains, the seeds are known only with REQUISITES.
        """
        scopes = [entry for entry in self._filters if isinstance(entry, ScopeFilter)]
        return all(scope.within(url) for scope in scopes)

    def _verdict(self, url_filter: UrlFilter, url: str, origin: Origin) -> FilterVerdict:
        """Return a filter's verdict on a link, and leave the filter as it was."""
        name = url_filter.name
        try:
            kept = url_filter.keep([url], origin)
            is_saved = name in self._learned
            if isinstance(url_filter, Remembers) and is_saved and _learns_from(url_filter, url):
                url_filter.restore(self._learned[name])  # it must not learn from questions
        except Exception as error:  # noqa: BLE001 - as above
            return _unasked(name, error)
        if kept:
            return FilterVerdict(name, PASSES)
        # A scope is that of the page with the link.
        home = origin.url if name == "scope" and origin.url else url
        values = values_for(host_of(home), self._values, self._sheets)
        refusal = FilterRefusal(url_filter, url, origin, values, self._domains)
        return FilterVerdict(name, REFUSES, rule_of(refusal))


def _unasked(name: str, error: Exception) -> FilterVerdict:
    return FilterVerdict(name, UNASKED, " ".join(str(error).split()))


def _learns_from(url_filter: UrlFilter, url: str) -> bool:
    """Return whether the filter learns from this URL: some learn only from suspects."""
    return not isinstance(url_filter, Suspects) or bool(Lines(url_filter.suspects).among([url]))


def first_refusal(verdicts: list[FilterVerdict]) -> FilterVerdict | None:
    """Return the first verdict that refuses: in a crawl no further filter is asked."""
    return next((verdict for verdict in verdicts if verdict.verdict == REFUSES), None)


SCOPE_TEXTS = {
    "host": "URL_SCOPE = host: links to another host are not followed",
    "domain": "URL_SCOPE = domain: links to another registered domain are not followed",
    "seeds": "URL_SCOPE = seeds: no seed is in its registered domain",
}
FILTER_SETTINGS = {  # that say what a filter leaves out, by its name
    "scheme": "URL_SCHEMES",
    "length": "URL_MAX_LENGTH",
    "depth": "URL_MAX_DEPTH",
    "scope": "URL_SCOPE",
    "excluded": "URL_EXCLUDE_FILE",
    "extension": "URL_EXCLUDE_EXTENSIONS",
    "trap_family": "TRAP_MAX_PAGES",
}
TRAP_TEXTS = {
    "trap_repeats": "TRAP_RULES: parts of its path repeat, as when relative links lead ever deeper",
    "trap_growth": "TRAP_RULES: it has too many path segments, repeated parameters, or nested escapes",
    "trap_calendar": "TRAP_RULES: it is a calendar page more than two years ahead",
}


def setting_of(name: str, values: CheckedSettings) -> str:
    """Return the setting of a filter, and its value; empty if it has none, or a long one."""
    setting = FILTER_SETTINGS.get(name)
    value = values.get(setting, "") if setting is not None else ""
    is_short = isinstance(value, str | int) and value != ""
    return f"{setting} = {value}" if is_short else ""


class FilterRefusal(NamedTuple):
    """A URL that a filter leaves out; `values` are the settings that hold there."""

    filter: UrlFilter
    url: str
    origin: Origin
    values: CheckedSettings
    domains: RegisteredDomains


def rule_of(refusal: FilterRefusal) -> str:
    """Return the rule by which a filter refuses a URL: the setting, or the line of a list."""
    name = refusal.filter.name
    if name in RULE_TEXTS:
        return RULE_TEXTS[name](refusal)
    kind = type(refusal.filter)
    return TRAP_TEXTS.get(name, f"the filter {kind.__module__}.{kind.__qualname__} rejects it")


def _depth(refusal: FilterRefusal) -> str:
    """Return the limit of depth, and how deep the URL is, as far as that is known."""
    deepest = refusal.values["URL_MAX_DEPTH"]
    path = refusal.origin.path
    if not path:
        return (
            f"URL_MAX_DEPTH = {deepest}: it is {count(refusal.origin.depth, 'link')} from the start"
        )
    here = count(steps(path), "link")
    others = count(sites(path), "site")
    return f"URL_MAX_DEPTH = {deepest}: {here} within its site, {others} from the seed"


def _scope(refusal: FilterRefusal) -> str:
    scope = refusal.values["URL_SCOPE"]
    host = host_of(refusal.url)
    name = host if scope == "host" else refusal.domains(host)
    return f"{SCOPE_TEXTS.get(scope, f'URL_SCOPE = {scope}')} (here {name})"


def _excluded(refusal: FilterRefusal) -> str:
    """Return the line of URL_EXCLUDE_FILE that excludes the URL, or the file if no line does."""
    path = Path(refusal.values["URL_EXCLUDE_FILE"] or "")
    try:
        text = path.read_text(encoding="utf-8-sig")
        parse_exclusions(text, "")
    except (OSError, UnicodeDecodeError, RulesError):
        # Nothing is quoted from a file that is no list of rules: it may be any file.
        return f"URL_EXCLUDE_FILE = {path}"
    for number, line in enumerate(text.splitlines(), 1):
        if _excludes(line, refusal.url):
            return f"{path}, line {number}: {line.strip()[:200]}"
    return f"URL_EXCLUDE_FILE = {path}"


def _commanded(refusal: FilterRefusal) -> str:
    """Return the command that has excluded the URL, as far as it is known."""
    now = time.time()
    for record in getattr(refusal.filter, "records", []):
        if record.holds(now) and _excludes(record.rule, refusal.url):
            details = f" ({record.details})" if record.details else ""
            return f"excluded by command: exclude {record.rule}{details}"
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
    """Return which expression excludes the URL, or which expressions do not include it."""
    include = refusal.values["URL_INCLUDE"]
    is_included = not include or _first_match(include, refusal.url) is not None
    if not is_included:
        return f"it matches none of URL_INCLUDE: {', '.join(include)[:200]}"
    excluding = _first_match(refusal.values["URL_EXCLUDE"], refusal.url)
    if excluding is not None:
        return f"URL_EXCLUDE: {excluding}"
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
    most = refusal.values["TRAP_MAX_PAGES"]
    host = host_of(refusal.url)
    kinds = "calendar pages, session ids, long queries or deep paths"
    return f"TRAP_MAX_PAGES = {most}: that many pages of its kind ({kinds}) were already accepted from {host}"


RULE_TEXTS: dict[str, Callable[[FilterRefusal], str]] = {
    "scheme": lambda refusal: f"URL_SCHEMES = {', '.join(refusal.values['URL_SCHEMES'])}",
    "length": lambda refusal: (
        f"URL_MAX_LENGTH = {refusal.values['URL_MAX_LENGTH']}: it has {len(refusal.url)} characters"
    ),
    "depth": _depth,
    "scope": _scope,
    "excluded": _excluded,
    "commanded": _commanded,
    "port": _port,
    "extension": _extension,
    "expression": _expression,
    "known_path": _known_path,
    "logout": lambda refusal: (
        f"AUTH_FILE has a login for {host_of(refusal.url)}, and words of this URL say that it logs out"
    ),
    "trap_family": _family,
}
