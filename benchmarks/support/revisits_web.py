"""A web whose pages change, crawled in simulated time: the whole crawl behind `assemble`.

Nothing is faked but network and time: answers are those of the synthetic web, and the crawl's own
visitor reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappush
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from benchmarks.support.simulation import DAY, START, Answer, Requested, Simulation
from benchmarks.support.weather import refused
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.base.url_text import host_of
from webcrawl.lab.simweb import Hit, World
from webcrawl.lab.simweb.changing_pages import original_path
from webcrawl.lab.simweb.web_answers import WebRequest, head

MINUTE = 60.0
ANSWER_SECONDS = 0.3  # that an answer takes
IMPORTANCE_RANKS = 50  # of importance: if there were more, few pages would decide about freshness


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a web and how long a crawl; `budget` is a share of all changes."""

    hosts: int = 50
    pages: int = 1000
    days: float = 40.0
    changes: float = 0.4
    budget: float = 0.2
    policy: str = "optimal"
    delay: float = 5.0  # POLITENESS_MIN_DELAY
    kills: int = 6
    sitemaps: str = ""  # the kind of all hosts' sitemaps, which the crawl reads
    # whether a third of the hosts are away for a time, some longer than HOST_PATIENCE
    away: bool = False
    seed: int = 1

    def world(self, clock: Callable[[], float]) -> World:
        """Return the world of this scale, with this clock."""
        mix = {"change_poisson": 0.84, "change_never": 0.1}
        mix |= dict.fromkeys(("change_moves", "change_returns", "change_gone_404"), 0.02)
        mix |= dict.fromkeys(
            ("validator_strong", "validator_weak", "validator_modified", "validator_both"), 0.2
        )
        if self.sitemaps:
            mix[self.sitemaps] = 1.0
        more: dict[str, Any] = {
            "size": (0, 0),
            "links": 10,
            "changes": self.changes,
            "mix": mix,
            "clock": clock,
        }
        return World(self.hosts, self.pages, self.seed, **more)


@dataclass(slots=True)
class RequestedWithExchange(Requested):
    """A request with its whole answer, and how it is logged."""

    exchange: Exchange
    hit: Hit


class Weeks(Simulation):
    """A simulation whose answers are those of a world with changing pages."""

    def __init__(self, folder: Path, scale: Scale, settings: Mapping[str, Any]) -> None:
        """Assemble the crawl in a folder, with these settings."""
        self.now = START
        self.world = scale.world(lambda: self.now)
        self.lists = bool(scale.sitemaps)
        self.runs: list[list[Hit]] = [[]]  # what was asked for in each
        self.hits: list[Hit] = []  # what no kill has undone
        self._saved_hits = 0
        self.spells = _spells(scale) if scale.away else {}
        super().__init__(
            folder,
            _answer_while_away,
            [(START, [*self.world.seeds()])],
            settings,
            interval=60 * MINUTE,
        )

    def back(self, host: str) -> float:
        """Return when a host is back that was away; 0 if it never was."""
        return self.spells[host][1] if host in self.spells else 0.0

    def checkpoint(self) -> None:
        super().checkpoint()
        self._saved_hits = len(self.hits)

    def kill(self, away: float = 0.0) -> None:
        super().kill(away)
        del self.hits[self._saved_hits :]
        self.runs.append([])

    def _begin_request(self, link: Link) -> None:
        """Begin a request, and let its host answer unless it is away."""
        begin, end = self.spells.get(host_of(link.url), (0.0, 0.0))
        if begin <= self.now < end:
            super()._begin_request(link)  # to `_answer_while_away`
            if self.crawl.parts.revisiting is not None and link.history:
                self.crawl.parts.revisiting.next_headers(link)
            return
        self._note_change()
        self.judge.begins(link, self.now)
        exchange, hit = self._answer_of(link)
        self.runs[-1].append(hit)
        self._serial += 1
        answer = Answer(hit.status, ANSWER_SECONDS, body=exchange.body)
        heappush(
            self._in_flight,
            (
                hit.ended,
                self._serial,
                RequestedWithExchange(link, self.now, hit.ended, answer, exchange, hit),
            ),
        )

    def _end_request(self, requested: Requested) -> None:
        """Do with an answer what the crawl does with it."""
        if not isinstance(requested, RequestedWithExchange):
            super()._end_request(requested)
            return
        link, exchange = requested.link, requested.exchange
        self.judge.ends(link, requested.answer, self.now)
        self.counters["requests"] += 1
        self.hits.append(requested.hit)
        page = self.visitor.visit(link, exchange)
        if not link.path.endswith("P"):
            self.visitor.follow(page)
        self.crawl.finish(link, self._outcome(requested), exchange)

    def _answer_of(self, link: Link) -> tuple[Exchange, Hit]:
        """Return the exchange and the log entry of a request, with the conditions that the crawl
        sends.
        """
        revisiting = self.crawl.parts.revisiting
        given = revisiting.next_headers(link) if revisiting is not None and link.history else []
        conditions = {name.decode(): value for name, value in given}
        host, target = self.world.locate(link.url) or (0, "/never")
        etag, since = (
            conditions.get(name, b"").decode() for name in ("If-None-Match", "If-Modified-Since")
        )
        answer = self.world.answer(WebRequest(host, target, "", etag, since, 1, host_of(link.url)))
        lines = [f"GET {target} HTTP/1.1", f"Host: {host_of(link.url)}"]
        lines += [f"{name}: {value.decode()}" for name, value in conditions.items()]
        top = head(answer, answer.date, length=len(answer.body))
        headers = [
            (name, value)
            for name, _, value in (line.partition(b": ") for line in top.split(b"\r\n")[1:])
            if name
        ]
        request = "\r\n".join([*lines, "", ""]).encode()
        exchange = Exchange(
            link.url,
            request,
            answer.status,
            top,
            headers,
            answer.body,
            answer.body,
            answer.body,
            "127.0.0.1",
            self.now,
            Timings(total=ANSWER_SECONDS),
        )
        hit = Hit(
            self.now,
            self.now,
            link.url,
            "",
            0,
            ended=self.now + ANSWER_SECONDS,
            status=answer.status,
            outcome="sent",
        )
        hit.edition, hit.conditional = answer.edition, bool(conditions)
        return exchange, hit


def _answer_while_away(url: str, now: float) -> Answer:
    """Return what a request gets while its host is away."""
    del url, now
    return refused()


def _spells(scale: Scale) -> dict[str, tuple[float, float]]:
    """Return when some hosts are away: for a day, or for five."""
    random = Random(scale.seed)
    found = {}
    for host in range(0, scale.hosts, 3):
        begin = START + scale.days * DAY * random.uniform(0.1, 0.4)
        found[f"site{host}.test"] = (begin, begin + (5 if host % 2 else 1) * DAY)
    return found


def important(link: Link) -> float:
    """Return the importance of a link by Zipf's law, independent of everything else."""
    return weight(link.url)


def weight(url: str) -> float:
    return (1.0 + crc32(original_path(url).encode()) % IMPORTANCE_RANKS) ** -0.8
