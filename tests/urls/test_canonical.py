"""The fetched form of a URL, and the shortcut to it."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.url_strategies import bases, links
from webcrawl.base.model import Link, unpack
from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical, canonical_links

PAGE = "http://h.example/a/b?c"


def canonical_or_reason(link, base=""):
    try:
        return canonical(link, base)
    except InvalidUrl as error:
        return error.reason


class TestCanonical:
    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("HTTP://H.Example:80/%7ejoe", "http://h.example/%7ejoe"),
            ("http://h.example", "http://h.example/"),
            ("https://h.example:443/x#part", "https://h.example/x"),
            ("http://h.example:8080", "http://h.example:8080/"),
            ("http://joe:secret@h.example/a@b", "http://h.example/a@b"),
            ("http://h.example/a b\u00e9?q=\u00e9 x", "http://h.example/a%20b%C3%A9?q=%C3%A9%20x"),
            ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
            ("http://h.example/a/./b/../c//d", "http://h.example/a/c//d"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::0001]:80/", "http://[::1]/"),
            ("http://h.example./", "http://h.example./"),
            ("ftp://anonymous@h.example:21/pub", "ftp://h.example/pub"),
        ],
    )
    def test_it_is_the_standards_serialisation_without_fragment_and_credentials(self, link, expected):
        """The canonical form is the URL standard's, without what is never sent to a server."""
        assert canonical(link) == expected

    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("gopher://H.Example:70", "gopher://h.example/"),
            ("gopher://joe@b\u00fccher.example/1/a b", "gopher://xn--bcher-kva.example/1/a%20b"),
            ("gopher://h.example:80/0x", "gopher://h.example:80/0x"),
            ("gopher://h.example:7070?q", "gopher://h.example:7070/?q"),
            ("gopher://[::0001]:70/", "gopher://[::1]/"),
        ],
    )
    def test_gopher_hosts_are_normalised_as_for_http(self, link, expected):
        """Gopher URLs, unknown to the URL standard, get a lower-case ASCII host and lose the default port 70."""
        assert canonical(link) == expected

    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("gopher://h.example/1", "gopher://h.example/"),
            ("gopher://h.example:70/1#top", "gopher://h.example/"),
            ("gopher://h.example/11", "gopher://h.example/11"),
            ("gopher://h.example/1/", "gopher://h.example/1/"),
            ("gopher://h.example/0", "gopher://h.example/0"),
            ("http://h.example/1", "http://h.example/1"),
        ],
    )
    def test_a_gopher_hosts_own_menu_has_one_url(self, link, expected):
        """An empty path has type 1 (RFC 4266, 2.1): only the menu without a selector is the same as the root."""
        assert canonical(link) == expected

    @pytest.mark.parametrize(
        ("link", "reason"),
        [
            ("mailto:joe@h.example", "scheme"),
            ("javascript:void(0)", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("ws://h.example/", "scheme"),
            ("http://", "syntax"),
            ("http://a b/", "syntax"),
            ("no-base", "syntax"),
            ("http://h.example/\ud800", "encoding"),
            ("http://a..b/", "host"),
            ("http://./", "host"),
            (f"http://{'a' * 64}.example/", "host"),
            (f"http://{'a.' * 128}/", "host"),
            ("gopher:selector", "host"),
            ("gopher:///1", "host"),
            ("gopher://a%20b/", "host"),
            ("http://h.example/" + "a" * 65_520, "length"),
        ],
    )
    def test_what_cannot_be_fetched_is_invalid_for_a_reason(self, link, reason):
        """Other schemes, hosts that DNS cannot represent, strings without UTF-8 form, and long strings are invalid."""
        with pytest.raises(InvalidUrl) as error:
            canonical(link)

        assert error.value.reason == reason

    def test_the_longest_name_that_dns_can_carry_is_valid(self):
        """A host name has up to 253 characters in labels of up to 63 (RFC 1035, 2.3.4)."""
        host = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])

        assert canonical(f"http://{host}/") == f"http://{host}/"
        assert canonical_links(PAGE, [f"http://{host}/"], Counter()) == {f"http://{host}/": f"http://{host}/"}
        assert canonical_links(PAGE, [f"http://{host}d/"], Counter()) == {f"http://{host}d/": None}

    @examples(1000)
    @given(links, bases)
    def test_a_canonical_url_is_a_fixed_point_without_spaces(self, link, base):
        """A canonical URL is its own canonical form, is printable ASCII without spaces, and fits a queue's record."""
        try:
            url = canonical(link, base)
        except InvalidUrl:
            return

        assert canonical(url) == url
        assert re.fullmatch(r"(?:https?|ftp|gopher)://[!-.0-~]+/[!-~]*", url)
        assert unpack(Link(url, via=url).pack()) == Link(url, via=url)


