"""What answers tell of hosts: that they speak only HTTP/2, and what their sitemaps list."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.frontiers import OK, add, drain, make
from tests.support.saving import prepared
from webcrawl.base.model import from_sitemap, is_sitemap
from webcrawl.crawl.hive.batch import Kind
from webcrawl.crawl.hive.batch_check import BatchCheck
from webcrawl.frontier.handover_records import merge_host, pack_host
from webcrawl.frontier.host_queues import MAX_LISTED, MIN_TRIED, MIN_TURNS, SitemapQuota
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.host_row import ALL, check


def learned(db):
    """A frontier that knows it of one of two hosts."""
    frontier = make(db)
    add(frontier, "https://a/1", "https://b/1")
    link = frontier.take(0)
    frontier.notes.http2(link.url[8:9], learned=True)
    frontier.done(link, OK, 0)
    return frontier, link.url[8:9]


def test_it_survives(db, tmp_path):
    """It is in the row of the host, which is sound; rows of other hosts have not changed."""
    frontier, name = learned(db)
    prepared(db)
    db.checkpoint()
    db.close()
    again = CrawlDB(tmp_path)
    rows = again.query("SELECT name, state, data, crc FROM host")
    frontier = make(again)

    assert {row[0]: check(row).http2 for row in rows} == {one: one == name for one in "ab"}
    assert {one: frontier.notes.http2(one) for one in "ab"} == {one: one == name for one in "ab"}
    again.close()


def test_an_answer_to_one_url_is_not_the_hosts(db):
    """Of a host that has given a page by HTTP/1.1 it counts for nothing that another URL is
    answered in frames.
    """
    frontier = make(db)
    add(frontier, "https://a/1")
    link = frontier.take(0)
    assert frontier.notes.http2("a", by_page=True)
    assert not frontier.notes.http2("a")
    assert frontier.notes.http2("b", learned=True, by_page=True)
    frontier.done(link, OK, 0)

    assert not frontier.notes.http2("a", by_page=True)
    assert not frontier.notes.http2("a", learned=True, by_page=True)
    assert frontier.notes.http2("a", learned=True)


def test_it_moves_with_the_host(db):
    """To another drone, which takes the record in; one of before says nothing of it."""
    frontier, name = learned(db)
    record = pack_host(frontier.core.hosts.get(name), 0.0)
    here = frontier.core.hosts.get("c")

    merge_host(here, record[:-1], 0.0)
    assert not here.http2
    merge_host(here, record, 0.0)
    assert here.http2
    assert BatchCheck(print).sound_items(Kind.SLOT, [[0, "host", name, record]], 1024) == [
        [0, "host", name, record]
    ]


def test_look_says_so(db):
    """Whoever looks at the host sees it."""
    frontier, name = learned(db)

    assert frontier.look.facts(name).is_http2
    assert not frontier.look.facts("ba"["ab".index(name)]).is_http2


MAP = "http://a.test/sitemap.xml"


def both(frontier, many=200):
    """So many URLs that pages link to, and as many of a sitemap."""
    frontier.notes.take_listed(MAP, 0)
    add(frontier, *(f"http://a.test/{n}" for n in range(many)), path="L")
    add(frontier, *(f"http://a.test/listed/{n}" for n in range(many)), path="ML")


def crawl(frontier, most, new):
    """The URLs that are requested, in order; `new` says which of them bring a new page."""
    requested = []
    now = 0.0
    for _ in range(most):
        link = frontier.take(now)
        requested.append(link.url)
        if new(link.url):
            frontier.domains.new_body(link)
        frontier.done(link, OK, now + OK.seconds)
        now += 10
    return requested


def listed(urls):
    return [url for url in urls if "listed" in url]


@pytest.mark.parametrize(
    ("path", "file", "named"),
    [
        ("M", True, True), ("LMM", True, True), ("MR", True, True), ("lmRM", True, True), ("ML", False, True),
        ("LmL", False, True), ("MRL", False, True), ("MLR", False, True), ("MLL", False, False), ("L", False, False),
        ("", False, False), ("R", False, False), ("MLP", False, False), ("MLE", False, False),
    ],
)  # fmt: skip
def test_which_links_are_such(path, file, named):
    """A sitemap, and what it names; not what that links to."""
    assert (is_sitemap(path), from_sitemap(path.encode())) == (file, named)


def test_the_same_share_of_the_turns_at_first(db):
    """And each in the order in which it was found."""
    frontier = make(db, levels=1)
    both(frontier)

    requested = crawl(frontier, 2 * MIN_TRIED, lambda _: True)

    # the first turn had no choice
    assert listed(requested) == [f"http://a.test/listed/{n}" for n in range(MIN_TRIED - 1)]
    assert [url for url in requested if "listed" not in url] == [
        f"http://a.test/{n}" for n in range(MIN_TRIED + 1)
    ]


@pytest.mark.parametrize("good", ["listed", "linked"])
def test_who_brings_more_new_pages_gets_more_turns(db, good):
    """The other one keeps a share."""
    frontier = make(db, levels=1)
    both(frontier)

    requested = crawl(frontier, 200, lambda url: ("listed" in url) == (good == "listed"))[100:]

    assert len(listed(requested)) / 100 == pytest.approx(
        1 - MIN_TURNS if good == "listed" else MIN_TURNS, abs=0.02
    )


def test_alone_each_has_all_turns(db):
    """No turn is lost when one of the two has no URLs left."""
    frontier = make(db, levels=1)
    both(frontier, 20)

    assert len(drain(frontier, 0.0)) == 40


def test_a_host_without_sitemaps_has_one_queue(db):
    """What another host's sitemap names is a link like others there."""
    frontier = make(db)
    add(frontier, "http://b.test/1", "http://b.test/2", path="ML")
    link = frontier.take(0.0)

    assert link is not None
    assert frontier.core.back.active["b.test"].ranked is None


