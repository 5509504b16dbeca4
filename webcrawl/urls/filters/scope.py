"""The crawl's scope: any host, the page's host or registered domain, or the seeds' domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
from siphashc import siphash

from webcrawl.base.url_text import host_of
from webcrawl.urls.filters.filter_protocol import Origin, Setup
from webcrawl.urls.host_names import RegisteredDomains

# Seeds that wait to be sorted in: each merge copies the whole array, so a million take 16 of them
_PENDING = 2**16


class SeedDomains:
    """A set of names as sorted 64-bit fingerprints, which grows while seeds are read.

    A lookup is wrongly positive with probability n / 2^64; the key prevents constructed collisions.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._sorted = np.empty(0, np.uint64)
        self._pending: set[int] = set()

    def __len__(self) -> int:
        return len(self._sorted) + len(self._pending)

    def __contains__(self, domain: str) -> bool:
        value = siphash(self._key, domain)
        if value in self._pending:
            return True
        number = np.uint64(value)
        place = int(self._sorted.searchsorted(number))
        return place < len(self._sorted) and bool(self._sorted[place] == number)

    def add(self, domain: str) -> None:
        """Add this domain, unless it is known."""
        if domain not in self:
            self._pending.add(siphash(self._key, domain))
            if len(self._pending) >= _PENDING:
                self._merge()

    def state(self) -> bytes:
        """Return the sorted fingerprints as little-endian 8-byte numbers."""
        self._merge()
        return self._sorted.astype("<u8").tobytes()

    def restore(self, state: bytes) -> None:
        """Restore what `state` returned under the same key."""
        if len(state) % 8:
            raise ValueError(
                f"seed domains: {len(state)} bytes are not a whole number of fingerprints"
            )
        values = np.frombuffer(state, "<u8").astype(np.uint64)
        if len(values) > 1 and not bool((values[:-1] < values[1:]).all()):
            raise ValueError("seed domains: the fingerprints are not in order")
        self._sorted = values
        self._pending = set()

    def _merge(self) -> None:
        fresh = np.fromiter(self._pending, np.uint64, len(self._pending))
        self._sorted = np.sort(np.concatenate([self._sorted, fresh]))
        self._pending = set()


SCOPES = ("any", "seeds", "domain", "host")


class PageScope:
    """The hosts that links of single hosts' pages may lead to, in a crawl that may go anywhere."""

    name = "scope"
    for_requisites = None  # images, styles and fonts of a page are on other hosts

    def __init__(self, domains: RegisteredDomains) -> None:
        self._domains = domains
        # the scopes of pages on hosts that have their own
        self.per_host: Mapping[str, str | None] | None = None

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        if self.per_host is None or not origin.url:
            return urls
        return self._kept(urls, origin.url, self.per_host[host_of(origin.url)] or "any")

    def within(self, _url: str, /) -> bool:
        return True

    def _kept(self, urls: list[str], page: str, scope: str) -> list[str]:
        return urls if scope == "any" else _keep_hosts(urls, self._test(page, scope))

    def _test(self, page: str, scope: str) -> Callable[[str], bool]:
        """Return the test that a host must pass for a link on this page."""
        home, domains = host_of(page), self._domains
        if scope == "host":
            return home.__eq__
        domain = domains(home)
        return lambda host: domains(host) == domain


class ScopeFilter(PageScope):
    """Drops links that lead out of URL_SCOPE.

    Seeds, which have no page, always pass.
    """

    def __init__(
        self, scope: str, domains: RegisteredDomains, key: bytes, *, requisites: bool = False
    ) -> None:
        """`requisites`: whether pages' requisites are fetched.

        The scopes `host` and `domain` judge a link by its page: from a framed advertisement they
        would lead through its whole site. So requisites' own links are followed on the seeds' sites
        alone, and the seeds are remembered.
        """
        if scope not in SCOPES:
            raise ValueError(f"URL_SCOPE: {scope!r} is not one of {', '.join(SCOPES)}")
        super().__init__(domains)
        self._scope = scope
        self.seeds = SeedDomains(key)
        self._remembers_seeds = scope == "seeds" or requisites

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        scope = setup.settings["URL_SCOPE"]
        if scope == "any":
            return None
        return cls(scope, setup.domains, setup.key, requisites=setup.settings["REQUISITES"])

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        if not origin.url:
            self._note_seeds(urls)
            return urls
        own = self.per_host[host_of(origin.url)] if self.per_host is not None else None
        return self._kept(urls, origin.url, own or self._scope)

    def _note_seeds(self, urls: list[str]) -> None:
        if self._remembers_seeds:
            for url in urls:
                self.seeds.add(self._home(url))

    def within(self, url: str) -> bool:
        return self._scope == "any" or self._home(url) in self.seeds

    def _home(self, url: str) -> str:
        return host_of(url) if self._scope == "host" else self._domains(host_of(url))

    def state(self) -> bytes:
        return self.seeds.state()

    def restore(self, state: bytes) -> None:
        self.seeds.restore(state)

    def _test(self, page: str, scope: str) -> Callable[[str], bool]:
        if scope != "seeds":
            return super()._test(page, scope)
        domains = self._domains
        return lambda host: domains(host) in self.seeds


def _keep_hosts(urls: list[str], test: Callable[[str], bool]) -> list[str]:
    """Return the URLs whose host passes the test.

    A page links to few hosts, so each is tested only once.
    """
    passed: dict[str, bool] = {}
    kept = []
    for url in urls:
        host = host_of(url)
        if host not in passed:
            passed[host] = test(host)
        if passed[host]:
            kept.append(url)
    return kept
