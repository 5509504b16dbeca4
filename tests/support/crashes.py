"""kill -9, again and again: a crawl that is killed at moments of a seeded chance, and what it must never show."""

import os
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path

from tests.support.crawling import PATIENCE, POLITE, Crawl
from tests.support.cuts import Cut, cut
from webcrawl.simweb import World, gaps, hostile, mercator, overlaps, robots_first, trap_hits, truth, wait_until_idle
from webcrawl.simweb.answers import Ask
from webcrawl.simweb.kinds import trap_entrance
from webcrawl.simweb.mix import GROUPS
from webcrawl.verify.whole import verify

# The first two are bounded by budgets only; the others lead 250 pages and 10 pages deep, each a turn of its host's.
ENDLESS = {"trap_numbers", "trap_facets", "trap_growing", "trap_calendar"}
HOSTILE = {kind: share for kind, share in hostile().items() if kind not in ENDLESS} | {"https": 0.2}
NOTICED = 0.3  # seconds: how much later than it happened a busy server may notice that a client has left
TRAPPED = 30  # pages of one trap
LOGGED = {"LOG_FORMAT": "%(created)f %(message)s"}  # when each checkpoint was, to compare it with the server's log
CHECKPOINT = re.compile(r"^([\d.]+) checkpoint in ([\d.]+) s", re.MULTILINE)


@dataclass
class Death:
    """One kill: the cut that it left, what was asked for until then in this run, and when the last checkpoint began."""

    cut: Cut
    hits: list
    checkpoint: float | None  # seconds since 1970

    @property
    def missing(self):
        """URLs that were answered before the last checkpoint began, and did not get into it."""
        if self.checkpoint is None:
            return set()
        ended = {hit.url for hit in self.hits if hit.wall + hit.ended - hit.started < self.checkpoint}
        return ended - self.cut.logged.keys() - self.cut.robots.keys()


@dataclass
class Killed:
    """A crawl that was killed until its last run, which ended by itself."""

    deaths: list[Death]
    last: list  # the hits of the last run
    status: int
    cut: Cut

    @property
    def runs(self):
        return [*(death.hits for death in self.deaths), self.last]

    @property
    def hits(self):
        return [hit for run in self.runs for hit in run]

    def again(self):
        """URLs asked for although a checkpoint before had them finished; robots.txt aside, which may have to be."""
        for number, death in enumerate(self.deaths, 1):
            for run in self.runs[number:]:
                yield from (hit.url for hit in run if hit.url in death.cut.logged)


def warm():
    """A bomb takes half a second to make, once, in which the server would answer nobody."""
    world = World(1, 1)
    for kind in HOSTILE.keys() & GROUPS["page"]:
        world.answer(Ask(0, f"/x/{kind}/0"))


def crawl_of(folder, server, settings, kind=Crawl):
    """A crawl of the server's whole world, in a folder of its own."""
    folder.mkdir()
    (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **settings}
    return kind(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


# -- the crash


def crash(crawl, server, chance, *, kills=0, requests=(0, 0), settings=repeat({}), patience=PATIENCE, pause=0):  # noqa: B008
    """Runs it, kills it after so many requests more (a range) and some milliseconds, until it has been killed enough.

    `pause`: and so many seconds at the most, for a crawl begins with so many requests that it never got further. Before
    every other death it is told to take a checkpoint, so that many fall into one. `settings` are each run's.
    """
    deaths, done = [], len(server.log.hits)
    for others in settings:
        running, mortal = crawl.start(**LOGGED, **others), len(deaths) < kills
        if mortal and _die(
            running, server, chance, done + chance.randint(*requests), pause=pause, signalled=len(deaths) % 2
        ):
            hits, done = _hits(server, done)
            deaths.append(Death(sound(crawl.jobdir), hits, _checkpoint(crawl.output)))
            continue
        status = running.wait(4 * patience)
        return Killed(deaths, _hits(server, done)[0], status, sound(crawl.jobdir))
    raise ValueError("no settings for the last run")


def sound(jobdir):
    """The cut in it, which `scrapy verify` finds sound too."""
    damages = [*verify(jobdir, Counter())]
    assert damages == [], damages
    return cut(jobdir)


def _die(running, server, chance, count, *, pause, signalled):
    """Whether it was still alive at the moment to die."""
    process, end = running.process, time.monotonic() + PATIENCE
    while server.log.count < count and process.is_alive() and time.monotonic() < end:
        time.sleep(0.002)
    time.sleep(chance.uniform(0, pause))
    if signalled and server.log.count >= count and process.is_alive():
        os.kill(process.pid, signal.SIGUSR1)
    time.sleep(chance.uniform(0, 0.05))
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def _hits(server, done):
    wait_until_idle(server)
    hits = list(server.log.hits)
    return hits[done:], len(hits)


def _checkpoint(output: Path):
    said = CHECKPOINT.findall(output.read_text())
    return float(said[-1][0]) - float(said[-1][1]) - 0.01 if said else None  # its line rounds to hundredths


# -- what must not be seen


def assert_as_untouched(server, killed, whole, in_flight, *, slack=0.001):
    """All requests, and the end, are those of a crawl that nobody touched, but for what was lost with each kill."""
    expected = truth(server.world, server.world.seeds())
    assert (killed.status, whole.status) == (0, 0)
    for found in (complaints(expected, killed), rudeness(server.world, killed, slack), killed.again()):
        first = list(islice(found, 10))
        assert first == [], first
    for death in killed.deaths:
        late = death.missing & (expected.must - expected.retried)
        assert len(late) <= in_flight, late  # those whose answers were on their way
    assert max(trap_hits({hit.url: hit for hit in killed.hits}.values()).values()) <= TRAPPED
    for mine, others in zip(_pages(killed.cut), _pages(whole.cut), strict=True):
        assert mine == others, mine ^ others


def complaints(expected, killed):
    """Every way in which the requests differ from the truth, if each run may ask again for what was not finished."""
    yield from expected.complaints({hit.url: hit for hit in killed.hits}.values())
    for run in killed.runs:
        yield from (line for line in expected.complaints(run) if line.startswith("asked for"))


def rudeness(world, killed, slack):
    """Whatever a server could complain of within a run, and robots.txt asked for too late in all of them."""
    rule = mercator(world, **POLITE)

    def wanted(hit):
        return rule(hit) - (NOTICED if hit.outcome == "left" else 0.0)

    for run in killed.runs:
        yield from overlaps(run)
        yield from gaps(run, wanted, slack=slack)
    yield from robots_first(killed.hits)


def hurried(world, killed, **polite):
    """Hosts that were asked too soon after a restart, though the cut had their last answer before it."""
    rule = mercator(world, **POLITE | polite)
    for death, run in zip(killed.deaths, killed.runs[1:], strict=True):
        last = {hit.host: hit for hit in sorted(death.hits, key=lambda hit: hit.started)}
        first = {hit.host: hit for hit in sorted(run, key=lambda hit: -hit.started)}
        finished = death.cut.logged + death.cut.robots
        for host in last.keys() & first.keys():
            if last[host].url in finished and first[host].started < last[host].ended + rule(last[host]):
                yield last[host], first[host]


def _pages(found):
    """What is in the log and in the archive, as another server of the same world would have it, traps aside."""
    return [
        {re.sub(r":\d+/", "/", url) for url in urls if trap_entrance(url) is None}
        for urls in (found.logged, found.archived)
    ]