def test_it_is_part_of_the_checkpoint(tmp_path):
    """Queue and numbers: the turns go on where they were, and the row is sound."""
    with closing(CrawlDB(tmp_path)) as db:
        frontier = make(db, levels=1)
        both(frontier)
        crawl(frontier, 75, lambda url: "listed" in url)
        before = frontier.core.back.active["a.test"].listed
        db.checkpoint()
        (row,) = db.query(f"{ALL} WHERE name = 'a.test'")
        assert check(row).listed == before.save()

    with closing(CrawlDB(tmp_path)) as db:
        again = make(db, levels=1)
        assert again.core.back.active["a.test"].listed == before
        assert len({link.url for _, link in drain(again, 1e4)}) == 325


def test_a_sitemap_brings_so_many_urls_and_no_more(db):
    """Then what is left is truncated, and further sitemaps of the host end without a request."""
    frontier = make(db)
    add(frontier, MAP, path="M")
    assert frontier.notes.take_listed(MAP, MAX_LISTED - 1) == MAX_LISTED - 1
    assert frontier.notes.take_listed(MAP, 2) == 1
    add(frontier, "http://a.test/page", path="L")

    assert [link.url for _, link in drain(frontier, 0.0)] == ["http://a.test/page"]
    assert frontier.counters["dropped/-5003"] == 1


def test_a_host_to_which_others_link_may_bring_more(db):
    """As many times as domains link to its own."""
    frontier = make(db)
    frontier.domains.hear_links()
    for source in "bcd":
        frontier.domains.heard(f"http://{source}.test/", [MAP])
    db.checkpoint()

    assert frontier.notes.take_listed(MAP, 4 * MAX_LISTED) == 3 * MAX_LISTED


def test_it_moves_with_its_host(db):
    """To another drone, unless that knows sitemaps of the host; a drone of before sends none."""
    frontier = make(db)
    frontier.notes.take_listed(MAP, 7)
    there, here = frontier.core.hosts.get("a.test"), frontier.core.hosts.get("b.test")
    record = pack_host(there, 0.0)

    merge_host(here, record[:-1], 0.0)
    assert here.listed is None
    merge_host(here, record, 0.0)
    assert here.listed == there.listed


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_nobody_starves(pages):
    """Whatever the pages are like, each kind has a turn among any 16."""
    one = SitemapQuota()
    turns = []
    for is_listed, new in pages:
        one.record_page(listed=is_listed, new=new)
        turns.append(one.has_turn())
        assert MIN_TURNS <= one.share() <= 1 - MIN_TURNS
        assert 0 <= one.credit < 1
    turns += [one.has_turn() for _ in range(16)]
    assert all(len({*turns[at : at + 16]}) == 2 for at in range(len(turns) - 15))
    assert SitemapQuota(*one.save()) == one
