"""Items of batches are checked one by one."""

from collections import Counter
from dataclasses import replace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link, unpack
from webcrawl.crawl.hive.batch import LINK_KINDS, MAX_ITEMS_BYTES, Kind
from webcrawl.crawl.hive.batch_check import BatchCheck
from webcrawl.frontier.handover_records import pack_host
from webcrawl.frontier.health import MET_BLOCK_PAGE
from webcrawl.frontier.host_queues import SitemapQuota
from webcrawl.frontier.hosts import Host
from webcrawl.store.jobdir.host_row import FAILED, BlockPageRow, FailedRow
from webcrawl.urls.canonical import canonical_links

SLOTS = 1024
LINK = Link("http://a.test/1", "LL", "http://b.test/", "http://c.test/").pack()
ASKED = Link("http://a.test/1", request="good").pack()
FORGED = Link("http://a.test/1", request="bad").pack()
ROBOTS = Link("http://a.test/robots.txt", "P", history="http://b.test").pack()
HOST = ["a.test", 0.5, [0.1, 0.2], 0.0, 1, [1.0, 2.0, -2, 0, True, -1, 0.0, 0.0], 3, 0, "192.0.2.1"]
NEW = [*HOST, None, b"", False]  # and what its sitemaps brought
LISTED = SitemapQuota(7, credit=0.5, tried=[1, 2]).save()
BLOCK_PAGES = ["anubis", 3.5, 2, [LINK]]
SHOWN = b"\0" * 15
DOMAIN = [False, 3, 1, 0, b"\0" * 8]
SOUND = {
    Kind.LINKS: [
        LINK,
        ASKED,
        Link("gopher://[::1]:70/1").pack(),
        Link("http://a.test/\xe4", history="r=AA").pack(),
    ],
    Kind.QUEUED: [LINK, ASKED, ROBOTS],
    Kind.VOTES: [["a.test", "http://b.test/"], ["a.test", "http://b.test/\ud800"]],
    Kind.REQUESTS: [[ASKED, ["", "v"], True], [LINK, [], False]],
    Kind.ROBOTS: [
        [ROBOTS, 200, b"User-agent: *", "http://c.test/", "1f"],
        [ROBOTS, -4, b"", "", ""],
    ],
    Kind.SLOT: [
        *(
            [0, "urls", "a.test", [LINK, ASKED]],
            [0, "held", "a.test", [LINK]],
            [0, "keys", "", b"\0" * 16],
        ),
        *(
            [0, "later", "a.test", [[True, -3.5, LINK], [False, -1.0, LINK]]],
            [1023, "end", "", [1, 2, 0, 512]],
        ),
        *(
            [0, "host", "a.test", HOST],
            [0, "host", "a.test", [*HOST[:5], None, *HOST[6:]]],
            [0, "domain", "", DOMAIN],
        ),
        *(
            [0, "host", "a.test", [*HOST, BLOCK_PAGES, b""]],
            [0, "host", "a.test", [*HOST, None, SHOWN]],
        ),
        [0, "host", "a.test", [*NEW, LISTED]],
        [0, "host", "a.test", [*HOST, None, b"", True]],
    ],
}
UNSOUND = {
    Kind.LINKS: [
        *(
            b"",
            b"http://a.test/",
            b"http://a.test/  ",
            LINK + b" ",
            b"\xff" + LINK,
            "text",
            7,
            [b" "] * 7,
            None,
        ),
        *(
            FORGED,
            b"http://a.test/\xff    0   ",
            b"http://a.test/    x   ",
            b"http://a.test/    1.x   ",
        ),
        *(b"http://a.test/ L1   0   ", b"http:///etc/    0   ", b"http://me@a.test/    0   "),
        *(b"file:///etc/passwd    0   ", b"file://x/etc/passwd    0   ", b"data://x/,y    0   "),
        *(b"http://a.test/\r\n    0   ", b"http://a.test:port/    0   "),
    ],
    Kind.VOTES: [
        ["a.test"],
        ["a.test", "no url"],
        ["a.test", 7],
        "ab",
        {"a": 1, "http://b.test/": 2},
        None,
    ],
    Kind.REQUESTS: [
        [FORGED, [""], True],
        [ASKED, "v", True],
        [ASKED, [""], 1],
        [ASKED, [1], True],
        [ASKED],
        7,
    ],
    Kind.ROBOTS: [
        [LINK, 200, b"", "", ""],
        [ROBOTS, "200", b"", "", ""],
        [ROBOTS, 200, "", "", ""],
        [ROBOTS, 10**9],
        [],
    ],
    Kind.SLOT: [
        *(
            [SLOTS, "end", "", [1, 2, 3, 4]],
            [-1, "end", "", [1, 2, 3, 4]],
            ["0", "end", "", [1, 2, 3, 4]],
            [0, "end"],
        ),
        *(
            [0, "other", "", 1],
            [0, "end", "", [1, 2, 3]],
            [0, "keys", "", b"\0" * 7],
            [0, "urls", "a.test", LINK],
        ),
        *(
            [0, "host", "a.test", HOST[1:]],
            [0, "host", "a.test", [*HOST[:2], 7, *HOST[3:]]],
            [0, "domain", "", [1]],
        ),
        *([0, "host", "a.test", [*HOST, BLOCK_PAGES]], [0, "host", "a.test", [*HOST, None, b"x"]]),
        *(
            [0, "host", "a.test", [*HOST, [*BLOCK_PAGES[:3], [FORGED]], b""]],
            [0, "host", "a.test", [*HOST, ["x"], b""]],
        ),
        [0, "host", "b.test", ["b.test", *HOST[1:], BLOCK_PAGES, b""]],
        *(
            [0, "host", "a.test", [*NEW, []]],
            [0, "host", "a.test", [*NEW, [-1, *LISTED[1:]]]],
        ),
        *(
            [0, "host", "a.test", [*NEW, [*LISTED[:4], pair]]]
            for pair in ([1], [1, "2"], [-1, 2], None)
        ),
        [0, "host", "a.test", [*HOST, None, b"", 1]],
        [0, "host", "a.test", [*NEW, [7, False, 1e9, [0, 0], [0, 0]]]],
        *(
            [0, "host", "a.test", [*HOST[:5], [1.0], *HOST[6:]]],
            [0, [], "", 1],
            {0: 1, "end": 2, "": 3, "x": 4},
        ),
    ],
}
UNSOUND[Kind.QUEUED] = UNSOUND[Kind.LINKS]
names = st.text() | st.binary()
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | names
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=9
)


