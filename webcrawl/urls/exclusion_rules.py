"""Domains and URL prefixes never to request, one per line.

example.com               the domain and every name below it, whatever the scheme
example.com/private/      this prefix, whatever the scheme
http://example.com/~joe   this prefix, exactly

What follows a `#` may say more of the wish that is behind a line (urls/optout.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import inf

from webcrawl.base.readable import count
from webcrawl.base.url_text import has_scheme, host_of
from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical
from webcrawl.urls.optout import OptOut, RulesError, noted

NO_STAR = "a * stands for nothing here; a domain has all names below it, a prefix all that begins with it"


class ExclusionRules:
    """Decides whether a canonical URL is excluded, with a few dictionary lookups however long the list."""

    def __init__(self, domains: Iterable[str] = (), prefixes: Iterable[str] = (), ends: float = inf) -> None:
        """`ends`: when the first of them is over."""
        self.ends = ends
        self._domains = frozenset(domains)
        self._prefixes: dict[str, tuple[str, ...]] = {}
        for prefix in prefixes:
            name, undotted = _undotted(prefix)
            self._prefixes[name] = (*self._prefixes.get(name, ()), _respelled(undotted))

    def __str__(self) -> str:
        return f"{count(len(self._domains), 'domain')}, prefixes at {count(len(self._prefixes), 'host')}"

    def excludes(self, url: str) -> bool:
        """Return whether this canonical URL is on the list."""
        name, undotted = _undotted(url)
        prefixes = self._prefixes.get(name)
        if prefixes is not None and _respelled(undotted).startswith(prefixes):
            return True
        while name not in self._domains:
            _, dot, name = name.partition(".")
            if not dot:
                return False
        return True


def parse_exclusions(text: str, source: str, now: float = 0.0) -> ExclusionRules:
    """Parses the text of a file. Raises RulesError with the number of the line that is not a rule, not its text.

    Who gives `set URL_EXCLUDE_FILE` may name any file, and messages go further than that file may be read. Rules that
    are over at `now` are left out.
    """
    domains: list[str] = []
    prefixes: list[str] = []
    ends = inf
    for number, line, comment in _lines(text):
        refuse_star(line, f"{source}, line {number}")
        try:
            kind, names = (prefixes, _prefixes(line)) if "/" in line else (domains, [_domain(line)])
        except InvalidUrl as error:
            raise RulesError(f"{source}, line {number}: {_no_rule(error)}") from error
        if comment:
            until = noted(line, comment)[0].until
            if until and until <= now:
                continue
            ends = min(ends, until or inf)
        kind += names
    return ExclusionRules(domains, prefixes, ends)


def refuse_star(rule: str, where: str) -> None:
    """Raises RulesError for a * in a host or at the end: who writes it means many URLs, and would think that they obey.

    Not asked of rules that an earlier version has taken: it is in the state of its crawl.
    """
    host, slash, path = (rule.partition("://")[2] if has_scheme(rule) else rule).partition("/")
    if "*" in (host if slash else host.removeprefix("*")) or path.endswith("*"):
        raise RulesError(f"{where}: {NO_STAR}")


def optouts_in(text: str, source: str) -> tuple[list[OptOut], list[str]]:
    """The records of a file that can be parsed, and a line for each detail that is not understood."""
    found, odd = [], []
    for number, line, comment in _lines(text):
        record, unread = noted(line, comment)
        found.append(record)
        if unread:
            odd.append(f"{source}, line {number}: {unread} is not a date: passed over, the rule itself holds")
    return found, odd


def without_comment(rule: str) -> str:
    """A rule without what follows a #, as in a line of the file."""
    return rule.partition("#")[0].strip()


def rules_of(records: Iterable[OptOut], now: float = 0.0) -> ExclusionRules:
    """Those of the records that hold. RulesError if one is no rule."""
    domains: list[str] = []
    prefixes: list[str] = []
    ends = inf
    for one in records:
        rule = without_comment(one.rule)
        if len(one.rule.splitlines()) != 1 or not rule:
            raise RulesError(f"{one.rule[:80]!r} is neither a domain nor a URL prefix")
        try:
            kind, names = (prefixes, _prefixes(rule)) if "/" in rule else (domains, [_domain(rule)])
        except InvalidUrl as error:
            raise RulesError(f"exclude: {one.rule[:80]!r} is {_no_rule(error)}") from error
        if one.holds(now):
            kind += names
            ends = min(ends, one.until or inf)
    return ExclusionRules(domains, prefixes, ends)


def _undotted(url: str) -> tuple[str, str]:
    """Its host and itself without the dot that ends a host's name in DNS: the host is the same."""
    host = host_of(url)
    if not host.endswith("."):
        return host, url
    return host[:-1], url.replace(host, host[:-1], 1)


_ENCODED = re.compile("%[0-9A-Fa-f]{2}")
_PARTING = "/?#%"  # characters that mean something else once they are encoded


def _respelled(url: str) -> str:
    """One of all its spellings: servers take `%7Ejoe` for `~joe`, and so do owners."""
    return _ENCODED.sub(_decoded, url) if "%" in url else url


def _decoded(octet: re.Match[str]) -> str:
    char = chr(int(octet[0][1:], 16))
    return char if "!" <= char <= "~" and char not in _PARTING else octet[0].upper()


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """The number, the rule and the comment of each line that has a rule."""
    for number, raw in enumerate(text.splitlines(), 1):
        rule, _, comment = raw.partition("#")
        line = rule.strip()
        if line:
            yield number, line, comment


def _no_rule(error: InvalidUrl) -> str:
    return f"neither a domain nor a URL prefix ({error.reason})"


def _prefixes(line: str) -> list[str]:
    if has_scheme(line):
        return [canonical(line)]
    return [canonical(f"{scheme}://{line}") for scheme in SCHEMES]


def _domain(line: str) -> str:
    url = canonical(f"http://{line.removeprefix('*').removeprefix('.')}/")
    host = host_of(url)
    if "@" in line or url != f"http://{host}/":
        raise InvalidUrl("syntax")
    return host.removesuffix(".")


class Forgotten:
    """False if nobody wants to be. A wish that is over is about what was stored before its end."""

    def __init__(self, records: Iterable[OptOut] = ()) -> None:
        by_end: dict[float, list[OptOut]] = {}
        for one in records:
            if one.forget:
                by_end.setdefault(one.until or inf, []).append(one)
        self._rules: list[tuple[float, ExclusionRules]] = [(end, rules_of(found)) for end, found in by_end.items()]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def has(self, url: str, at: float) -> bool:
        """Return whether to leave out what was stored of this canonical URL at that time; 0: unknown."""
        return any(at < end and rules.excludes(url) for end, rules in self._rules)
