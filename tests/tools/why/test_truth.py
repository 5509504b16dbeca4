"""`scrapy why` of crawls of the synthetic web: each answer is what the truth and the server's log
say.
"""

from collections import Counter

import pytest

from tests.support.crawling import Crawl, wait_until
from tests.support.jobs import tree
from webcrawl.lab.simweb import even, truth, wait_until_idle
from webcrawl.tools.why.answer import OpenedCrawls

pytestmark = pytest.mark.xdist_group("why truth")  # one crawl for all tests of it

SIZE = (600, 900)
ROBOTS = [
    "robots_disallow",
    "robots_wildcard",
    "robots_longest",
    "robots_merged",
    "robots_crlf",
    "robots_gzip",
    "robots_503",
]
PAGES = [
    *(
        "redirect_301",
        "redirect_chain",
        "redirect_endless",
        "redirect_elsewhere",
        "status_404",
        "status_500",
    ),
    *("status_503", "duplicate", "source_img", "closed", "short_head", "nul"),
]
MIX = (
    even(PAGES, 0.5)
    | even(ROBOTS, 0.5)
    | even(["dns_nxdomain", "dns_outside"], 0.2)
    | {"subdomain": 0.2}
)
FILTERED = r"/x/nul/|/shop/"
SETTINGS = {
    "URL_EXCLUDE": FILTERED,
    "OUTPUTS": "warc,cdxj,links",
    "LINK_SOURCES": "a,area,frame,iframe,refresh,canonical",
    "CHECKPOINT_INTERVAL": 0.5,
    "RETRY_TIMES": 0,
    "HOST_PATIENCE": 0,
}


def crawl(root, server, seeds):
    (root / "seeds.txt").write_text("\n".join(seeds))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    return Crawl(root / "job", {"seeds": root / "seeds.txt", "scope": "seeds"}, settings)


def world(simweb):
    """A server, and the seeds of half of its hosts, so that links lead outside."""
    server = simweb(60, 900, mix=MIX, size=SIZE, slow=0.01)
    return server, [f"{server.world.origin(host)}/" for host in range(0, 60, 2)]


def expected(server, seeds):
    """What the truth says of each URL, and how often the server was asked for it."""
    wait_until_idle(server)
    requested = Counter(hit.url for hit in server.log.hits)
    said = truth(
        server.world,
        seeds,
        "seeds",
        wanted=lambda url: "/x/nul/" not in url and "/shop/" not in url,
    )
    return said, requested


def answered(root, urls):
    """An answer for each URL; asking changes nothing."""
    before = tree(root / "job")
    with OpenedCrawls(root / "job") as crawls:
        answers = dict(zip(urls, crawls.answers(urls), strict=True))
    assert tree(root / "job") == before
    return answers


def logged(root):
    """The last status of each URL in crawl.log."""
    lines = (line.split() for line in (root / "job/logs/crawl.log").read_text().splitlines())
    return {fields[3]: int(fields[1]) for fields in lines}


def linked(root):
    return {line.split("\t")[2] for line in (root / "job/logs/links.log").read_text().splitlines()}


@pytest.mark.campaign
def test_a_finished_crawl(simweb, tmp_path):
    """Every URL of the truth has its state and its reason: fetched, dead, forbidden, filtered,
    outside, never found.
    """
    server, seeds = world(simweb)
    assert crawl(tmp_path, server, seeds).run() == 0

    said, requested = expected(server, seeds)
    strangers = [f"{url}never-linked" for url in seeds if not said.never(url)]
    urls = sorted({*said.must, *said.may, *said.excluded, *strangers})
    answers, log = answered(tmp_path, urls), logged(tmp_path)

    assert len(urls) > 1000
    for url in said.must:
        right = "fetched" if log[url] > 0 else "dropped"
        assert (answers[url].state, requested[url] > 0) == (right, True), url
        number = answers[url].kind.split()[1].rstrip(":")
        assert number == str(log[url]), url
    for url in said.must:
        answer = answers[url]
        if answer.state == "fetched" and log[url] > 0:
            assert answer.details["archive"][-1]["status"] == log[url], url
    wrong = [
        (reason, url, answers[url].state, answers[url].kind)
        for url, reason in said.excluded.items()
        if answers[url].state != right_state(reason, url, log)
    ]
    assert wrong == []
    kinds = Counter((said.excluded[url], answers[url].kind.split(":")[0]) for url in said.excluded)
    assert kinds["robots.txt", "robots.txt"] > 5
    assert kinds["filtered", "filter expression"] > 5
    assert kinds["out of scope", "filter scope"] > 5
    assert kinds["host unreachable", "status -1"] > 0
    lines = [
        answers[url].details["robots"]
        for url in said.excluded
        if said.excluded[url] == "robots.txt"
    ]
    assert (
        sum(
            robots["line"] is not None and robots["rule"].startswith("Disallow: ")
            for robots in lines
        )
        > 5
    )
    assert {answers[url].state for url in strangers} <= {"unknown", "refused"}
    assert "unknown" in {answers[url].state for url in strangers}


def right_state(reason, url, log):
    """What `why` has to say of a URL that is not to be fetched."""
    if reason == "host unreachable":
        return "refused" if log.get(url) == -5001 else "dropped"
    if reason == "too many redirects":
        return "unknown"
    return "refused"


def test_a_crawl_that_was_stopped(simweb, tmp_path):
    """In the middle of a crawl, what was fetched is fetched, what was found waits, and the rest is
    not known yet.
    """
    server, seeds = world(simweb)
    running = crawl(tmp_path, server, seeds).start()
    wait_until(lambda: len(server.log.hits) > 250)
    running.interrupt()
    assert running.wait() == 0

    said, requested = expected(server, seeds)
    urls = sorted({*said.must, *said.excluded})
    answers, log, links = answered(tmp_path, urls), logged(tmp_path), linked(tmp_path)

    states = Counter(answers[url].state for url in said.must)
    assert min(states["fetched"], states["queued"], states["unknown"]) > 5
    for url in said.must:
        state = answers[url].state
        if url in log:
            assert state == ("fetched" if log[url] > 0 else "dropped"), url
        elif url in links or url in seeds:
            assert state in ("queued", "seen"), url
        else:
            assert state == "unknown", url
        if state == "queued" and answers[url].details["queue"]["where"] == "host":
            assert requested[url] <= 1
    for url, reason in said.excluded.items():
        if reason in ("filtered", "out of scope"):
            assert answers[url].state == "refused", url
