"""Page records: small, and the same after every way that they go."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link, is_link
from webcrawl.base.model import unpack as unpack_link
from webcrawl.crawl.revisit.buckets import stamp, stamped
from webcrawl.crawl.revisit.record import (
    ASK,
    ASK_BY,
    DUE,
    LISTED,
    SIGNAL,
    PageRecord,
    entry_of,
    from_history,
    is_ahead,
    link_of,
    mark_of,
    pack,
    record_in,
    record_of,
    to_history,
    unpack,
)

URL = "https://example.org/a/b?c=d"
DATE = b"Sun, 06 Nov 1994 08:49:37 GMT"
SINGLE = st.floats(0, width=32, allow_nan=False, allow_infinity=False)
RECORDS = st.builds(
    PageRecord,
    url=st.text(st.characters(codec="ascii", exclude_categories=("Cc", "Zs")), min_size=1),
    path=st.text("LREPlrep"),
    fetched=st.integers(0, (1 << 40) - 1).map(lambda ticks: ticks / 256),
    etag=st.binary(max_size=128),
    modified=st.sampled_from([b"", DATE]) | st.binary(max_size=64),
    digest=st.integers(0, (1 << 64) - 1),
    text=st.integers(0, (1 << 64) - 1),
    shape=SINGLE,
    span=SINGLE,
    weight=SINGLE,
    visits=st.integers(0, 65_535),
    changes=st.integers(0, 65_535),
    gone=st.integers(0, 255),
    handed=st.booleans(),
    listing=st.booleans(),
    stored=st.integers(0, 1 << 42).map(lambda milliseconds: milliseconds / 1000),
    copy_of=st.sampled_from(["", "http://b.test/a copy"]),
    plain=st.booleans(),
    said=st.tuples(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF)),
    holds=st.integers(0, 0xFFFF_FFFF),
)
FULL = PageRecord(URL, "LL", 1.8e9 + 0.25, b'"x"', DATE, 1 << 63, 7, 1.5, 86_400.0, 2.0, 3, 2, 1)


@given(RECORDS)
def test_a_packed_record_is_the_same(record):
    """Whatever fits comes back from a queue unchanged."""
    assert unpack(pack(record)) == record


@given(RECORDS, st.booleans())
def test_a_record_travels_in_a_link(record, ahead):
    """A link with a record in its history gives it back with URL and path, and says whether it is
    ahead of its turn.
    """
    link = link_of(replace(record, signal="" if ahead else None))
    assert (record_of(link), is_ahead(link)) == (record, ahead)


def test_the_link_goes_through_the_frontier():
    """The link of a record can be packed like any other."""
    packed = link_of(FULL).pack()
    assert is_link(packed)
    assert record_of(unpack_link(packed)) == FULL


def test_a_record_is_small():
    """Beside URL, path and validators a record takes 46 bytes."""
    assert len(pack(FULL)) - len(URL) - len("LL") - len(FULL.etag) - 4 - 1 == 46


def test_the_usual_date_takes_four_bytes():
    """A Last-Modified in HTTP's usual form is kept as a number; any other as it was sent."""
    without = replace(FULL, modified=b"")
    assert len(pack(FULL)) - len(pack(without)) == 4
    assert unpack(pack(replace(FULL, modified=b"yesterday"))).modified == b"yesterday"


def test_absurd_validators_are_left_out():
    """An ETag beyond 128 bytes and a date beyond 64 are not kept, and what follows them is."""
    kept = unpack(pack(replace(FULL, etag=b"x" * 129, modified=b"x" * 65)))
    assert kept == replace(FULL, etag=b"", modified=b"")


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        (
            {"visits": 70_000, "changes": 66_000, "gone": 300},
            {"visits": 65_535, "changes": 65_535, "gone": 255},
        ),
        (
            {"weight": 1e300, "span": float("inf")},
            {"weight": pytest.approx(3e38), "span": pytest.approx(3e38)},
        ),
        ({"fetched": -1.0}, {"fetched": 0.0}),
        ({"fetched": float("nan")}, {"fetched": 0.0}),
        ({"fetched": float("inf")}, {"fetched": 0xFFFF_FFFF}),
        ({"holds": 1 << 40}, {"holds": 0xFFFF_FFFF}),
        ({"digest": 1 << 64, "text": -1}, {"digest": 0, "text": (1 << 64) - 1}),
    ],
)
def test_numbers_saturate(given_, kept):
    """A number beyond its room becomes the nearest one that fits.

    Nothing is raised: it may be a user's function's.
    """
    record = unpack(pack(replace(FULL, **given_)))
    assert {name: getattr(record, name) for name in kept} == kept


@given(st.binary(max_size=120))
def test_damaged_bytes_are_refused(data):
    """Bytes that are no record raise ValueError and nothing else."""
    try:
        record = unpack(data)
    except ValueError:
        return
    assert record.url


def test_a_truncated_record_is_refused():
    """A record that ends before its URL is none."""
    data = pack(FULL)
    for size in range(len(data) - len(URL) + 1):
        with pytest.raises(ValueError, match="record"):
            unpack(data[:size])


@pytest.mark.parametrize(
    "history",
    [
        "",
        "c",
        "ucuc",
        "https://example.org",
        "r=",
        "r=.",
        "r=!",
        "r=AAAA",
        to_history(FULL)[:-5],
        "r=ü",
    ],
)
def test_another_history_is_no_record(history):
    """Histories that others write, and damaged ones, give None."""
    assert from_history(history) is None
    assert record_of(Link(URL, history=history)) is None


@pytest.mark.parametrize("mark", [DUE, ASK, LISTED])
def test_an_entry_of_the_queue(mark):
    """It has a time, what that means, and the record."""
    entry = entry_of(7, mark, FULL)
    assert (stamped(entry), mark_of(entry), record_in(entry)) == (7, mark, FULL)


def test_an_entry_of_a_signal():
    """It has a stand-in for the record, and the page that told of the change, if any did."""
    for via in ("", "http://a.test/map.xml"):
        told = PageRecord(URL, "L", signal=via)
        assert record_in(entry_of(7, SIGNAL, told)) == told
        assert (is_ahead(link_of(told)), link_of(told).via) == (True, via)


def test_an_entry_of_an_earlier_crawl():
    """It may have a second time; and its record the flag that a listing names the page."""
    packed = pack(FULL)
    assert record_in(stamp(7) + ASK_BY + stamp(9) + packed) == FULL
    assert record_in(stamp(7) + DUE + bytes((packed[0] | 1,)) + packed[1:]) == FULL


def test_what_is_no_entry():
    """An unknown mark is damage."""
    with pytest.raises(ValueError, match="record"):
        record_in(stamp(7) + b"\x09" + pack(FULL))
