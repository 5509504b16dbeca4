"""What URLs say of the language of their pages."""

import pytest

from webcrawl.urls.url_languages import CODES, SPOKEN, domain_languages, marked_language


@pytest.mark.parametrize(
    ("url", "language"),
    [
        ("http://a.si/sl/page", "sl"),
        ("http://a.si/EN", "en"),
        ("http://a.ch/de-ch/x", "de"),
        ("http://a.com/?p=1&lang=hr", "hr"),
        ("http://hr.wikipedia.org/wiki/X", "hr"),
        ("http://a.com/us/x", ""),
        ("http://a.com/x/de/y", ""),
        ("http://de.com/", ""),
        ("http://a.com/?language=english", ""),
        ("http://a.com/density", ""),
    ],
)
def test_marks(url, language):
    """The first folder, a parameter, or a label before the domain may be a code; what only looks like one is none."""
    assert marked_language(url) == language


def test_domains():
    """Of countries most pages are in a language of theirs; others say nothing."""
    assert domain_languages("http://www.a.si/x") == ("sl",)
    assert domain_languages("http://a.com/") == domain_languages("http://[::1]/") == ()
    assert {code for codes in SPOKEN.values() for code in codes} - CODES == {"be", "ca", "id", "uk"}
