"""Which URLs a crawl of the synthetic web must fetch, may fetch and must not fetch, found by
walking the world.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from webcrawl.frontier.health import STRIKES
from webcrawl.lab.simweb import host_kinds, tree_pages
from webcrawl.lab.simweb.kinds import trap_entrance
from webcrawl.lab.simweb.name_server import OUTSIDE, HostStanding
from webcrawl.lab.simweb.request_log import Hit
from webcrawl.lab.simweb.site_listings import is_listing
from webcrawl.lab.simweb.web_answers import Anchor, WebAnswer, WebRequest
from webcrawl.lab.simweb.world import World

FOLLOWED_SOURCES = frozenset({"a", "area", "frame", "iframe", "refresh", "canonical"})
ATTEMPTS = 3  # the first one, and RETRY_TIMES
# A failure that may be the host's fault uses up none of these attempts. While the host is well, the
# URL is requested up to STRIKES times. While it is not, the intervals are doubled, which comes to
# fewer requests in a crawl of minutes.
BUSY_ATTEMPTS = 2 * STRIKES
# Of the URL: they say nothing of the host, however many there are
OWN_FAULTS = frozenset({501, 505})
ROBOTS_ATTEMPTS = 18  # three tries of up to six requests, since each may be redirected five times


def registered_domain(host: str) -> str:
    """Return the registered domain of a name under .test: its last two labels.

    That is the default rule of the public suffix list.
    """
    return ".".join(host.split(".")[-2:])


def trap_of(world: World, url: str) -> str | None:
    """Return the entrance of the trap that a URL is in, or None if it is in no trap.

    A host that is a trap is its own entrance.
    """
    place = world.locate(url) if world.extra_hosts else None
    if place is not None and world.trap(place[0]):
        return f"{world.origin(place[0])}/"
    return trap_entrance(url)


@dataclass(slots=True)
class Truth:
    """What a correct crawl of a world does with each URL that it finds."""

    world: World
    must: set[str] = field(default_factory=set)  # to be fetched, once if not in the next two
    retried: set[str] = field(default_factory=set)  # may be requested up to three times
    # may be requested more often: the answer says when to come again, or other URLs of its host
    # fail too
    busy: set[str] = field(default_factory=set)
    # found only by way of something that crawlers may treat differently
    may: set[str] = field(default_factory=set)
    traps: set[str] = field(default_factory=set)  # entrances; all pages behind them may be fetched
    # found, but not to be fetched, and why
    excluded: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Truth must={len(self.must)} retried={len(self.retried)} excluded={len(self.excluded)}>"

    def never(self, url: str) -> bool:
        """Return whether no crawl with these rules may fetch this URL."""
        is_known = url in self.must or url in self.may
        return not (is_known or self._is_in_trap(url) or self._is_extra(url))

    def _max_requests(self, url: str) -> int:
        """Return how often a URL that is not in a trap may be requested."""
        if self._is_extra(url):
            return ROBOTS_ATTEMPTS
        if url in self.busy:
            return BUSY_ATTEMPTS
        return ATTEMPTS if url in self.retried else 1

    def complaints(self, hits: Iterable[Hit]) -> Iterator[str]:
        """Yield every way in which these requests differ from the truth, one line each."""
        counts: Counter[str] = Counter()
        for hit in hits:
            counts[hit.url] += 1
            if hit.address == OUTSIDE:
                yield f"sent to an address outside the allowed range: {hit.url}"
        yield from (f"not requested: {url}" for url in sorted(self.must - counts.keys()))
        for url, count in sorted(counts.items()):
            limit = self._max_requests(url)
            if self.never(url):
                yield f"must not be requested ({self.excluded.get(url, 'no link leads there')}): {url}"
            elif count > limit and not self._is_in_trap(url):
                yield f"requested {count} times, at most {limit} allowed: {url}"

    def _is_in_trap(self, url: str) -> bool:
        entrance = trap_of(self.world, url)
        return entrance is not None and entrance in self.traps

    def _is_extra(self, url: str) -> bool:
        """Return whether this is a robots.txt, a sitemap or a feed."""
        place = self.world.locate(url)
        if place is None:
            return False
        _, target = place
        has_listings = self.world.changing_pages is not None
        return host_kinds.is_robots(target) or (has_listings and is_listing(target))


Scope = Callable[[str, str], bool]
"""Returns whether a crawl that finds the second URL on the first one may fetch it."""


def truth(
    world: World,
    seeds: Iterable[str],
    scope: str = "any",
    *,
    follow: Iterable[str] = FOLLOWED_SOURCES,
    max_hops: int = 5,
    obey_nofollow: bool = False,
    wanted: Callable[[str], bool] = lambda _: True,
) -> Truth:
    """Return the truth for a crawl from these seeds.

    `scope` is any, seeds, domain or host, as for the spider `web`; `wanted` stands for the crawl's
    URL filters. Limits on depth, page budgets and abandoned hosts are not modelled: a test that
    compares a crawl with the truth sets them high.
    """
    seeds = list(seeds)
    return _Walk(
        world, _scope(scope, seeds), frozenset(follow), max_hops, obey_nofollow, wanted
    ).run(seeds)


@dataclass(slots=True)
class _Walk:
    """Follows links through a world as a correct crawl does, and collects the truth."""

    world: World
    is_in_scope: Scope
    follow: frozenset[str]
    max_hops: int
    obey_nofollow: bool
    wanted: Callable[[str], bool]
    truth: Truth = field(init=False)
    # URLs that a link other than a redirect leads to
    linked: set[str] = field(default_factory=set)
    # the fewest redirects in a row that led to a URL
    fewest_hops: dict[str, int] = field(default_factory=dict)
    unsure: list[str] = field(default_factory=list)
    # URLs whose answers may be the host's fault, and whether they say when to come again
    failing: dict[str, bool] = field(default_factory=dict)

    def run(self, seeds: list[str]) -> Truth:
        """Walk what is certain first, then what the uncertain URLs might lead to."""
        self.truth = Truth(self.world)
        self._walk(seeds, self.truth.must)
        self._walk(self.unsure, self.truth.may)
        self.truth.may -= self.truth.must
        failing_by_host = Counter(map(_host, self.failing))
        self.truth.busy = {
            url
            for url, says_when in self.failing.items()
            if says_when or failing_by_host[_host(url)] > 1
        }
        # Out of scope from one page may be within it from another
        for url in (*self.truth.must, *self.truth.may):
            self.truth.excluded.pop(url, None)
        return self.truth

    def _walk(self, starts: list[str], visited: set[str]) -> None:
        """Add to `visited` all URLs that a crawl from `starts` fetches: `must`, or later `may`."""
        is_certain = visited is self.truth.must
        self.linked.clear()
        # Breadth first, so that a URL is mostly reached by the fewest hops first
        queue = deque((url, 0) for url in starts)
        while queue:
            url, hops = queue.popleft()
            is_done = url in visited or url in self.truth.excluded
            # With fewer hops than before its redirects may lead farther
            if is_done and self.fewest_hops.get(url, self.max_hops + 1) <= hops:
                continue
            reason = self._refusal(url)
            if reason == "unsure" and is_certain:
                self.unsure.append(url)
                continue
            self.fewest_hops[url] = min(hops, self.fewest_hops.get(url, hops))
            if reason and reason != "unsure":
                self.truth.excluded[url] = reason
                continue
            entrance = trap_of(self.world, url)
            if entrance is not None:
                self.truth.traps.add(entrance)
                continue
            visited.add(url)
            queue.extend(self._links_from(url, hops))

    def _refusal(self, url: str) -> str:
        """Return why a URL in the crawl's scope is not fetched: "" if it is, "unsure" if it may be."""
        place = self.world.locate(url)
        if place is None:
            return "no such host"
        if not self.wanted(url):
            return "filtered"
        host, path = place
        standing = self.world.standing(host)
        if standing is HostStanding.SHUT:
            return "host unreachable"
        if host_kinds.robots_forbid(self.world, host, path):
            return "robots.txt"
        return "unsure" if standing is HostStanding.UNSURE else ""

    def _links_from(self, url: str, hops: int) -> Iterator[tuple[str, int]]:
        """Yield the URLs in scope that this one leads to.

        Each comes with the number of redirects in a row that have led to it; `hops` is that of this
        URL.
        """
        host, path = self.world.locate(url) or (0, "")
        page = self.world.page_at(host, path)
        # It never sends a body, so none of its links is found
        if page is not None and self.world.kind("odd", host) == "odd_304_always":
            return
        if page is not None:
            yield from self._targets_of(url, tree_pages.anchors(self.world, host, page), hops)
            return
        answer = self._last_answer(url, host, path)
        yield from self._targets_of(url, answer.links, hops)
        if answer.location:
            yield from self._redirect_target(url, answer.location, hops)

    def _targets_of(
        self, url: str, links: Iterable[Anchor], hops: int
    ) -> Iterator[tuple[str, int]]:
        """Yield the links of a page that the crawl follows, each the first time that it comes up."""
        for link in links:
            if link.source not in self.follow or (link.nofollow and self.obey_nofollow):
                continue
            if link.source == "refresh":
                yield from self._redirect_target(url, link.url, hops)
            elif link.url in self.linked:
                continue
            elif self.is_in_scope(url, link.url):
                self.linked.add(link.url)
                yield link.url, 0
            else:
                self.truth.excluded[link.url] = "out of scope"

    def _redirect_target(self, url: str, target: str, hops: int) -> Iterator[tuple[str, int]]:
        """Yield the target of a redirect if the crawl follows it."""
        if hops >= self.max_hops:
            self.truth.excluded[target] = "too many redirects"
        elif not self.is_in_scope(url, target):
            self.truth.excluded[target] = "out of scope"
        else:
            yield target, hops + 1

    def _last_answer(self, url: str, host: int, path: str) -> WebAnswer:
        """Return the last answer that a crawler gets, which retries where that may help.

        Note what may be retried, and what may be the host's fault.
        """
        answer = WebAnswer()
        for attempt in range(1, ATTEMPTS + 1):
            answer = self.world.answer(WebRequest(host, path, attempt=attempt))
            if not answer.may_retry:
                break
            self.truth.retried.add(url)
            if answer.status not in OWN_FAULTS:
                self.failing[url] = answer.retry_after > 0
        return answer


def _scope(name: str, seeds: list[str]) -> Scope:
    """Return the scope of this name for a crawl from these seeds."""

    def domain(url: str) -> str:
        return registered_domain(_host(url))

    domains = {domain(url) for url in seeds}
    scopes: dict[str, Scope] = {
        "any": lambda _, __: True,
        "seeds": lambda _, target: domain(target) in domains,
        "domain": lambda url, target: domain(url) == domain(target),
        "host": lambda url, target: _host(url) == _host(target),
    }
    return scopes[name]


def _host(url: str) -> str:
    return url.split("/", 3)[2].partition(":")[0]
