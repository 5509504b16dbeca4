"""Domains and URL prefixes never to request, one per line.

example.com               the domain and every name below it, whatever the scheme
example.com/private/      this prefix, whatever the scheme
http://example.com/~joe   this prefix, exactly
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical
from webcrawl.urls.hosts import host_of
from webcrawl.urls.rules_file import RulesError

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExclusionRules:
    """Decides whether a canonical URL is excluded, with a few dictionary lookups however long the list."""

    def __init__(self, domains: Iterable[str] = (), prefixes: Iterable[str] = ()) -> None:
        self._domains = frozenset(domains)
        self._prefixes: dict[str, tuple[str, ...]] = {}
        for prefix in prefixes:
            host = host_of(prefix)
            self._prefixes[host] = (*self._prefixes.get(host, ()), prefix)

    def __str__(self) -> str:
        return f"{len(self._domains)} domains, prefixes at {len(self._prefixes)} hosts"

    def excludes(self, url: str) -> bool:
        """Whether this canonical URL is on the list."""
        host = host_of(url)
        prefixes = self._prefixes.get(host)
        if prefixes is not None and url.startswith(prefixes):
            return True
        name = host.removesuffix(".")
        while name not in self._domains:
            _, dot, name = name.partition(".")
            if not dot:
                return False
        return True


def parse_exclusions(text: str, source: str) -> ExclusionRules:
    """Parses the text of a file. Raises RulesError, which names the source and the line that is not a rule."""
    domains: list[str] = []
    prefixes: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        try:
            if "/" in line:
                prefixes += _prefixes(line)
            else:
                domains.append(_domain(line))
        except InvalidUrl as error:
            why = f"{line[:80]!r} is neither a domain nor a URL prefix ({error.reason})"
            raise RulesError(f"{source}, line {number}: {why}") from error
    return ExclusionRules(domains, prefixes)


def _prefixes(line: str) -> list[str]:
    if "://" in line:
        return [canonical(line)]
    return [canonical(f"{scheme}://{line}") for scheme in SCHEMES]


def _domain(line: str) -> str:
    url = canonical(f"http://{line.removeprefix('*').removeprefix('.')}/")
    host = host_of(url)
    if "@" in line or url != f"http://{host}/":
        raise InvalidUrl("syntax")
    return host.removesuffix(".")
