"""URLs without user names and passwords."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webcrawl.base.readable import text_without_credentials, url_without_credentials
from webcrawl.urls.canonical import InvalidUrl, canonical

ADDRESS = st.text("htps:/\\@?#.a1 \t\n\r[]%", max_size=30)


class TestUrl:
    @pytest.mark.parametrize(
        ("written", "kept"),
        [
            ("http://user:pw@host/a@b?c@d#e@f", "http://host/a@b?c@d#e@f"),
            ("HTTPS://user@host", "HTTPS://host"),
            ("http://u:p@ss@host/", "http://host/"),
            ("ftp://user:@host:21/", "ftp://host:21/"),
            ("gopher://us\\er:pw@host/1", "gopher://host/1"),
            ("ssh://git@host/x.git", "ssh://host/x.git"),
            ("//user:pw@host/", "//host/"),
            ("\\\\user:pw@host/", "\\\\host/"),
            (" \x01http:user:pw@host/", " \x01http:host/"),
            ("http:\\/\\us er:p:w@host\\a", "http:\\/\\host\\a"),
            ("ht\ntp:/\t/us\ner:pw@host/a", "http://host/a"),
        ],
    )
    def test_credentials_go(self, written, kept):
        """What stands before the last @ of the authority goes, however a browser would let it be
        written.
        """
        assert url_without_credentials(written) == kept

    @pytest.mark.parametrize(
        "written",
        [
            *(
                "http://host/@name",
                "http://host?a=b@c",
                "http://host#a@b",
                "http://host\\a@b",
                "/a@b",
                "a@b",
                "?q=@",
                "",
            ),
            *("mailto:me@host", "/\ta@b", "data:text/plain,a//b@c"),
        ],
    )
    def test_all_else_stays(self, written):
        """An @ elsewhere is not touched, nor is anything around it."""
        assert url_without_credentials(written) == written

    @given(ADDRESS)
    @example("http:/ /a@b")
    def test_it_is_the_same_url(self, written):
        """The canonical form, which has no credentials, stays the same."""
        try:
            url = canonical(written)
        except InvalidUrl:
            return
        assert canonical(url_without_credentials(written)) == url

    @given(ADDRESS)
    def test_once_is_enough(self, written):
        """What is left has no credentials."""
        once = url_without_credentials(written)

        assert url_without_credentials(once) == once


class TestText:
    def test_credentials_go(self):
        """Each URL in a text loses its credentials, and the text around it stays."""
        text = "GET http://u:p@a.test/x failed (https://b.test/@me, 'ftp://me@c.test'), mail to me@d.test"

        kept = "GET http://a.test/x failed (https://b.test/@me, 'ftp://c.test'), mail to me@d.test"
        assert text_without_credentials(text) == kept

    def test_a_long_text_takes_no_longer(self):
        """Time is linear in the length, whatever a page's words are."""
        for piece in ("a", "://", "://a", "@", "http://"):
            text = piece * 1_000_000
            assert text_without_credentials(text).count("@") == text.count("@")
            assert url_without_credentials(f"{text}@x")
