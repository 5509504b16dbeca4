"""Crawls that fetch pages again, on a web whose pages change, as the server sees them."""

from collections import Counter, defaultdict

import pytest

from tests.support.changing import DAY, crawl_of, run_until
from tests.support.examples import in_campaign
from tests.support.warc_reader import read
from webcrawl.lab.simweb import even
from webcrawl.lab.simweb.changing_pages import GONE, moved_path
from webcrawl.lab.simweb.mix import ODD
from webcrawl.tools.verify_crawl import verify

SIZE = (2000, 2500)
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
# how odd servers answer when their pages are fetched again; the first one never sends a page
ANSWERS = {
    "odd_304_conditional": {304},
    "odd_304_body": {200, 304},
    "odd_ignores": {200},
    "odd_etag_fresh": {200},
    "odd_etag_only": {200, 304},
    "odd_future": {200, 304},
    "odd_years": {200, 304},
}


def profiles(jobdir):
    """The profiles of all answers in the archive, by URL: None for one that is whole."""
    found = defaultdict(list)
    for path in sorted((jobdir / "warc").glob("*.warc.gz")):
        for record in read(path):
            if record.kind in ("response", "revisit"):
                found[record.fields["WARC-Target-URI"]].append(record.fields.get("WARC-Profile"))
    return found


def wanted(hits):
    """The profiles that these answers are to have: a page that is as it was when it was sent last
    is a revisit.
    """
    copy = None
    for hit in hits:
        yield NOT_MODIFIED if hit.status == 304 else IDENTICAL if hit.edition == copy else None
        copy = hit.edition or copy


@pytest.mark.parametrize(
    "policy", [*in_campaign("fixed", "uniform"), "optimal", *in_campaign("history")]
)
def test_changed_pages_are_fetched_again(simweb, tmp_path, policy):
    """Every page is requested again, politely; what has changed comes anew, and the rest is not
    modified.
    """
    mix = {
        "change_poisson": 0.5,
        "change_never": 0.5,
        "validator_strong": 0.5,
        "validator_modified": 0.5,
    }
    server = simweb(8, 60, mix=mix, size=SIZE, changes=0.5, time_scale=DAY)
    crawl = crawl_of(server, tmp_path, REVISIT_POLICY=policy, REVISIT_RATE=50)

    def enough(found):
        again = Counter(hit.status for hits in found.pages.values() for hit in hits[1:])
        visited = sum(len(hits) > 1 for hits in found.pages.values())
        seen = len(found.pages) == 60 and visited >= (60 if policy == "fixed" else 40)
        return seen and again[304] > 10 < again[200]

    status, found = run_until(crawl, server, enough)

    assert status == 0
    assert found.rude + found.without_robots == []
    assert len(found.pages) == 60
    archived = profiles(crawl.jobdir)
    for url, hits in found.pages.items():
        assert not hits[0].conditional, url
        assert {hit.status for hit in hits[1:]} <= {200, 304}, url
        if server.world.kind("validator", found.place(url)[0]) == "validator_strong":
            sent = [
                hit.edition
                for hit in hits
                if hit.status == 200 and (hit is hits[0] or hit.conditional)
            ]
            # without a condition it comes in any case: one in CHECK is a check
            assert len({*sent}) == len(sent), url
        assert archived[url] == [*wanted(hits)], url
    assert [*verify(crawl.jobdir, Counter())] == []


def test_without_validators_the_digest_tells(simweb, tmp_path):
    """A page that is sent again unchanged is archived as a revisit by its digest."""
    server = simweb(4, 20, mix={"change_never": 1.0}, size=SIZE, time_scale=DAY)
    crawl = crawl_of(server, tmp_path)

    def enough(found):
        return len(found.pages) == 20 and min(map(len, found.pages.values())) > 1

    status, found = run_until(crawl, server, enough)

    assert status == 0
    archived = profiles(crawl.jobdir)
    for url, hits in found.pages.items():
        assert not any(hit.conditional for hit in hits)
        assert archived[url] == [None] + [IDENTICAL] * (len(hits) - 1)


def test_pages_that_are_gone(simweb, tmp_path):
    """A page that is gone is requested a few times at growing intervals, while others have their
    turns as ever.
    """
    mix = {
        "change_gone_404": 0.3,
        "change_gone_410": 0.3,
        "change_never": 0.4,
        "validator_strong": 1.0,
    }
    server = simweb(6, 60, mix=mix, size=SIZE, time_scale=10 * DAY)
    crawl = crawl_of(server, tmp_path, REVISIT_AGE=0.3)

    def told(found):
        return Counter(
            url for url, hits in found.pages.items() for hit in hits if hit.edition == GONE
        )

    def enough(found):
        staying = [
            len(hits) for url, hits in found.pages.items() if found.kind(url) == "change_never"
        ]
        return len(told(found)) > 10 and min(staying) > 5

    status, found = run_until(crawl, server, enough)

    assert status == 0
    assert found.rude + found.without_robots == []
    assert max(told(found).values()) <= 2
    assert [*verify(crawl.jobdir, Counter())] == []


def test_pages_that_move(simweb, tmp_path):
    """A page that has moved for good is fetched again where it is now, and no more where it was."""
    server = simweb(
        4, 40, mix={"change_moves": 1.0, "validator_strong": 1.0}, size=SIZE, time_scale=6 * DAY
    )
    crawl = crawl_of(server, tmp_path, REVISIT_AGE=0.5)

    def again(found):
        return [url for url in found.pages if len(found.pages.get(moved_path(url), ())) > 2]

    status, found = run_until(crawl, server, lambda found: len(again(found)) > 10)

    assert status == 0
    assert found.rude + found.without_robots == []
    for url in again(found):
        assert found.pages[url][-1].status == 301
        assert [hit.status for hit in found.pages[url]].count(301) == 1
        assert {hit.status for hit in found.pages[moved_path(url)]} <= {200, 304}


@pytest.mark.campaign
def test_odd_servers(simweb, tmp_path):
    """Servers that are wrong about validators in all ways get their pages fetched again at the pace
    of all others.

    Only where never a page came but 304, the tries of a truncated page follow upon each other.
    """
    server = simweb(
        40, 120, mix=even(ODD) | {"change_poisson": 1.0}, size=SIZE, changes=0.5, time_scale=DAY
    )
    crawl = crawl_of(server, tmp_path)

    def answers(found):
        sent = defaultdict(set)
        for url, hits in found.pages.items():
            sent[server.world.kind("odd", found.place(url)[0])].update(
                hit.status for hit in hits[1:]
            )
        return sent

    def enough(found):
        return all(answers(found)[kind] >= statuses for kind, statuses in ANSWERS.items())

    status, found = run_until(crawl, server, enough)

    assert status == 0
    assert found.rude + found.without_robots == []
    assert answers(found).pop("odd_304_always", set()) <= {304}
    assert {kind: answers(found)[kind] for kind in ANSWERS} == ANSWERS
    pages = [
        url
        for url in found.pages
        if server.world.kind("odd", found.place(url)[0]) != "odd_304_always"
    ]
    assert min(min(found.waits(url), default=1) for url in pages) > 0.5
    assert [*verify(crawl.jobdir, Counter())] == []
