"""Crawls killed by kill -9 at random moments (seeded), and checks of what they leave."""

import os
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path

from tests.support.crawling import PATIENCE, POLITE, Crawl
from tests.support.restarts import archived, polite
from tests.support.snapshots import CrawlSnapshot, snapshot_of
from webcrawl.base.url_text import host_of
from webcrawl.lab.simweb import (
    World,
    even,
    gaps,
    hostile,
    mercator,
    overlaps,
    robots_first,
    trap_hits,
    truth,
    wait_until_idle,
)
from webcrawl.lab.simweb.kinds import trap_entrance
from webcrawl.lab.simweb.kinds.misbehaviour import BROKEN, LIARS
from webcrawl.lab.simweb.mix import GROUPS
from webcrawl.lab.simweb.web_answers import WebRequest
from webcrawl.tools.verify_crawl import verify

# The first two are bounded only by budgets; the others are 250 and 10 pages deep, and each page
# takes a host's turn.
ENDLESS = {"trap_numbers", "trap_facets", "trap_growing", "trap_calendar"}
HOSTILE = {kind: share for kind, share in hostile().items() if kind not in ENDLESS} | even(
    GROUPS["scheme"], 0.3
)
TRAPPED = 30  # most pages of one trap
MISDEED = re.compile(r"https://[^/]+/x/(\w+)/")
# times of checkpoints, to be compared with the server's log
LOGGED = {"LOG_FORMAT": "%(created)f %(message)s"}
CHECKPOINT = re.compile(r"^([\d.]+) checkpoint in ([\d.]+) s", re.MULTILINE)


@dataclass
class CrawlKill:
    """One kill: the snapshot that it left, the hits of this run, and when the last checkpoint began."""

    snapshot: CrawlSnapshot
    hits: list
    checkpoint: float | None  # seconds since 1970

    @property
    def missing(self):
        """Return the URLs that were answered before the last checkpoint began but are not in it."""
        if self.checkpoint is None:
            return set()
        ended = {
            hit.url for hit in self.hits if hit.wall + hit.ended - hit.started < self.checkpoint
        }
        return ended - self.snapshot.logged.keys() - self.snapshot.robots.keys()


@dataclass
class Killed:
    """A crawl that was killed in all runs but the last, which finished."""

    deaths: list[CrawlKill]
    last: list  # the hits of the last run
    status: int
    snapshot: CrawlSnapshot
    settings: list[dict]  # of each run

    @property
    def whole(self):
        """Return whether every run had an archive."""
        return all(map(archived, self.settings))

    @property
    def runs(self):
        return [*(death.hits for death in self.deaths), self.last]

    @property
    def hits(self):
        return [hit for run in self.runs for hit in run]

    def fetched_again(self):
        """Yield the URLs that were fetched although an earlier checkpoint had them as finished.

        robots.txt files are left out, because they may expire.
        """
        for number, death in enumerate(self.deaths, 1):
            for run in self.runs[number:]:
                yield from (hit.url for hit in run if hit.url in death.snapshot.logged)


def warm():
    """Make the decompression bombs in advance.

    That takes half a second, during which the server would not answer.
    """
    world = World(1, 1)
    for kind in HOSTILE.keys() & GROUPS["page"]:
        world.answer(WebRequest(0, f"/x/{kind}/0"))


