"""Whole crawls of a synthetic web in which things break for a time, and what became of the URLs."""

from dataclasses import dataclass

from tests.support.crawling import PATIENCE, Crawl
from webcrawl.lab.simweb import Hit, truth, wait_until_idle
from webcrawl.lab.simweb.host_kinds import is_robots

RULES = {"PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16,::1/128"}


@dataclass(frozen=True)
class Aftermath:
    """What is known after a crawl."""

    status: int  # the exit status
    hits: list[Hit]
    lost: set[str]  # URLs that were owed and never got an answer that no outage had a hand in
    # what a crawl without outages would be blamed for: URLs fetched twice, foreign ones
    complaints: list[str]


def crawl_of(server, folder, *, seeds=(), arguments=None, **settings):
    """A crawl of these seeds of a server's world, by default of all. It knows all name servers."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = [*seeds] or [*server.world.seeds()]
    (folder / "seeds.txt").write_text("".join(f"{url}\n" for url in seeds))
    settings = {"DNS_NAMESERVERS": server.nameservers, **RULES, **settings}
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt", **(arguments or {})}, settings)


def crawl_through(server, crawl, happenings=lambda: None, *, seconds=PATIENCE, **known):
    """Runs the crawl, and meanwhile `happenings`, which begins and ends outages.

    `known` goes to `truth`.
    """
    running = crawl.start()
    try:
        happenings()
        status = running.wait(seconds)
    finally:
        if running.process.is_alive():
            running.kill()
    return aftermath(server, crawl, status, **known)


def aftermath(server, crawl, status=0, **known):
    """Compares all requests so far with the truth."""
    wait_until_idle(server)
    seeds = crawl.arguments["seeds"].read_text().split()
    hits, owed = list(server.log.hits), truth(server.world, seeds, **known)
    good = [hit for hit in hits if not hit.outage]
    answered = {hit.url for hit in good if hit.outcome == "sent" or hit.url in owed.retried}
    complaints = [
        line
        for line in owed.complaints(without_late(good, owed))
        if not line.startswith("not requested")
    ]
    return Aftermath(status, hits, owed.must - answered, complaints)


def without_late(hits, expected, late=()):
    """All requests but those of sound pages that the crawl has left and made again: this machine
    was slow.

    `late`: URLs that it has left, as it knows itself; a busy server may have answered all the same.
    """
    last = {hit.url: hit for hit in hits}
    return [
        hit
        for hit in hits
        if (hit.outcome != "left" and hit.url not in late)
        or hit.url in expected.retried
        or hit is last[hit.url]
    ]


def pages(hits, since=0.0, until=float("inf")):
    """Pages, robots.txt not counted, that were requested in that time and answered as ever."""
    return [
        hit
        for hit in hits
        if since <= hit.started < until
        and hit.outcome == "sent"
        and not hit.outage
        and not is_robots(hit.path)
    ]


def back_after(hits, outage, host=None):
    """Seconds from the end of an outage to the first page, of this host or of any; infinite if none
    came.
    """
    times = [hit.started for hit in pages(hits, outage.ended) if host in (None, hit.host)]
    return min(times, default=float("inf")) - outage.ended


def rate(hits, since, seconds):
    """Pages per second in that time."""
    return len(pages(hits, since, since + seconds)) / seconds
