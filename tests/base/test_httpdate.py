"""Dates of HTTP: the usual form, and any other."""

import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.dates import http_date, read_any_date, read_http_date


@given(st.integers(-62_135_596_800, 253_402_300_799))  # the years 1 to 9999
def test_it_is_the_standard_library_s(seconds):
    """A date is written as email.utils writes it, and read back exactly."""
    assert http_date(seconds) == formatdate(seconds, usegmt=True).encode()
    assert read_http_date(http_date(seconds)) == seconds


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"Sun, 06 Nov 1994 08:49:37 UTC",
        b"Sun, 06 nov 1994 08:49:37 GMT",
        b"Mon, 06 Nov 1994 08:49:37 GMT",  # it was a Sunday
        b"Sun, 31 Feb 1994 08:49:37 GMT",
        b"Sun,  6 Nov 1994 08:49:37 GMT",
        b"Sun, 06 Nov 0000 08:49:37 GMT",
        b"Sun, 06 Nov 1994 08:49:xx GMT",
        b"Sun, 06 Nov 1994 08:49:37 GMT ",
        b"Sunday, 06-Nov-94 08:49:37 GMT",
        b"Sun Nov  6 08:49:37 1994",
    ],
)
def test_anything_else_is_no_date(text):
    """What would not be written in exactly these bytes is not read, so that a reader can give back
    what was sent.
    """
    assert read_http_date(text) is None


@given(st.binary(max_size=40))
def test_any_bytes_are_survived(text):
    """Foreign bytes never raise an error."""
    seconds = read_http_date(text)
    assert seconds is None or http_date(seconds) == text


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777),
        ("Sun Nov  6 08:49:37 1994", 784111777),
        ("Sun, 06 Nov 1994 08:49:37", 784111777),
        ("Sun, 06 Nov 1994 08:49:37 -0500", 784129777),
        ("soon", None),
        ("", None),
    ],
)
def test_any_form(monkeypatch, zone, text, seconds):
    """Old forms are read as well; where no zone is given it is UTC, whatever the machine's is."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert read_any_date(text) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()
