"""Crawls that fetch pages again, on a web whose pages change, as the server sees them."""

from collections import Counter, defaultdict

import pytest

from tests.support.changing import DAY, SECOND, crawl_of, seen
from tests.support.warc_reader import read
from webcrawl.simweb import even
from webcrawl.simweb.living import ODD
from webcrawl.simweb.living.living import GONE, moved, original
from webcrawl.verify.whole import verify

SIZE = (2000, 2500)
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def records(jobdir):
    """All records of the archive, by URL."""
    found = defaultdict(list)
    for path in sorted((jobdir / "warc").glob("*.warc.gz")):
        for record in read(path):
            if record.kind in ("response", "revisit"):
                found[record.fields["WARC-Target-URI"]].append(record)
    return found


def profile(before, hit):
    """What the record of an answer has to be: a revisit if the page is as it was when it was sent last."""
    if hit.status == 304:
        return NOT_MODIFIED
    return IDENTICAL if before is not None and before == hit.edition else None


def editions(hits):
    """Of each answer, the edition that the crawl had before, and the answer."""
    copy = None
    for hit in hits:
        yield copy, hit
        copy = hit.edition or copy


@pytest.mark.parametrize("policy", ["fixed", "uniform", "optimal", "history"])
def test_changed_pages_are_fetched_again(simweb, tmp_path, policy):
    """Every page is asked for again, politely; what has changed comes anew, and the rest is not modified."""
    mix = {"change_poisson": 0.5, "change_never": 0.5, "validator_strong": 0.5, "validator_modified": 0.5}
    server = simweb(8, 60, mix=mix, size=SIZE, changes=0.5, time_scale=DAY)
    crawl = crawl_of(server, tmp_path, REVISIT_POLICY=policy, REVISIT_RATE=50, CLOSESPIDER_TIMEOUT=5)

    status = crawl.run()

    found = seen(server)
    pages = found.pages
    assert status == 0
    assert found.rude + found.without_robots == []
    assert len(pages) == 60
    assert [url for url, hits in pages.items() if len(hits) < 2 and found.kind(url) == "change_poisson"] == []
    for url, (first, *again) in pages.items():
        assert not first.conditional, url
        assert {hit.status for hit in again} <= {200, 304}, url
        if server.world.kind("validator", found.place(url)[0]) == "validator_strong":
            assert {hit.edition for hit in again if hit.status == 200} & {first.edition} == set(), url
    statuses = Counter(hit.status for hits in pages.values() for hit in hits[1:])
    assert statuses[304] > 10 < statuses[200]
    assert [*verify(crawl.jobdir, Counter())] == []
    archived = records(crawl.jobdir)
    for url, hits in pages.items():
        profiles = [record.fields.get("WARC-Profile") for record in archived[url]]
        assert profiles == [profile(before, hit) for before, hit in editions(hits)], url


def test_without_validators_the_digest_tells(simweb, tmp_path):
    """A page that is sent again unchanged is archived as a revisit by its digest."""
    server = simweb(4, 20, mix={"change_never": 1.0}, size=SIZE, time_scale=DAY)
    crawl = crawl_of(server, tmp_path, CLOSESPIDER_TIMEOUT=3)

    status = crawl.run()

    assert status == 0
    archived = records(crawl.jobdir)
    for url, hits in seen(server).pages.items():
        assert len(hits) > 1
        assert not any(hit.conditional for hit in hits)
        assert [record.fields.get("WARC-Profile") for record in archived[url]] == [None] + [IDENTICAL] * (len(hits) - 1)


def test_pages_that_are_gone(simweb, tmp_path):
    """A page that is gone is asked for less often than those that are there, and then no more."""
    mix = {"change_gone_404": 0.3, "change_gone_410": 0.3, "change_never": 0.4, "validator_strong": 1.0}
    server = simweb(6, 60, mix=mix, size=SIZE, time_scale=10 * DAY)
    crawl = crawl_of(server, tmp_path, REVISIT_AGE=0.3, CLOSESPIDER_TIMEOUT=5)

    status = crawl.run()

    found = seen(server)
    gone = {url: sum(hit.edition == GONE for hit in hits) for url, hits in found.pages.items()}
    assert status == 0
    assert found.rude + found.without_robots == []
    assert sum(count > 0 for count in gone.values()) > 10
    assert max(gone.values()) <= 5
    assert [*verify(crawl.jobdir, Counter())] == []


def test_pages_that_move(simweb, tmp_path):
    """A page that has moved for good is fetched again where it is now, and no more where it was."""
    server = simweb(4, 40, mix={"change_moves": 1.0, "validator_strong": 1.0}, size=SIZE, time_scale=6 * DAY)
    crawl = crawl_of(server, tmp_path, REVISIT_AGE=0.5, CLOSESPIDER_TIMEOUT=5)

    status = crawl.run()

    found = seen(server)
    pages = found.pages
    told = {url: [hit for hit in hits if hit.status == 301] for url, hits in pages.items() if original(url) == url}
    assert status == 0
    assert found.rude + found.without_robots == []
    assert max(map(len, told.values())) == 1
    old = [url for url, hits in told.items() if hits and hits[0].wall < found.end - 3 * SECOND - 1]
    assert len(old) > 10
    assert [url for url in old if len(pages.get(moved(url), ())) < 2] == []


def test_odd_servers(simweb, tmp_path):
    """Servers that are wrong about validators in all ways get their pages fetched again at the same pace."""
    mix = even(ODD) | {"change_poisson": 1.0}
    server = simweb(40, 120, mix=mix, size=SIZE, changes=0.5, time_scale=DAY)
    crawl = crawl_of(server, tmp_path, CLOSESPIDER_TIMEOUT=5)

    status = crawl.run()

    found = seen(server)
    pages, world = found.pages, server.world
    by_kind = defaultdict(list)
    for url, hits in pages.items():
        by_kind[world.kind("odd", world.locate(url)[0])] += hits[1:]
    assert status == 0
    assert found.rude + found.without_robots == []
    assert by_kind.keys() == {*ODD}
    assert [*verify(crawl.jobdir, Counter())] == []
    sent = {kind: Counter(hit.status for hit in hits) for kind, hits in by_kind.items()}
    assert sent.pop("odd_304_always").keys() <= {304}
    assert sent["odd_304_conditional"].keys() == {304}
    for kind in ("odd_ignores", "odd_etag_fresh"):
        assert sent[kind].keys() == {200}, kind
    for kind in ("odd_304_body", "odd_etag_only", "odd_future", "odd_years"):
        assert sent[kind].keys() == {200, 304}, kind
    assert min(counts.total() for counts in sent.values()) > 0
    for url, waits in ((url, found.waits(url)) for url in pages):
        assert min(waits, default=1) > 0.3, url
