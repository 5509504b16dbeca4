"""Hosts that fail as real ones do: when, for how long, and what one sees of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from benchmarks.support.simulation import DAY, START, Answer
from webcrawl.base.url_text import host_of
from webcrawl.net.errors import (
    AddressRefused,
    ConnectFailed,
    ConnectionLost,
    ConnectTimeout,
    DnsFailed,
    Sign,
    TimedOut,
)

MINUTE, HOUR = 60.0, 3600.0
FOREVER = 1e12
ROBOTS = "/robots.txt"


def refused() -> Answer:
    return Answer(seconds=0.02, error=ConnectFailed("refused"))


def dropped() -> Answer:
    return Answer(seconds=10.0, error=ConnectTimeout("no answer"))


def silent() -> Answer:
    return Answer(seconds=45.0, error=TimedOut("no answer"))


def lost() -> Answer:
    return Answer(seconds=0.1, error=ConnectionLost("reset"))


def servfail() -> Answer:
    return Answer(seconds=0.1, error=DnsFailed("SERVFAIL"))


def no_dns() -> Answer:
    return Answer(seconds=10.0, error=DnsFailed("name servers do not answer"))


def nxdomain() -> Answer:
    return Answer(seconds=0.05, error=DnsFailed("no such name", permanent=True))


def inside() -> Answer:
    error = AddressRefused("10.0.0.1 port 80: private")
    error.sign = Sign.NO_NAME
    return Answer(seconds=0.05, error=error)


def says(status: int, wait: float = 0.0) -> Callable[[], Answer]:
    return lambda: Answer(status, 0.1, wait)


@dataclass(frozen=True, slots=True)
class Spell:
    """A time in which a host gives the same answer to all requests, or to some of them."""

    begin: float
    end: float
    answer: Callable[[], Answer]
    robots: bool = False  # only to requests for robots.txt
    scheme: str = ""  # only to requests for URLs that begin so


@dataclass(slots=True)
class Site:
    """A host, and the spells in which it does not answer as usual."""

    name: str
    kind: str
    seconds: float = 0.3
    spells: list[Spell] = field(default_factory=list)
    rules_at: str = ""  # the host that its robots.txt redirects to

    def url(self, number: int) -> str:
        """Return one of the site's URLs.

        Every other one is by https if there are spells for that scheme alone.
        """
        secure = number % 2 and any(spell.scheme for spell in self.spells)
        return f"{'https' if secure else 'http'}://{self.name}/page/{number}.html"

    def absence(self, url: str) -> float:
        """Return the longest spell that this URL may meet, in seconds."""
        return max(
            (spell.end - spell.begin for spell in self.spells if url.startswith(spell.scheme)),
            default=0.0,
        )

    def answer(self, url: str, now: float) -> Answer:
        """Return what the site answers to a URL at a time."""
        is_robots = url.endswith(ROBOTS)
        for spell in self.spells:
            is_now = spell.begin <= now < spell.end
            is_for_url = url.startswith(spell.scheme) and (is_robots or not spell.robots)
            if is_now and is_for_url:
                return spell.answer()
        if is_robots and self.rules_at:
            return Answer(301, self.seconds, location=f"http://{self.rules_at}{ROBOTS}")
        body = b"User-agent: *\nDisallow: /private" if is_robots else b""
        return Answer(seconds=self.seconds, body=body)


class Web:
    """All sites, behind an uplink of ours that has outages.

    Each outage has a begin, an end, and whether only DNS is out.
    """

    def __init__(
        self, sites: Iterable[Site], outages: Iterable[tuple[float, float, bool]] = ()
    ) -> None:
        self.sites = {site.name: site for site in sites}
        self.outages = tuple(outages)

    def __call__(self, url: str, now: float) -> Answer:
        name = host_of(url)
        for begin, end, is_only_dns in self.outages:
            if not begin <= now < end:
                continue
            if is_only_dns:
                return no_dns()
            return servfail() if stable_hash(name) % 2 else dropped()
        return self.sites[name].answer(url, now)


def stable_hash(name: str) -> int:
    """Return a hash that is the same in every run."""
    return sum(map(ord, name))


def _random_spells(
    random: Random,
    days: float,
    count: int,
    shortest: float,
    longest: float,
    answer: Callable[[], Answer],
    **more: bool,
) -> list[Spell]:
    """Return spells of random length at random times."""
    spells = []
    for _ in range(count):
        begin = START + random.random() * days * DAY
        spells.append(Spell(begin, begin + random.uniform(shortest, longest), answer, **more))
    return spells


def _nightly(random: Random, days: float) -> list[Spell]:
    hour = random.random() * DAY
    return [
        Spell(START + hour + day * DAY, START + hour + day * DAY + 5 * MINUTE, refused)
        for day in range(int(days))
    ]


def _once(random: Random, days: float, length: float, answer: Callable[[], Answer]) -> list[Spell]:
    begin = START + random.random() * max(days - length / DAY, days / 2) * DAY
    return [Spell(begin, begin + length, answer)]


Spells = Callable[[Random, float], list[Spell]]  # with the number of days

KINDS: dict[str, tuple[int, Spells]] = {
    # name: hosts of a hundred, and their spells
    "steady": (25, lambda _, __: []),
    "slow": (4, lambda _, __: []),
    "busy": (8, lambda random, days: _random_spells(random, days, 4, HOUR, 6 * HOUR, says(503))),
    "busy, Retry-After 30 min": (
        6,
        lambda random, days: _random_spells(
            random, days, 4, HOUR, 6 * HOUR, says(503, 30 * MINUTE)
        ),
    ),
    "429, Retry-After 1 h": (
        8,
        lambda random, days: _random_spells(random, days, 8, HOUR, 2 * HOUR, says(429, HOUR)),
    ),
    "nightly restart": (10, _nightly),
    "SERVFAIL": (
        6,
        lambda random, days: _random_spells(random, days, 20, MINUTE, 20 * MINUTE, servfail),
    ),
    "DNS time-outs": (
        4,
        lambda random, days: _random_spells(random, days, 20, MINUTE, 20 * MINUTE, no_dns),
    ),
    "resets": (
        2,
        lambda random, days: _random_spells(random, days, 8, 5 * MINUTE, 15 * MINUTE, lost),
    ),
    "silent for hours": (
        2,
        lambda random, days: _random_spells(random, days, 2, HOUR, 5 * HOUR, silent),
    ),
    "away for a day": (4, lambda random, days: _once(random, days, DAY, refused)),
    "robots.txt 503 at first": (
        3,
        lambda _, __: [Spell(START, START + 5 * MINUTE, says(503), robots=True)],
    ),
    "robots.txt away at times": (
        5,
        lambda random, days: _random_spells(
            random, days, int(days), HOUR, 10 * HOUR, says(503), robots=True
        ),
    ),
    "robots.txt elsewhere": (2, lambda _, __: []),
    "only https": (1, lambda _, __: [Spell(0.0, FOREVER, refused, scheme="http:")]),
    "only http": (1, lambda _, __: [Spell(0.0, FOREVER, dropped, scheme="https:")]),
    "https away for hours": (
        1,
        lambda random, days: [
            Spell(one.begin, one.end, refused, scheme="https:")
            for one in _random_spells(random, days, 4, HOUR, 10 * HOUR, refused)
        ],
    ),
    "away for four days": (2, lambda random, days: _once(random, days, 4 * DAY, dropped)),
    "away for ever": (2, lambda random, days: _once(random, days, FOREVER, dropped)),
    "dead": (2, lambda _, __: [Spell(0.0, FOREVER, refused)]),
    "no such name": (2, lambda _, __: [Spell(0.0, FOREVER, nxdomain)]),
}


def sites(count: int, days: float, seed: int) -> list[Site]:
    """Return so many hosts of all kinds."""
    random = Random(seed)
    made = []
    kinds = [kind for kind, (share, _) in KINDS.items() for _ in range(share)]
    random.shuffle(kinds)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        seconds = random.uniform(15, 35) if kind == "slow" else random.uniform(0.1, 0.6)
        site = Site(f"www.site{number}.test", kind, seconds, KINDS[kind][1](random, days))
        if kind == "robots.txt elsewhere":
            site.rules_at = f"rules.other{number}.test"
            spells = _random_spells(random, days, int(days), HOUR, 10 * HOUR, refused)
            made.append(Site(site.rules_at, "rules of others", 0.3, spells))
        made.append(site)
    return made
