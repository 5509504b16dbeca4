"""`scrapy why` of a hive: whichever drone has a URL answers."""

from collections import Counter
from contextlib import closing

import pytest

from tests.support.hive_jobs import named
from tests.support.hives import Hive, drone_of, owners
from tests.support.jobs import stopped
from tests.support.tampering import tampered
from webcrawl.base.model import Exchange, Link, Outcome, Timings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.member import IDENTITY, Identity, keep_map
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.lab.simweb import even, truth
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.crawl_line import LOG, line
from webcrawl.store.jobdir.log_lines import LINKS_LOG, link_lines
from webcrawl.tools.why.answer import OpenedCrawls
from webcrawl.tools.why.opened_crawl import OpenedCrawl


def test_every_url_of_the_truth(simweb, redis, tmp_path):
    """Each URL that was fetched is known of by the drone that fetched it, and what nobody found by
    none.
    """
    web = simweb(
        20,
        200,
        mix={"subdomain": 0.5} | even(["redirect_elsewhere", "robots_disallow"], 0.5),
        size=(600, 900),
    )
    hive = Hive(tmp_path / "hive", web, redis.url).start_all()
    assert hive.wait() == [0, 0, 0]
    hits = {hit.url: drone_of(hit) for hit in hive.hits() if not hit.url.endswith("/robots.txt")}
    said = truth(web.world, web.world.seeds())
    strangers = [f"{url}never-linked" for url in web.world.seeds()]
    urls = sorted({*said.must, *said.excluded, *strangers})

    with OpenedCrawls(tmp_path / "hive") as crawls:
        answers = dict(zip(urls, crawls.answers(urls), strict=True))

    owner = owners()
    for url in said.must:
        details = answers[url].details
        assert (answers[url].state, details["drone"], details["owned"]) == (
            "fetched",
            hits[url],
            True,
        ), url
    for url, reason in said.excluded.items():
        assert (reason, answers[url].state) == ("robots.txt", "refused")
        assert answers[url].details["drone"] == owner(host_of(url))
    assert Counter(answers[url].state for url in strangers).keys() <= {"unknown", "refused"}
    assert all(answers[url].details["owned"] for url in strangers)
    with OpenedCrawls(tmp_path / "hive/drone-0") as crawls:
        alone = dict(zip(urls, crawls.answers(urls), strict=True))
    others = [url for url in urls if owner(host_of(url)) != 0]
    assert {alone[url].reason for url in others} == {
        f"it belongs to drone {drone} of this hive; ask with the folder of that drone"
        for drone in (1, 2)
    }
    assert not any("belongs to" in alone[url].reason for url in {*urls} - {*others})


@pytest.mark.parametrize(
    ("notes", "state", "drone"),
    [(["wall:anubis"], "queued", 1), (["wall:unknown"], "fetched", 0), ([], "fetched", 0)],
)
def test_a_url_behind_a_block_page_that_moved(tmp_path, notes, state, drone):
    """A block page that one drone got does not count while the URL waits at another, to which
    its host went.
    """
    asked, other = (
        stopped(tmp_path / f"drone-{number}", hosts=hosts) for number, hosts in enumerate("hi")
    )
    named(tmp_path, (0, 1))
    links = [row.split("\t")[2] for row in (other / LINKS_LOG).read_text().splitlines()]
    with OpenedCrawls(other) as crawls:
        url = next(
            one.url for one in crawls.answers([*dict.fromkeys(links)]) if one.state == "queued"
        )
    exchange = Exchange(url, b"", 403, b"", [], b"", b"", b"", "", 1.7e9, Timings())
    added = line(1.7e9, Link(url), Outcome(403, seconds=0.1), exchange, notes)
    with (asked / LOG).open("ab") as file:
        file.write(added)
    size = (asked / LOG).stat().st_size
    tampered(asked / "state/crawl.db", f"UPDATE output SET length = {size} WHERE path = '{LOG}'")

    with OpenedCrawls(tmp_path) as crawls:
        (answer,) = crawls.answers([url])
    assert (answer.state, answer.details["drone"]) == (state, drone)


def test_a_link_that_another_drone_has_logged(tmp_path):
    """A link that was not followed is told of, whichever drone has read its page."""
    url = "http://h0.test/picture.png"
    for number in range(2):
        stopped(tmp_path / f"drone-{number}", hosts="hi"[number])
    named(tmp_path, (0, 1))
    other = tmp_path / "drone-1"
    with (other / LINKS_LOG).open("ab") as file:
        file.write(link_lines("http://i0.test/", [("img", url, url, "")]))
    size = (other / LINKS_LOG).stat().st_size
    tampered(
        other / "state/crawl.db", f"UPDATE output SET length = {size} WHERE path = '{LINKS_LOG}'"
    )

    with OpenedCrawls(tmp_path) as crawls:
        (answer,) = crawls.answers([url])
    assert answer.reason == (
        "http://i0.test/ links to it, but that link (of the kind img, see LINK_SOURCES) was not followed"
    )


def test_a_drone_alone(tmp_path):
    """Asked alone, a drone does not say that no link leads to its URL: others have logs, too."""
    job = stopped(tmp_path / "drone-0")
    with closing(CrawlDB(job / "state")) as db:
        db.set(IDENTITY, Identity("0", "web", 0, 1).pack())
        keep_map(db, SlotMap.fair((0, 1)))
        db.checkpoint()

    with OpenedCrawl(job) as source:
        names = (f"http://{number}.test/" for number in range(99))
        url = next(url for url in names if source.owner(url) == 0)
    with OpenedCrawls(job) as crawls:
        (answer,) = crawls.answers([url])
    assert answer.reason == "the crawl has not found a link to it that it could follow"


def test_a_drone_that_is_not_here(tmp_path):
    """Every answer says so: that drone may know more."""
    stopped(tmp_path / "drone-0")
    named(tmp_path, (0, 1))

    with OpenedCrawls(tmp_path) as crawls:
        (answer,) = crawls.answers(["http://nobody.test/"])
    assert answer.details["odd"] == [f"{tmp_path}/drone-1: this drone's folder is missing"]
    assert answer.reason == "the crawl has not found a link to it that it could follow"