def check(link):
    """A closed form with one good request."""
    if link.request not in ("", "good"):
        raise ValueError(f"no good request: {link.request}")


@pytest.mark.parametrize("kind", Kind)
def test_what_drones_send(kind):
    """All that a drone writes is taken in as it is."""
    sound = BatchCheck(check)
    assert sound.sound_items(kind, [*SOUND[kind]], SLOTS) == SOUND[kind]
    assert sound.refused == 0


def test_a_host_of_which_everything_is_known():
    """The record that a drone packs is taken in by the next one, whatever a host's record has by
    now.
    """
    host = Host(
        "a.test", None, ready_at=7.0, times=[0.1], failures=3, pages=4, ip="192.0.2.1", http2=True
    )
    host.failed = FailedRow(
        1.0, 2.0, -2, 5, gone=True, origin=6, planned=7.0, retry_after=8.0, errors_in_a_row=(9, -10)
    )
    host.block_pages, host.missing, host.listed = (
        BlockPageRow("anubis", 3.5, 2, (LINK,)),
        SHOWN,
        SitemapQuota(7),
    )
    assert len(host.failed) == len(FAILED) == len(FailedRow._fields)
    (record,) = msgpack.unpackb(msgpack.packb([pack_host(host, 5.0)]))
    sound, piece = BatchCheck(check), [0, "host", "a.test", record]

    assert sound.sound_items(Kind.SLOT, [piece], SLOTS) == [piece]
    assert (
        sound.sound_items(
            Kind.SLOT, [[0, "host", "a.test", [*HOST[:5], [*HOST[5], ["x"]], *HOST[6:]]]], SLOTS
        )
        == []
    )


