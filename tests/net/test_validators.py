"""Which ETag and Last-Modified of an answer can be sent back."""

import pytest

from webcrawl.net.http_freshness import Validators, validators

DATE = b"Mon, 01 Jun 2026 00:00:00 GMT"
AFTER = 1_790_000_000.0  # September 2026


def of(*headers, at=AFTER, longest=128):
    return validators([*headers], at, longest=longest)


def test_they_are_sent_back_as_they_came():
    """Both, if both came, whatever the case of their names."""
    known = of((b"ETAG", b'W/"a"'), (b"Last-Modified", DATE))

    assert known == (b'W/"a"', DATE)
    assert known.headers == [(b"If-None-Match", b'W/"a"'), (b"If-Modified-Since", DATE)]
    assert Validators().headers == []


@pytest.mark.parametrize("etag", [b"abc", b"abc-123:456", b"W/abc"])
def test_an_entity_tag_without_quotes_is_sent_back_as_it_came(etag):
    """Who sends such a one compares bytes."""
    assert of((b"ETag", etag)).etag == etag


@pytest.mark.parametrize("etag", [b"*", b"a,*", b'"a', b'"a b"', b'"a"\x00', b'"' + b"a" * 200 + b'"', b"\xe4", b""])
def test_what_is_no_entity_tag_is_none(etag):
    """What would mean any page at all; one with a blank; too long a one."""
    assert of((b"ETag", etag)).etag == b""


@pytest.mark.parametrize("date", [b"Fri, 01 Jan 2100 00:00:00 GMT", b"x" * 65, b"a\x01b", b""])
def test_what_no_server_should_be_asked_by_is_no_date(date):
    """A date that is still to come: until then a server that compares dates would never tell of a change."""
    assert of((b"Last-Modified", date)).modified == b""


@pytest.mark.parametrize("date", [b"yesterday", b"0", b"Mon, 99 Jun 2026 00:00:00 GMT", DATE[:-3] + b"-0000"])
def test_what_cannot_be_read_may_be_compared_as_text(date):
    """Some servers do that."""
    assert of((b"Last-Modified", date)).modified == date
