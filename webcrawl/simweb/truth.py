"""Which URLs a crawl of the synthetic web must ask for, may ask for, and must not: found by walking the world."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.simweb import pages, robots
from webcrawl.simweb.answers import Anchor, Answer, Ask
from webcrawl.simweb.kinds import trap_entrance
from webcrawl.simweb.log import Hit
from webcrawl.simweb.names import OUTSIDE, Standing

if TYPE_CHECKING:
    from webcrawl.simweb.world import World

FOLLOWED = frozenset({"a", "area", "frame", "iframe", "refresh", "canonical"})
ATTEMPTS = 3
ROBOTS_ATTEMPTS = 18  # three tries of up to six requests


def registered(host: str) -> str:
    """The registered domain of a name under .test: the public suffix list's last rule, one label and the suffix."""
    return ".".join(host.split(".")[-2:])


@dataclass(slots=True)
class Truth:
    """`must`: asked for once each, or up to three times if it is in `retried` too. `may`: can be found, but only
    by way of something about which crawlers may differ. `traps`: their entrances; what lies behind may be asked for.
    `excluded`: found, and not to be asked for, and why.
    """

    world: World
    must: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)
    traps: set[str] = field(default_factory=set)
    excluded: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Truth must={len(self.must)} retried={len(self.retried)} excluded={len(self.excluded)}>"

    def never(self, url: str) -> bool:
        """Whether no crawl with these rules may ask for this URL."""
        return not (url in self.must or url in self.may or self._trap(url) or self._robots(url))

    def complaints(self, hits: Iterable[Hit]) -> Iterator[str]:
        """Every way in which these requests differ from the truth, a line each."""
        counts: Counter[str] = Counter()
        for hit in hits:
            counts[hit.url] += 1
            if hit.address == OUTSIDE:
                yield f"asked at an address outside the allowed range: {hit.url}"
        yield from (f"not asked for: {url}" for url in sorted(self.must - counts.keys()))
        for url, count in sorted(counts.items()):
            limit = ROBOTS_ATTEMPTS if self._robots(url) else ATTEMPTS if url in self.retried else 1
            if self.never(url):
                yield f"must not be asked for ({self.excluded.get(url, 'no link leads there')}): {url}"
            elif count > limit and not self._trap(url):
                yield f"asked for {count} times, not {limit} at most: {url}"

    def _trap(self, url: str) -> bool:
        entrance = trap_entrance(url)
        return entrance is not None and entrance in self.traps

    def _robots(self, url: str) -> bool:
        place = self.world.locate(url)
        return place is not None and robots.is_robots(place[1])


Scope = Callable[[str, str], bool]


def truth(
    world: World,
    seeds: Iterable[str],
    scope: str = "any",
    *,
    follow: Iterable[str] = FOLLOWED,
    max_hops: int = 5,
    obey_robots: bool = True,
    obey_nofollow: bool = False,
    domain_of: Callable[[str], str] = registered,
    wanted: Callable[[str], bool] = lambda _: True,
) -> Truth:
    """The truth for a crawl from these seeds.

    `scope` is the crawl's; `wanted` stands for its URL filters. Depth, page budgets and the retiring of hosts that
    fail often are not reckoned with: a test that compares with the truth sets their limits high.
    """
    seeds = list(seeds)
    walk = _Walk(world, _scope(scope, seeds, domain_of), frozenset(follow), max_hops)
    walk.obey_robots, walk.obey_nofollow, walk.wanted = obey_robots, obey_nofollow, wanted
    return walk.run(seeds)


@dataclass(slots=True)
class _Walk:
    world: World
    inside: Scope
    follow: frozenset[str]
    max_hops: int
    obey_robots: bool = True
    obey_nofollow: bool = False
    wanted: Callable[[str], bool] = lambda _: True
    found: Truth = field(init=False)
    reached: set[str] = field(default_factory=set)  # by a link that is no redirect
    hops: dict[str, int] = field(default_factory=dict)  # the fewest redirects in a row that led to a URL
    unsure: list[str] = field(default_factory=list)

    def run(self, seeds: list[str]) -> Truth:
        """First what is certain; then, from what is not, all that it might lead to."""
        self.found = Truth(self.world)
        self._walk(seeds, self.found.must)
        self._walk(self.unsure, self.found.may)
        self.found.may -= self.found.must
        for url in (*self.found.must, *self.found.may):
            self.found.excluded.pop(url, None)
        return self.found

    def _walk(self, starts: list[str], visited: set[str]) -> None:
        certain = visited is self.found.must
        self.reached.clear()
        queue = deque((url, 0) for url in starts)
        while queue:
            url, hops = queue.popleft()
            if self.hops.get(url, self.max_hops + 1) <= hops and (url in visited or url in self.found.excluded):
                continue
            reason = self._refusal(url)
            if reason == "unsure" and certain:
                self.unsure.append(url)
                continue
            self.hops[url] = min(hops, self.hops.get(url, hops))
            if reason and reason != "unsure":
                self.found.excluded[url] = reason
                continue
            entrance = trap_entrance(url)
            if entrance is not None:
                self.found.traps.add(entrance)
                continue
            visited.add(url)
            queue.extend(self._next(url, hops))

    def _refusal(self, url: str) -> str:
        """Why a URL that lies in the crawl's scope is not asked for; "" if it is."""
        place = self.world.locate(url)
        if place is None:
            return "no such host"
        if not self.wanted(url):
            return "filtered"
        host, path = place
        standing = self.world.standing(host)
        if standing is Standing.SHUT:
            return "host unreachable"
        if self.obey_robots and robots.forbids(self.world, host, path):
            return "robots.txt"
        return "unsure" if standing is Standing.UNSURE else ""

    def _next(self, url: str, hops: int) -> Iterator[tuple[str, int]]:
        """What this URL leads to within the scope, each with the redirects that led there."""
        host, path = self.world.locate(url) or (0, "")
        page = self.world.page_at(host, path)
        if page is not None:
            yield from self._links(url, pages.anchors(self.world, host, page), hops)
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

    def _ask(self, url: str, host: int, path: str) -> Answer:
        """The last answer that a crawler gets, which tries again where that may help."""
        answer = Answer()
        for attempt in range(1, ATTEMPTS + 1):
            answer = self.world.answer(Ask(host, path, attempt=attempt))
            if not answer.again:
                break
            self.found.retried.add(url)
        return answer


def _scope(name: str, seeds: list[str], domain_of: Callable[[str], str]) -> Scope:
    def domain(url: str) -> str:
        return domain_of(_host(url))

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
