"""A page that shows what its host shows for a URL that cannot exist."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.recognise import Probe, recogniser

WORDS = " ".join(f"wort{number}" for number in range(80))
NOWHERE, PAGE = "http://a.test/x/qwertzuiopasdfgh.html", "http://a.test/x/real.html?a=1"


def probe(title, text, url=NOWHERE):
    return Probe.of(url, title, text)


def test_a_long_text_may_differ_a_little():
    """It need not be the same: some pages have a time in them."""
    assert probe("Hoppla", WORDS).is_like(probe("Hoppla", f"{WORDS} anders"))
    assert not probe("Hoppla", WORDS).is_like(probe("Hoppla", WORDS.replace("wort", "sonst")))


def test_a_short_text_is_the_same():
    """There is nothing else to go by."""
    assert probe("Shop", "Nothing here").is_like(probe("Shop", "Nothing  here"))
    assert not probe("Shop", "Nothing here").is_like(probe("Shop", "Nothing there"))


def test_the_words_of_a_url_do_not_count():
    """Such pages repeat what was asked for."""
    one = probe("No real.html", "There is no /x/real.html?a=1 here", PAGE)

    assert one.is_like(probe("No qwertzuiopasdfgh.html", "There is no /x/qwertzuiopasdfgh.html here"))


def test_pages_of_one_template_have_titles_of_their_own():
    """Another title is another page, whatever the text around it."""
    assert not probe("Shoes", WORDS).is_like(probe("Hats", WORDS))


@given(st.text(), st.text())
def test_it_is_kept_in_a_few_bytes(title, text):
    """As it was."""
    found = probe(title, text)

    assert Probe.unpack(found.pack()) == found
    assert len(found.pack()) == 15


def test_other_bytes_are_none():
    """A damaged record says so."""
    with pytest.raises(ValueError, match="15 bytes"):
        Probe.unpack(b"12")


def test_what_is_no_page_shows_nothing():
    """Only documents are compared."""
    assert recogniser().probe(PAGE, [(b"Content-Type", b"text/plain")], b"x") is None
    assert recogniser().probe(PAGE, [(b"Content-Type", b"text/html")], b"") is None
    assert recogniser().probe(PAGE, [(b"Content-Type", b"text/html")], b"<title>x") == probe("x", "")
