"""The synthetic web itself: host i and page j are computed on request."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from math import gcd, log

from webcrawl.lab.simweb import host_kinds, name_server, random_content, tree_pages, zoo
from webcrawl.lab.simweb.changing_pages import ChangingPages
from webcrawl.lab.simweb.host_kinds import OWNERS
from webcrawl.lab.simweb.kinds import KINDS, LANDING
from webcrawl.lab.simweb.mix import PAGE_GROUPS, SLOPES, by_group, has_changes
from webcrawl.lab.simweb.name_server import HostStanding
from webcrawl.lab.simweb.random_content import Shares, draws
from webcrawl.lab.simweb.web_answers import AnswerPlace, WebAnswer, WebRequest
from webcrawl.lab.simweb.zoo import WILD, ZOO

ENTRANCES = 3  # ordinary hosts whose roots link to each of these; the same one may be drawn twice
_NAME = re.compile(r"(?:(.+)[.-])?(trap|large)(\d{1,6})\.test")


class ExtraHosts:
    """The hosts that a world has besides the ordinary ones: traps and large sites.

    Their numbers follow those of the ordinary `hosts`: first a trap for each kind in `zoo`, then
    the large sites.
    """

    def __init__(self, hosts: int, zoo: Sequence[str], large: Sequence[int], seed: int) -> None:
        """Draw the ordinary hosts that link to each extra host.

        `large` has the number of pages of each large site. Raise ValueError if a kind of trap is
        unknown or a large site has no page.
        """
        for kind in zoo:
            if kind not in ZOO:
                raise ValueError(
                    f"{kind}: not a trap of the synthetic web; docs/simweb-kinds.md lists all"
                )
        if any(pages < 1 for pages in large):
            raise ValueError(f"large sites of {[*large]} pages: each needs at least one page")
        self._hosts = hosts
        self._zoo = tuple(zoo)
        self._large = tuple(large)
        self.entrances = self._draw_entrances(seed)

    def __len__(self) -> int:
        return len(self._zoo) + len(self._large)

    def trap(self, host: int) -> str:
        """Return the kind of this trap; "" for any other host."""
        at = host - self._hosts
        return self._zoo[at] if 0 <= at < len(self._zoo) else ""

    def pages_of(self, host: int) -> int:
        """Return how many pages a large site has. Those of a trap are not counted."""
        at = host - self._hosts - len(self._zoo)
        return self._large[at] if 0 <= at < len(self._large) else 0

    def name(self, host: int) -> str:
        at = host - self._hosts
        return f"trap{at}.test" if at < len(self._zoo) else f"large{at - len(self._zoo)}.test"

    def number(self, name: str) -> int | None:
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        subdomain, sort, digits = match.groups()
        at = int(digits) + (len(self._zoo) if sort == "large" else 0)
        host = self._hosts + at
        # trap01.test is no host, though its number is
        if at >= len(self) or self.name(host) != f"{sort}{digits}.test":
            return None
        # Only these two kinds have every name below their own
        if subdomain and self.trap(host) not in WILD:
            return None
        return host

    def _draw_entrances(self, seed: int) -> Mapping[int, list[int]]:
        """Return the extra hosts that the root of each ordinary host links to."""
        entrances: defaultdict[int, list[int]] = defaultdict(list)
        for host in range(self._hosts, self._hosts + len(self)):
            for number in draws(seed, host, 0, 64)[:ENTRANCES]:
                linked = entrances[number % self._hosts]
                if host not in linked:
                    linked.append(host)
        return dict(entrances)


NAME = re.compile(r"site(\d{1,9})(?:\.site\d{1,9})?\.test")
SPECIAL = {**KINDS, "landing": LANDING}
MAX_ADDRESSES = 60_000  # of 127.0.0.0/16, with 250 in each /24
CACHED_HOSTS = 2**17  # whose origins and numbers of pages are kept: every link on a page needs both


class World:
    """A web of `hosts` hosts with `pages` pages together, distributed by Zipf's law.

    It stores no pages: each answer is computed when it is requested. The same `seed` gives the same
    web.

    `mix` gives the kinds of hosts, names, robots.txt and extra links with their shares
    (docs/simweb-kinds.md lists them); without one every answer is a plain 200. `slow` is the unit
    of everything that takes time, in seconds; `clock` is the time of the changing pages. If a port is
    0, the server that serves the world sets it.

    `zoo` names a trap for each host that is one, and `large` the number of pages of each large
    site; both are found by links only. With `popular` links to other hosts are few and follow
    Zipf's law, independent of the hosts' sizes.

    With `changes`, or with kinds of change in the mix, pages change from now on: half of them more
    than `changes` times per day, of which `time_scale` pass in a day of the clock.
    """

    def __init__(
        self,
        hosts: int,
        pages: int,
        seed: int = 0,
        port: int = 80,
        *,
        tls_port: int = 443,
        mix: Mapping[str, float] | None = None,
        size: tuple[int, int] = (20_000, 40_000),
        links: int = 40,
        addresses: int = 32,
        slow: float = 1.0,
        agent: str = "webcrawl",
        clock: Callable[[], float] = time.time,
        zoo: Sequence[str] = (),
        large: Sequence[int] = (),
        popular: bool = False,
        changes: float = 0.0,
        time_scale: float = 1.0,
    ) -> None:
        """Create a world; the class describes most arguments. Raise ValueError if one is impossible.

        `size` bounds the bytes of a page, `links` counts the links of each page, and `addresses`
        the loopback addresses that the hosts share. `agent` is the crawler's token in robots.txt.
        """
        _validate(hosts, pages, size, links, addresses)
        self.extra_hosts = ExtraHosts(hosts, zoo, large, seed)
        self.popular = popular
        # An order of popularity that is independent of the hosts' sizes: a step that has no common
        # divisor with their number comes to each once
        self._stride = next(step for step in count(int(hosts * 0.618) + 1) if gcd(step, hosts) == 1)
        self.hosts = hosts
        self.pages = pages
        self.seed = seed
        self.mix = dict(mix or {})
        self.size = size
        self.links = links
        self.addresses = addresses
        self.slow = slow
        self.agent = agent
        self.clock = clock
        self._groups = {
            group: Shares(shares, SLOPES[group], draws(seed, number, 1)[0] / 2**64)
            for number, (group, shares) in enumerate(by_group(self.mix).items())
        }
        self.changing_pages: ChangingPages | None = None
        if changes or has_changes(self.mix):
            self.changing_pages = ChangingPages(self, changes or 1.0, time_scale, clock())
        # Zipf's law: host n has about 1/n of the pages, so the hosts before it have the logarithm
        self._per_nat = (pages - hosts) / log(hosts + 1)
        self.pages_of = lru_cache(CACHED_HOSTS)(self._pages_of)
        self.set_ports(port, tls_port)

    def set_ports(self, port: int, tls_port: int) -> None:
        """Set the ports of the hosts' URLs."""
        self.port = port
        self.tls_port = tls_port
        self.origin = lru_cache(CACHED_HOSTS)(self._origin)

    # -- hosts

    def kind(self, group: str, number: int) -> str:
        """Return the kind of a host, or in the group "page" of a page counted over the whole world.

        It is "" for a plain one.
        """
        return self._groups[group].at(number) if number < self.hosts or group in PAGE_GROUPS else ""

    def name(self, host: int) -> str:
        if host >= self.hosts:
            return self.extra_hosts.name(host)
        parent = (
            f".site{(host - 1) // 2}" if host and self.kind("name", host) == "subdomain" else ""
        )
        return f"site{host}{parent}.test"

    def number(self, name: str) -> int | None:
        match = NAME.fullmatch(name)
        if match is None:
            return self.extra_hosts.number(name)
        host = int(match[1])
        return host if host < self.hosts and self.name(host) == name else None

    def address(self, host: int) -> str:
        """Return the loopback address of this host; several hosts share one."""
        if name_server.IPV6 in self.mix and self.kind("dns", host) == name_server.IPV6:
            return name_server.LOOPBACK6
        return address(host % self.addresses)

    def _origin(self, host: int) -> str:
        if self.kind("scheme", host):
            scheme, port, default = "https", self.tls_port, 443
        else:
            scheme, port, default = "http", self.port, 80
        colon_port = "" if port == default else f":{port}"
        return f"{scheme}://{self.name(host)}{colon_port}"

    def locate(self, url: str) -> tuple[int, str] | None:
        """Return host and request target of a canonical URL, None if it is not in this world."""
        parts = url.split("/", 3)
        if len(parts) != 4:
            return None
        scheme, _, authority, target = parts
        name, colon, port = authority.partition(":")
        host = self.number(name)
        if host is None:
            return None
        # A trap may have many names, all of them with the origin of its own
        own_name = self.name(host) if self.trap(host) else name
        if self.origin(host) != f"{scheme}//{own_name}{colon}{port}":
            return None
        return host, "/" + target

    def trap(self, host: int) -> str:
        """Return the kind of trap that this whole host is; "" if it is none."""
        return self.extra_hosts.trap(host) if host >= self.hosts else ""

    def seeds(self) -> Iterator[str]:
        return (f"{self.origin(host)}/" for host in range(self.hosts))

    def entrances(self, host: int) -> Sequence[int]:
        """Return the traps and large sites that the root of this ordinary host links to."""
        return self.extra_hosts.entrances.get(host, ())

    # -- pages

    def first_page(self, host: int) -> int:
        """Return the number of pages of all hosts before this one: one each, the rest by Zipf's
        law.
        """
        return host + int(self._per_nat * log(host + 1))

    def _pages_of(self, host: int) -> int:
        if host >= self.hosts:
            return self.extra_hosts.pages_of(host)
        end = self.first_page(host + 1) if host + 1 < self.hosts else self.pages
        return end - self.first_page(host)

    def random_host(self, number: int) -> int:
        """Return the ordinary host that belongs to a random number of 20 bits or more.

        In a `popular` world few hosts belong to most numbers.
        """
        if not self.popular:
            return number % self.hosts
        # The inverse of a logarithm gives Zipf's law: rank 0 has the greatest chance
        rank = int((self.hosts + 1) ** ((number & 0xFFFFF) / 2**20)) - 1
        return rank * self._stride % self.hosts

    def page_at(self, host: int, path: str) -> int | None:
        """Return the number of the tree page at this request target, if there is one."""
        page = random_content.page_number(path)
        return page if page is not None and page < self.pages_of(host) else None

    def answer(self, request: WebRequest) -> WebAnswer:
        """Return the answer to a request. A request changes nothing."""
        is_robots = host_kinds.is_robots(request.path)
        trap = self.trap(request.host)
        if trap and not is_robots:
            return host_kinds.static_answer(request) or zoo.zoo_answer(self, request, trap)
        kind = self.kind("host", request.host)
        if kind in host_kinds.DOWN:
            return host_kinds.DOWN[kind](self)
        answer = self._plain_answer(request)
        owner = self.kind("owner", request.host)
        if owner and not is_robots:
            answer = host_kinds.add_owner_statements(OWNERS[owner], answer, self.agent)
        if kind in host_kinds.ANSWER_FORMS:
            return host_kinds.ANSWER_FORMS[kind](self, request, answer)
        return answer

    def _plain_answer(self, request: WebRequest) -> WebAnswer:
        """Return the answer of a host that is up, before its own form and its owner's statements."""
        if self.changing_pages is not None:
            answer = self.changing_pages.answer(request)
            if answer is not None:
                return answer
        page = self.page_at(request.host, request.path)
        if page is not None:
            return WebAnswer(body=tree_pages.render(self, request.host, page))
        return self._answer_outside_tree(request)

    def _answer_outside_tree(self, request: WebRequest) -> WebAnswer:
        """Return robots.txt, a special answer, a style sheet or the like, or else a 404."""
        if host_kinds.is_robots(request.path):
            return host_kinds.robots_answer(self, request)
        if request.path.startswith("/x/"):
            place = AnswerPlace.of(self, request)
            kind = SPECIAL.get(place.kind) if place else None
            if place is not None and kind is not None:
                return kind.answer(place)
        return host_kinds.static_answer(request) or WebAnswer(
            404, b"<title>Not found</title><p>There is no such page here."
        )

    def standing(self, host: int) -> HostStanding:
        """Return whether pages of this host can be fetched, judging by its name, its server and its
        robots.txt.
        """
        if self.kind("host", host) in host_kinds.DOWN:
            return HostStanding.SHUT
        by_name = name_server.STANDING.get(self.kind("dns", host), HostStanding.OPEN)
        return max(by_name, host_kinds.robots_standing(self, host))


def address(index: int) -> str:
    """Return the address with this number among those of a world; number 0 is 127.0.0.1."""
    return f"127.0.{index // 250}.{index % 250 + 1}"


def _validate(hosts: int, pages: int, size: tuple[int, int], links: int, addresses: int) -> None:
    """Raise ValueError, with a line for the user, if no world can have these numbers."""
    if not 1 <= hosts <= pages:
        raise ValueError(
            f"{hosts} hosts and {pages} pages: must be at least one host and one page per host"
        )
    if not 0 <= size[0] <= size[1] <= 2_000_000:
        raise ValueError(
            f"page sizes {size}: must be from 0 to 2,000,000 bytes, the smaller one first"
        )
    if not 10 <= links <= 60:
        raise ValueError(f"{links} links per page: must be from 10 to 60")
    if not 1 <= addresses <= MAX_ADDRESSES:
        raise ValueError(f"{addresses} addresses: must be from 1 to {MAX_ADDRESSES}")