def test_urls_that_have_met_a_block_page():
    """URLs that got a block page, and the record of their host, are taken in as they are."""
    met = replace(unpack(LINK), struck=MET_BLOCK_PAGE).pack()
    blocked = [*HOST, ["anubis", 3.5, 2, [met]], b""]
    pieces = [
        [0, "urls", "a.test", [met]],
        [0, "later", "a.test", [[True, 1.0, met]]],
        [0, "host", "a.test", blocked],
    ]

    assert BatchCheck().sound_items(Kind.SLOT, pieces, SLOTS) == pieces
    assert BatchCheck().sound_items(Kind.QUEUED, [met], SLOTS) == [met]


def test_whatever_host_a_crawl_takes():
    """Every URL that a crawl queues may go to another drone, however odd its host is."""
    addresses = [f"http://a{character}b.test/" for character in map(chr, range(128))]
    links = [
        Link(url).pack()
        for url in canonical_links("", addresses, Counter()).values()
        if url is not None
    ]

    assert b"http://a{b.test/    0   " in links
    assert BatchCheck().sound_items(Kind.LINKS, links, SLOTS) == links


@pytest.mark.parametrize("kind", Kind)
def test_a_bad_item_loses_no_other(kind):
    """Each item that is not of the closed form is left out and counted, and those beside it are
    taken in.
    """
    good = SOUND[kind][0]
    for item in UNSOUND[kind]:
        sound = BatchCheck(check)
        assert sound.sound_items(kind, [good, item, good], SLOTS) == [good, good], item
        assert sound.refused == 1


def test_a_bad_link_in_a_piece_of_a_slot():
    """A piece of a slot loses only the URLs that are none."""
    sound = BatchCheck(check)
    pieces = [
        [1, "urls", "a.test", [LINK, FORGED, b"x"]],
        [1, "later", "a.test", [[True, 1.0, FORGED], [True, 1.0, LINK]]],
    ]

    assert sound.sound_items(Kind.SLOT, pieces, SLOTS) == [
        [1, "urls", "a.test", [LINK]],
        [1, "later", "a.test", [[True, 1.0, LINK]]],
    ]
    assert sound.refused == 3


def test_it_is_told_once(caplog):
    """The first one has a line, which says why; all are counted."""
    sound = BatchCheck(check)
    sound.sound_items(Kind.LINKS, [FORGED, b"x", FORGED], SLOTS)

    (line,) = caplog.messages
    assert line.startswith("an item from the hive's server was refused: no good request: bad (")
    assert line.endswith("); further ones are counted, but not logged")
    assert sound.refused == 3


@given(st.sampled_from(Kind), st.lists(values, max_size=3))
def test_any_items(kind, items):
    """Whatever the items are, those that are taken in can be packed, and nothing is raised."""
    msgpack.packb(BatchCheck(check).sound_items(kind, items, SLOTS), unicode_errors="surrogatepass")


@given(
    st.sampled_from(sorted(LINK_KINDS)),
    st.binary(max_size=40) | st.text(max_size=9).map(str.encode),
)
def test_a_link_with_other_bytes_must_unpack(kind, more):
    """A link with other bytes in it is taken in only if it can be unpacked."""
    for record in (
        LINK + more,
        more + LINK,
        LINK[:9] + more + LINK[9:],
        LINK[:40] + more + LINK[40:],
    ):
        for one in BatchCheck(check).sound_items(kind, [record], SLOTS):
            unpack(one)


def test_what_may_leave():
    """A request that other drones refuse stays here, and is told; a robots.txt goes without it."""
    told = []
    sound = BatchCheck(check, lambda kind, line: told.append((kind, line)))
    bad_robots = Link(
        "http://a.test/robots.txt", "P", history="http://b.test", request="bad"
    ).pack()

    assert [sound.link_for_other_drone(one) for one in (LINK, ASKED, FORGED, bad_robots)] == [
        LINK,
        ASKED,
        None,
        ROBOTS,
    ]
    (line,) = told
    assert (
        line[1]
        == "http://a.test/1 cannot be sent to the drone that has its host: no good request: bad"
    )


def test_requests_that_fit_no_batch():
    """A request of more than a batch may have is lost before it is put into one, in words."""
    told = []
    sound = BatchCheck(lose=lambda kind, line: told.append(line))

    assert (
        sound.link_for_other_drone(Link("http://a.test/1", request="A" * MAX_ITEMS_BYTES).pack())
        is None
    )
    assert told == [
        (
            "http://a.test/1 cannot be sent to the drone that has its host: it is too long for a "
            "batch (limit 16 MiB)"
        )
    ]
