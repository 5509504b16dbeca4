"""What a host's record knows of HTTP/2."""

from tests.support.frontiers import OK, add, make
from tests.support.saving import prepared
from webcrawl.crawl.hive.letter import Kind
from webcrawl.crawl.hive.letter_check import LetterCheck
from webcrawl.frontier.handover_records import merge_host, pack_host
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.host_row import check


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
    """Of a host that has given a page by HTTP/1.1 it counts for nothing that another URL is answered in frames."""
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
    assert LetterCheck(print).items(Kind.SLOT, [[0, "host", name, record]], 1024) == [[0, "host", name, record]]


def test_look_says_so(db):
    """Whoever looks at the host sees it."""
    frontier, name = learned(db)

    assert frontier.look.facts(name).is_http2
    assert not frontier.look.facts("ba"["ab".index(name)]).is_http2
