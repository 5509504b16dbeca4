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
from webcrawl.lab.simweb.mix import OF_PAGES, SLOPES, by_group, has_changes
from webcrawl.lab.simweb.random_content import Shares, draws
from webcrawl.lab.simweb.web_answers import AnswerPlace, Ask, WebAnswer
from webcrawl.lab.simweb.zoo import WILD, ZOO

ENTRANCES = 3  # ordinary hosts whose roots link to each of these; the same one may be drawn twice
_NAME = re.compile(r"(?:(.+)[.-])?(trap|large)(\d{1,6})\.test")


class Annex:
    """Their numbers follow those of the ordinary `hosts`: first a trap for each kind in `zoo`, then
    the large sites.
    """

    def __init__(self, hosts: int, zoo: Sequence[str], large: Sequence[int], seed: int) -> None:
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
        self.entrances = self._drawn(seed)

    def __len__(self) -> int:
        return len(self._zoo) + len(self._large)

    def trap(self, host: int) -> str:
        """Return the kind of this trap; "" for any other host."""
        return self._zoo[host - self._hosts] if 0 <= host - self._hosts < len(self._zoo) else ""

    def pages_of(self, host: int) -> int:
        """Return how many pages a large site has. Those of a trap are not counted."""
        at = host - self._hosts - len(self._zoo)
        return self._large[at] if 0 <= at < len(self._large) else 0

    def name(self, host: int) -> str:
        at = host - self._hosts
        return f"trap{at}.test" if at < len(self._zoo) else f"large{at - len(self._zoo)}.test"

    def number(self, name: str) -> int | None:
        """Return the number of the host with this name, None if there is none."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        at = int(match[3]) + (len(self._zoo) if match[2] == "large" else 0)
        # trap01.test is no host, though its number is
        if at >= len(self) or self.name(self._hosts + at) != f"{match[2]}{match[3]}.test":
            return None
        # Only these two kinds have every name below their own
        return None if match[1] and self.trap(self._hosts + at) not in WILD else self._hosts + at

    def _drawn(self, seed: int) -> Mapping[int, list[int]]:
        """Return the hosts here that the root of an ordinary host links to."""
        drawn: defaultdict[int, list[int]] = defaultdict(list)
        for host in range(self._hosts, self._hosts + len(self)):
            for number in draws(seed, host, 0, 64)[:ENTRANCES]:
                if host not in drawn[number % self._hosts]:
                    drawn[number % self._hosts].append(host)
        return dict(drawn)


NAME = re.compile(r"site(\d{1,9})(?:\.site\d{1,9})?\.test")
SPECIAL = {**KINDS, "landing": LANDING}
MAX_ADDRESSES = 60_000  # of 127.0.0.0/16, with 250 in each /24


class World:
    """`hosts` hosts with `pages` pages together, distributed by Zipf's law.

    `seed` determines everything.

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
        _validate(hosts, pages, size, links, addresses)
        self.annex = Annex(hosts, zoo, large, seed)
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
        living = changes or has_changes(self.mix)
        self.living = ChangingPages(self, changes or 1.0, time_scale, clock()) if living else None
        # Zipf's law: host n has about 1/n of the pages, so the hosts before it have the logarithm
        self._per_nat = (pages - hosts) / log(hosts + 1)
        self.pages_of = lru_cache(2**17)(self._pages_of)
        self.settle(port, tls_port)

    def settle(self, port: int, tls_port: int) -> None:
        """Set the ports of the hosts' URLs."""
        self.port = port
        self.tls_port = tls_port
        self.origin = lru_cache(2**17)(self._origin)

    # -- hosts

    def kind(self, group: str, number: int) -> str:
        """Return the kind of a host, or in the group "page" of a page counted over the whole world.

        It is "" for a plain one.
        """
        return self._groups[group].at(number) if number < self.hosts or group in OF_PAGES else ""

    def name(self, host: int) -> str:
        if host >= self.hosts:
            return self.annex.name(host)
        parent = (
            f".site{(host - 1) // 2}" if host and self.kind("name", host) == "subdomain" else ""
        )
        return f"site{host}{parent}.test"

    def number(self, name: str) -> int | None:
        """Return the number of the host with this name, None if there is none."""
        match = NAME.fullmatch(name)
        if match is None:
            return self.annex.number(name)
        return (
            int(match[1])
            if int(match[1]) < self.hosts and self.name(int(match[1])) == name
            else None
        )

    def address(self, host: int) -> str:
        """Return the loopback address of this host; several hosts share one."""
        if name_server.IPV6 in self.mix and self.kind("dns", host) == name_server.IPV6:
            return name_server.LOOPBACK6
        return address(host % self.addresses)

    def _origin(self, host: int) -> str:
        if self.kind("scheme", host):
            return f"https://{self.name(host)}" + (
                "" if self.tls_port == 443 else f":{self.tls_port}"
            )
        return f"http://{self.name(host)}" + ("" if self.port == 80 else f":{self.port}")

    def locate(self, url: str) -> tuple[int, str] | None:
        """Return host and request target of a canonical URL, None if it is not in this world."""
        parts = url.split("/", 3)
        if len(parts) != 4:
            return None
        name, colon, port = parts[2].partition(":")
        host = self.number(name)
        if (
            host is None
            or self.origin(host)
            != f"{parts[0]}//{self.name(host) if self.trap(host) else name}{colon}{port}"
        ):
            return None
        return host, "/" + parts[3]

    def trap(self, host: int) -> str:
        """Return the kind of trap that this whole host is; "" if it is none."""
        return self.annex.trap(host) if host >= self.hosts else ""

    def seeds(self) -> Iterator[str]:
        return (f"{self.origin(host)}/" for host in range(self.hosts))

    def entrances(self, host: int) -> Sequence[int]:
        """Return the traps and large sites that the root of this ordinary host links to."""
        return self.annex.entrances.get(host, ())

    # -- pages

    def first_page(self, host: int) -> int:
        """Return the number of pages of all hosts before this one: one each, the rest by Zipf's
        law.
        """
        return host + int(self._per_nat * log(host + 1))

    def _pages_of(self, host: int) -> int:
        if host >= self.hosts:
            return self.annex.pages_of(host)
        end = self.first_page(host + 1) if host + 1 < self.hosts else self.pages
        return end - self.first_page(host)

    def abroad(self, number: int) -> int:
        """Return an ordinary host that a random number of 20 bits or more leads to."""
        if not self.popular:
            return number % self.hosts
        # 0 with the greatest chance
        rank = int((self.hosts + 1) ** ((number & 0xFFFFF) / 2**20)) - 1
        return rank * self._stride % self.hosts

    def page_at(self, host: int, path: str) -> int | None:
        """Return the number of the tree page at this request target, if there is one."""
        page = random_content.page_number(path)
        return page if page is not None and page < self.pages_of(host) else None

    def answer(self, ask: Ask) -> WebAnswer:
        """Return the answer to a request. A request changes nothing."""
        is_robots = host_kinds.is_robots(ask.path)
        if (trap := self.trap(ask.host)) and not is_robots:
            return host_kinds.static_answer(ask) or zoo.zoo_answer(self, ask, trap)
        kind = self.kind("host", ask.host)
        if kind in host_kinds.DOWN:
            return host_kinds.DOWN[kind](self)
        answer = self._changing(ask) or self._tree(ask)
        if (owner := self.kind("owner", ask.host)) and not is_robots:
            answer = host_kinds.speak(OWNERS[owner], answer, self.agent)
        if kind in host_kinds.DRESSES:
            return host_kinds.DRESSES[kind](self, ask, answer)
        return answer

    def _changing(self, ask: Ask) -> WebAnswer | None:
        return self.living.answer(ask) if self.living is not None else None

    def _tree(self, ask: Ask) -> WebAnswer:
        page = self.page_at(ask.host, ask.path)
        return (
            WebAnswer(body=tree_pages.render(self, ask.host, page))
            if page is not None
            else self._elsewhere(ask)
        )

    def _elsewhere(self, ask: Ask) -> WebAnswer:
        if ask.path == "/robots.txt" or ask.path.startswith(host_kinds.ROBOTS_FOLDER):
            return host_kinds.robots_answer(self, ask)
        if ask.path.startswith("/x/"):
            place = AnswerPlace.of(self, ask)
            kind = SPECIAL.get(place.kind) if place else None
            if place is not None and kind is not None:
                return kind.answer(place)
        return host_kinds.static_answer(ask) or WebAnswer(
            404, b"<title>Not found</title><p>There is no such page here."
        )

    def standing(self, host: int) -> name_server.HostStanding:
        """Return whether pages of this host can be fetched, judging by its name, its server and its
        robots.txt.
        """
        return max(
            name_server.STANDING.get(self.kind("dns", host), name_server.HostStanding.OPEN),
            name_server.HostStanding.SHUT
            if self.kind("host", host) in host_kinds.DOWN
            else name_server.HostStanding.OPEN,
            host_kinds.robots_standing(self, host),
        )


def address(index: int) -> str:
    return f"127.0.{index // 250}.{index % 250 + 1}"


def _validate(hosts: int, pages: int, size: tuple[int, int], links: int, addresses: int) -> None:
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
