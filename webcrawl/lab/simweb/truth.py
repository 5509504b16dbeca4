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

FOLLOWED = frozenset({"a", "area", "frame", "iframe", "refresh", "canonical"})
ATTEMPTS = 3  # the first one, and RETRY_TIMES
# Of what may be the host's fault: that uses up none of these attempts. While the host is well it is
# asked for STRIKES times; one that is not is asked again at intervals that are doubled, which come
# to fewer in a crawl of minutes.
BUSY_ATTEMPTS = 2 * STRIKES
OWN_FAULTS = frozenset({501, 505})  # says nothing of the host, however many URLs get one
ROBOTS_ATTEMPTS = 18  # three tries of up to six requests


def registered(host: str) -> str:
    """Return the registered domain of a name under .test, by the public suffix list's default rule.

    It is the last two labels.
    """
    return ".".join(host.split(".")[-2:])


def trap_of(world: World, url: str) -> str | None:
    """Return the entrance of the trap that a URL is in, None for any other URL.

    A host that is a trap is its own entrance.
    """
    place = world.locate(url) if world.extra_hosts else None
    if place is not None and world.trap(place[0]):
        return f"{world.origin(place[0])}/"
    return trap_entrance(url)


@dataclass(slots=True)
class Truth:
    """The URLs of a crawl, by what it has to do with them.

    `must`: to be fetched once, or up to three times if in `retried` too, more often if in `busy`:
    if the answer says when to come again, or if others of the host fail too. `may`: found only by
    way of something that crawlers may treat differently. `traps`: entrances of traps; the pages
    behind them may be fetched. `excluded`: found, but not to be fetched, with the reason.
    """

    world: World
    must: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)
    traps: set[str] = field(default_factory=set)
    excluded: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Truth must={len(self.must)} retried={len(self.retried)} excluded={len(self.excluded)}>"

    def never(self, url: str) -> bool:
        """Return whether no crawl with these rules may fetch this URL."""
        return not (url in self.must or url in self.may or self._trap(url) or self._extra(url))

    def _attempts(self, url: str) -> int:
        """Return how often a URL may be requested."""
        if self._extra(url):
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
            limit = self._attempts(url)
            if self.never(url):
                yield f"must not be requested ({self.excluded.get(url, 'no link leads there')}): {url}"
            elif count > limit and not self._trap(url):
                yield f"requested {count} times, at most {limit} allowed: {url}"

    def _trap(self, url: str) -> bool:
        entrance = trap_of(self.world, url)
        return entrance is not None and entrance in self.traps

    def _extra(self, url: str) -> bool:
        """Return whether this is a robots.txt, a sitemap or a feed."""
        place = self.world.locate(url)
        if place is None:
            return False
        return host_kinds.is_robots(place[1]) or (
            self.world.changing_pages is not None and is_listing(place[1])
        )


Scope = Callable[[str, str], bool]


def truth(
    world: World,
    seeds: Iterable[str],
    scope: str = "any",
    *,
    follow: Iterable[str] = FOLLOWED,
    max_hops: int = 5,
    obey_nofollow: bool = False,
    wanted: Callable[[str], bool] = lambda _: True,
) -> Truth:
    """Return the truth for a crawl from these seeds.

    `scope` is the crawl's; `wanted` stands for its URL filters. Limits on depth, page budgets and
    retired hosts are not modelled: a test that compares a crawl with the truth sets them high.
    """
    seeds = list(seeds)
    return _Walk(
        world, _scope(scope, seeds), frozenset(follow), max_hops, obey_nofollow, wanted
    ).run(seeds)


