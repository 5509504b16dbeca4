"""The scope of the crawl: any host, the page's host, its registered domain, or the seeds' registered domains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.seed_domains import SeedDomains
from webcrawl.urls.hosts import RegisteredDomains, host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.urls.filters.protocol import Origin, Setup

SCOPES = ("any", "seeds", "domain", "host")


class PageScope:
    """Where the links of single hosts' pages may lead, in a crawl that may go anywhere."""

    name = "scope"
    for_requisites = None

    def __init__(self, domains: RegisteredDomains) -> None:
        self._domains = domains
        self.per_host: Mapping[str, str | None] | None = None  # the scopes of pages on hosts that have their own

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        if self.per_host is None or not origin.url:
            return urls
        return self._kept(urls, origin.url, self.per_host[host_of(origin.url)] or "any")

    def within(self, _url: str, /) -> bool:
        return True

    def _kept(self, urls: list[str], page: str, scope: str) -> list[str]:
        return urls if scope == "any" else _keep_hosts(urls, self._test(page, scope))

    def _test(self, page: str, scope: str) -> Callable[[str], bool]:
        """The test that a host must pass for a link on this page."""
        home, domains = host_of(page), self._domains
        if scope == "host":
            return home.__eq__
        domain = domains(home)
        return lambda host: domains(host) == domain


class ScopeFilter(PageScope):
    """Seeds, which have no page, always pass.

    With the scope `seeds` their domains are remembered; if pages may be fetched as `requisites` of others, their hosts
    or domains are with any scope, for only these pages' links are followed.
    """

    def __init__(self, scope: str, domains: RegisteredDomains, key: bytes, *, requisites: bool = False) -> None:
        if scope not in SCOPES:
            raise ValueError(f"URL_SCOPE: {scope!r} is not one of {', '.join(SCOPES)}")
        super().__init__(domains)
        self._scope = scope
        self.seeds = SeedDomains(key)
        self._remembers = scope == "seeds" or requisites

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        scope = setup.settings["URL_SCOPE"]
        return None if scope == "any" else cls(scope, setup.domains, setup.key, requisites=setup.settings["REQUISITES"])

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        if not origin.url:
            if self._remembers:
                for url in urls:
                    self.seeds.add(self._home(url))
            return urls
        own = self.per_host[host_of(origin.url)] if self.per_host is not None else None
        return self._kept(urls, origin.url, own or self._scope)

    def within(self, url: str) -> bool:
        return self._scope == "any" or self._home(url) in self.seeds

    def _home(self, url: str) -> str:
        return host_of(url) if self._scope == "host" else self._domains(host_of(url))

    def state(self) -> bytes:
        return self.seeds.state()

    def restore(self, state: bytes) -> None:
        self.seeds.restore(state)

    def _test(self, page: str, scope: str) -> Callable[[str], bool]:
        domains = self._domains
        return (lambda host: domains(host) in self.seeds) if scope == "seeds" else super()._test(page, scope)


def _keep_hosts(urls: list[str], test: Callable[[str], bool]) -> list[str]:
    """The URLs whose host passes the test. A page links to few hosts, so each is tested only once."""
    passed: dict[str, bool] = {}
    kept = []
    for url in urls:
        host = host_of(url)
        if host not in passed:
            passed[host] = test(host)
        if passed[host]:
            kept.append(url)
    return kept