class TestCanonicalLinks:
    @examples(1000)
    @given(links, bases)
    def test_the_shortcut_agrees_with_the_parser(self, link, base):
        """Any link on any page has the canonical form, or the reason, that the parser gives."""
        invalid = Counter()

        url = canonical_links(base, [link], invalid)[link]

        assert (url or next(iter(invalid))) == canonical_or_reason(link, base)
        assert invalid.total() == (url is None)

    @given(
        steps=st.lists(st.sampled_from(["../", "./"]), max_size=5),
        pieces=st.lists(
            st.sampled_from(["a", "b.html", "", ".", "..", "%2e", "x?y=/../z", "d;p", "#f", "e"]), max_size=4
        ),
        port=st.sampled_from(["", ":80", ":8080", ":65535", ":65536", ":08080"]),
        folders=st.lists(st.sampled_from(["a", "b", ""]), max_size=5),
    )
    def test_steps_up_agree_with_the_parser(self, steps, pieces, port, folders):
        """Links that start with ../ or ./, and links with a port, have the canonical form that the parser gives."""
        base = canonical("http://host.test:8080/" + "/".join(folders))
        climbing, absolute = "".join(steps) + "/".join(pieces), f"http://other.test{port}/" + "/".join(pieces)

        for link in (climbing, absolute):
            try:
                expected = canonical(link, base)
            except InvalidUrl:
                expected = None
            assert canonical_links(base, [link], Counter())[link] == expected

    @pytest.mark.parametrize(
        "link",
        [
            *("http://a.example/x", "http://a.example:8080/x", "http://a.example:18110/x?y", "//a.example/x"),
            *("/x/y?z", "x.html", "x?y", "?y", "", "#top", "/x#top", "a-b/c", "../x", "../../", "./", "./x?y"),
            *("mailto:a@b.example", "javascript:void(0)", "tel:+49 1"),
        ],
    )
    def test_plain_links_take_the_shortcut(self, link, monkeypatch):
        """The common kinds of links never reach the parser."""
        monkeypatch.setattr("webcrawl.urls.canonical.canonical", None)

        assert list(canonical_links(PAGE, [link], Counter())) == [link]

    def test_links_come_once_in_the_order_of_the_page(self):
        """A repeated link is joined once; the order is that of first appearance."""
        assert canonical_links(PAGE, ["y", "#a", "y", "/x"], Counter()) == {
            "y": "http://h.example/a/y",
            "#a": "http://h.example/a/b?c",
            "/x": "http://h.example/x",
        }
        assert list(canonical_links(PAGE, ["y", "#a", "y", "/x"], Counter())) == ["y", "#a", "/x"]

    def test_invalid_links_are_counted_by_reason(self):
        """Each distinct invalid link counts once, under its reason."""
        invalid = Counter()

        found = canonical_links(PAGE, ["mailto:a", "mailto:a", "data:,", "http://a..b/", "\ud800", "x" * 2001], invalid)

        assert set(found.values()) == {None}
        assert invalid == {"scheme": 2, "host": 1, "encoding": 1, "length": 1}

    @pytest.mark.parametrize("base", ["", "about:blank", "data:text/html,x", "\ud800", "x" * 3000, "nonsense"])
    def test_a_page_without_a_usable_base_still_has_absolute_links(self, base):
        """Without a base, relative links are invalid and absolute ones are not."""
        invalid = Counter()

        found = canonical_links(base, ["x", "/x", "", "http://a.example/"], invalid)

        assert list(found.values()) == [None, None, None, "http://a.example/"]
        assert invalid == {"syntax": 3}

    def test_a_link_of_a_mebibyte_costs_no_work(self):
        """Links that are too long are rejected by their length alone."""
        invalid = Counter()

        canonical_links(PAGE, ["/" * 2**20, "\x00" * 2**20, "http://" + "a." * 2**19], invalid)

        assert invalid == {"length": 3}

    def test_there_are_four_schemes(self):
        """Canonical URLs have one of these four schemes."""
        assert SCHEMES == ("http", "https", "ftp", "gopher")