@dataclass(slots=True)
class _Walk:
    world: World
    inside: Scope
    follow: frozenset[str]
    max_hops: int
    obey_nofollow: bool
    wanted: Callable[[str], bool]
    found: Truth = field(init=False)
    reached: set[str] = field(default_factory=set)  # by a link other than a redirect
    # the fewest redirects in a row that led to a URL
    hops: dict[str, int] = field(default_factory=dict)
    unsure: list[str] = field(default_factory=list)
    # whether the answer says when to come again
    failing: dict[str, bool] = field(default_factory=dict)

    def run(self, seeds: list[str]) -> Truth:
        """Walk what is certain first, then what the uncertain URLs might lead to."""
        self.found = Truth(self.world)
        self._walk(seeds, self.found.must)
        self._walk(self.unsure, self.found.may)
        self.found.may -= self.found.must
        failing = Counter(map(_host, self.failing))
        self.found.busy = {
            url for url, says in self.failing.items() if says or failing[_host(url)] > 1
        }
        # Out of scope from one page may be within it from another
        for url in (*self.found.must, *self.found.may):
            self.found.excluded.pop(url, None)
        return self.found

    def _walk(self, starts: list[str], visited: set[str]) -> None:
        certain = visited is self.found.must
        self.reached.clear()
        # Breadth first, so that a URL is mostly reached by the fewest hops first
        queue = deque((url, 0) for url in starts)
        while queue:
            url, hops = queue.popleft()
            if self.hops.get(url, self.max_hops + 1) <= hops and (
                url in visited or url in self.found.excluded
            ):
                continue
            reason = self._refusal(url)
            if reason == "unsure" and certain:
                self.unsure.append(url)
                continue
            self.hops[url] = min(hops, self.hops.get(url, hops))
            if reason and reason != "unsure":
                self.found.excluded[url] = reason
                continue
            entrance = trap_of(self.world, url)
            if entrance is not None:
                self.found.traps.add(entrance)
                continue
            visited.add(url)
            queue.extend(self._next(url, hops))

    def _refusal(self, url: str) -> str:
        """Return why a URL inside the crawl's scope is not fetched; "" if it is."""
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

    def _next(self, url: str, hops: int) -> Iterator[tuple[str, int]]:
        """Yield the URLs inside the scope that this one leads to, each with the number of redirects
        in a row.
        """
        host, path = self.world.locate(url) or (0, "")
        page = self.world.page_at(host, path)
        # It never sends a body, so none of its links is found
        if page is not None and self.world.kind("odd", host) == "odd_304_always":
            return
        if page is not None:
            yield from self._links(url, tree_pages.anchors(self.world, host, page), hops)
            return
        answer = self._ask(url, host, path)
        yield from self._links(url, answer.links, hops)
        if answer.location:
            yield from self._hop(url, answer.location, hops)

    def _links(self, url: str, links: Iterable[Anchor], hops: int) -> Iterator[tuple[str, int]]:
        for link in links:
            if link.source not in self.follow or (link.nofollow and self.obey_nofollow):
                continue
            if link.source == "refresh":
                yield from self._hop(url, link.url, hops)
            elif link.url in self.reached:
                continue
            elif self.inside(url, link.url):
                self.reached.add(link.url)
                yield link.url, 0
            else:
                self.found.excluded[link.url] = "out of scope"

    def _hop(self, url: str, target: str, hops: int) -> Iterator[tuple[str, int]]:
        if hops >= self.max_hops:
            self.found.excluded[target] = "too many redirects"
        elif not self.inside(url, target):
            self.found.excluded[target] = "out of scope"
        else:
            yield target, hops + 1

    def _ask(self, url: str, host: int, path: str) -> WebAnswer:
        """Return the last answer for a crawler that retries where that may help."""
        answer = WebAnswer()
        for attempt in range(1, ATTEMPTS + 1):
            answer = self.world.answer(WebRequest(host, path, attempt=attempt))
            if not answer.may_retry:
                break
            self.found.retried.add(url)
            if answer.status not in OWN_FAULTS:
                self.failing[url] = answer.retry_after > 0
        return answer


def _scope(name: str, seeds: list[str]) -> Scope:
    def domain(url: str) -> str:
        return registered(_host(url))

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