def crawl_of(folder, server, settings, kind=Crawl):
    """Return a crawl of the server's whole world, in a new folder."""
    folder.mkdir()
    (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **settings}
    return kind(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


# -- the crash


def crash(
    crawl,
    server,
    chance,
    *,
    kills=0,
    requests=(0, 0),
    settings=repeat({}),  # noqa: B008
    patience=PATIENCE,
    pause=0,
    stopped=False,
):
    """Run the crawl, and kill it `kills` times.

    Each kill comes after some more requests (a range) and some milliseconds. `pause` adds up to so
    many seconds, so that a crawl gets beyond the many requests with which it begins. Before every
    other kill the crawl gets the signal for a checkpoint, so that many kills hit one. `settings`
    are per run. `stopped`: the machine is so busy that the crawl may stand still for a second.
    """
    deaths, done, had = [], len(server.log.hits), []
    for others in settings:
        had.append(others)
        running = crawl.start(**LOGGED, **others)
        has_died = len(deaths) < kills and _die(
            running,
            server,
            chance,
            done + chance.randint(*requests),
            pause=pause,
            signalled=len(deaths) % 2,
        )
        if has_died:
            hits, done = _hits(server, done)
            left = sound(crawl.jobdir, archive=all(map(archived, had)), stopped=stopped)
            deaths.append(CrawlKill(left, hits, _checkpoint(crawl.output)))
            continue
        status = running.wait(4 * patience)
        left = sound(crawl.jobdir, archive=all(map(archived, had)), stopped=stopped)
        return Killed(deaths, _hits(server, done)[0], status, left, had)
    raise ValueError("no settings for the last run")


def sound(jobdir, *, archive=True, taken=None, stopped=False):
    """Return the snapshot in a JOBDIR. Assert that `webcrawl verify` finds no damage.

    Damage of the file `taken` does not count. If `archive`, the snapshot must have every answer.
    """
    damages = [damage for damage in verify(jobdir, Counter()) if damage.path != taken]
    assert damages == [], damages
    return snapshot_of(jobdir, archive=archive, stopped=stopped)


def _die(running, server, chance, count, *, pause, signalled):
    """Kill the process after `count` requests, and return whether it was still alive then."""
    process = running.process
    end = time.monotonic() + PATIENCE
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
    """Return the hits after the first `done`, and the number of all."""
    wait_until_idle(server)
    hits = list(server.log.hits)
    return hits[done:], len(hits)


def _checkpoint(output: Path):
    """Return when the last checkpoint began, in seconds since 1970, or None if there was none."""
    said = CHECKPOINT.findall(output.read_text())
    # the log line rounds to hundredths
    return float(said[-1][0]) - float(said[-1][1]) - 0.01 if said else None


# -- what must not happen


def assert_as_untouched(server, killed, whole, in_flight, *, slack=0.001, beyond=False):
    """Assert that requests and result are those of an untouched crawl, except for what each kill
    lost.

    If `beyond`, pages' requisites are fetched too, by the crawl or a browser; no link of the truth
    leads there. Return the URLs, without ports, that only one of both crawls need have.
    """
    expected = truth(server.world, server.world.seeds())
    assert (killed.status, whole.status) == (0, 0)
    gone = _given_up(killed.snapshot, expected)
    ended = {
        f"not requested: {url}" for url in killed.snapshot.given_up if _comparable([url]) & gone
    }
    others = (
        line
        for line in complaints(expected, killed)
        if not (beyond and line.startswith("must not be"))
    )
    others = (line for line in others if line not in ended)
    for found in (others, rudeness(server.world, killed, slack), killed.fetched_again()):
        first = list(islice(found, 10))
        assert first == [], first
    for death in killed.deaths:
        late = death.missing & (expected.must - expected.retried)
        assert len(late) <= in_flight, late  # only those whose answers were in transit
    assert max(trap_hits({hit.url: hit for hit in killed.hits}.values()).values()) <= TRAPPED
    left = _comparable(
        killed.snapshot.known
        - killed.snapshot.logged
        + (whole.snapshot.known - whole.snapshot.logged)
    )
    # lone URLs of hosts that fail: the next run's, and the crawl says so
    assert left <= _comparable(expected.retried)
    left |= (
        gone
        | _given_up(whole.snapshot, expected)
        | _protocols(killed.snapshot)
        | _protocols(whole.snapshot)
    )
    pairs = zip(_pages(killed.snapshot), _pages(whole.snapshot), (True, killed.whole), strict=True)
    for mine, others, complete in (
        (mine - left, others - left, complete) for mine, others, complete in pairs
    ):
        assert mine == others if complete else mine <= others, mine ^ others
    return left


def _given_up(found, expected):
    """Return the URLs that ended with their host, of hosts with two broken URLs.

    These may come to five failures in a row. Whether nothing else comes between them, and for how
    long, is up to the order of the crawl and to its kills.
    """
    broken = Counter(map(host_of, _comparable(found.logged) & _comparable(expected.retried)))
    return {url for url in _comparable(+found.given_up) if broken[host_of(url)] > 1}


def _protocols(found):
    """Return the misdeeds of TLS hosts of which an answer once looked like HTTP/2.

    HTTP/2 is then spoken with these hosts, in which not all misdeeds have a form. How many come
    before it is up to the order of the crawl.
    """
    hosts = {
        host_of(url)
        for url in found.logged
        if url.startswith("https:") and "/x/speaks_http2/" in url
    }
    mine = (url for url in _comparable(found.logged) if host_of(url) in hosts)
    return {url for url in mine if (match := MISDEED.match(url)) and match[1] in {*LIARS, *BROKEN}}


def complaints(expected, killed):
    """Yield every way in which the requests differ from the truth.

    Each run may repeat unfinished requests.
    """
    yield from expected.complaints({hit.url: hit for hit in killed.hits}.values())
    for run in killed.runs:
        yield from (line for line in expected.complaints(run) if line.startswith("requested"))


def rudeness(world, killed, slack):
    """Yield every impoliteness within a run, and requests before robots.txt in all runs."""
    for run, settings in zip(killed.runs, killed.settings, strict=True):
        yield from overlaps(run)
        yield from gaps(run, mercator(world, **polite(settings)), slack=slack)
    yield from robots_first(killed.hits)


def hurried(world, killed, **polite):
    """Yield the hosts contacted too soon after a restart, although the snapshot has their last
    answer.
    """
    rule = mercator(world, **POLITE | polite)
    for death, run in zip(killed.deaths, killed.runs[1:], strict=True):
        last = {hit.host: hit for hit in sorted(death.hits, key=lambda hit: hit.started)}
        first = {hit.host: hit for hit in sorted(run, key=lambda hit: -hit.started)}
        finished = death.snapshot.logged + death.snapshot.robots
        for host in last.keys() & first.keys():
            until = last[host].ended + rule(last[host])
            if last[host].url in finished and first[host].started < until:
                yield last[host], first[host]


def _pages(found):
    """Return the URLs in the log and in the archive, to compare crawls of two servers.

    They are without ports and without traps.
    """
    return [_comparable(urls) for urls in (found.logged, found.archived)]


def _comparable(urls):
    return {re.sub(r":\d+/", "/", url) for url in urls if trap_entrance(url) is None}
