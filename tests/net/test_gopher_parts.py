"""The parts of the Gopher client, without a network: URLs, menus, text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.crawl.page_links import menu_links
from webcrawl.net.errors import BadUrl
from webcrawl.net.gopher import Item, ends, is_refusal, item_url, items, parse_gopher, plain
from webcrawl.urls.canonical import InvalidUrl, canonical


def item(kind, selector=b"/x", host=b"h.test", port=b"70"):
    return Item(kind, b"name", selector, host, port)


class TestTargets:
    def test_urls_that_others_take_apart(self):
        """Host, port, type, selector and search are those that URI::gopher finds; a tab must be
        escaped in a URL.
        """
        rows = json.loads((cases("ftp-gopher") / "gopher-urls.json").read_text())
        assert rows
        for row in rows:
            target = parse_gopher(row["url"].replace("\t", "%09"))
            search = target.search.decode() if target.search is not None else None
            expected = (row["host"], row["port"], row["type"], row["selector"] or "", row["search"])
            assert (
                target.host,
                target.port,
                target.kind,
                target.selector.decode(),
                search,
            ) == expected

    @pytest.mark.parametrize(
        ("url", "line"),
        [
            ("gopher://h.test:7070/0/a%3Fb", b"/a?b\r\n"),
            ("gopher://[::1]/1/x%25y", b"/x%y\r\n"),
            ("gopher://h.test/9%FF%FE", b"\xff\xfe\r\n"),
        ],
    )
    def test_lines(self, url, line):
        """The request is one line."""
        assert parse_gopher(url).line == line

    @given(st.text())
    def test_any_text_is_a_line_or_a_bad_url(self, text):
        """Any string is a line or a BadUrl."""
        try:
            target = parse_gopher(f"gopher://h.test/{text}")
        except BadUrl:
            return
        assert target.line.count(b"\n") == 1
        assert target.line.count(b"\r") == 1


class TestMenus:
    def test_real_menus(self):
        """The items of real menus are as expected, and each except info lines has a URL."""
        for path in sorted((cases("ftp-gopher") / "gopher").glob("*.menu")):
            expected = json.loads(path.with_name(f"{path.stem}.expected.json").read_text())
            found = list(items(path.read_bytes()))
            assert [
                [entry.kind, *(field.decode() for field in entry[1:])] for entry in found
            ] == expected
            for entry in found:
                url = item_url(entry)
                if entry.kind in "i3":
                    assert url == ""
                elif not entry.selector.startswith(b"URL:"):
                    target = parse_gopher(canonical(url))
                    assert (target.kind, target.selector) == (entry.kind, entry.selector)
                    assert (target.host, str(target.port)) == (
                        entry.host.decode().lower(),
                        entry.port.decode(),
                    )

    @pytest.mark.parametrize("kind", "014569gIhsdp;")
    def test_items_that_lead_somewhere(self, kind):
        """Files and menus of any type have URLs."""
        assert item_url(item(kind)) == f"gopher://h.test:70/{'%3B' if kind == ';' else kind}/x"

    @pytest.mark.parametrize("kind", "i3728T+\t \x80\xff")
    def test_items_that_lead_nowhere(self, kind):
        """Info, errors, searches, phone books, telnet, mirrors and invalid types have none."""
        assert item_url(item(kind)) == ""

    @pytest.mark.parametrize(
        "selector", [b"URL:http://w.test/a?b", b"/URL:http://w.test/a?b", b"url:http://w.test/a?b"]
    )
    def test_ways_to_the_web(self, selector):
        """An `h` item whose selector is a URL links to it."""
        assert item_url(item("h", selector)) == "http://w.test/a?b"
        assert item_url(item("0", selector)).startswith("gopher://")

    def test_bytes_of_another_encoding(self):
        """Those of a URL that is not in UTF-8 are sent as they came."""
        assert item_url(item("h", b"URL:http://w.test/\xe9")) == "http://w.test/%E9"

    @pytest.mark.parametrize(
        ("host", "port", "place"),
        [
            (b"H.test", b"7070", "H.test:7070"),
            (b"h.test.", b" 70 ", "h.test.:70"),
            (b"127.0.0.1", b"070", "127.0.0.1:70"),
            (b"::1", b"70", "[::1]:70"),
            (b"[::1]", b"70", "[::1]:70"),
        ],
    )
    def test_places(self, host, port, place):
        """Host and port as servers write them."""
        assert item_url(item("1", host=host, port=port)) == f"gopher://{place}/1/x"

    @pytest.mark.parametrize(
        ("host", "port"),
        [
            (b"", b"70"),
            (b"h.test/x", b"70"),
            (b"me@h.test", b"70"),
            (b"h.test:80", b"70"),
            (b"h test", b"70"),
            (b"(NULL)", b"0"),
            (b"h.test", b""),
            (b"h.test", b"0"),
            (b"h.test", b"65536"),
            (b"h.test", b"-1"),
            (b"h.test", b"1e3"),
            (b"h\xe9.test", b"70"),
        ],
    )
    def test_no_places(self, host, port):
        """An invalid host or port gives no URL."""
        assert item_url(item("1", host=host, port=port)) == ""

    def test_the_end(self):
        """Lines that are not items are skipped; the lone dot ends the menu."""
        menu = b"text\r\n\r\n1a\tb\tc\t70\t+\r\n0short\tx\ty\r\n0d\te\tf\t71\n.\r\n1g\th\ti\t70\r\n"
        assert list(items(menu)) == [
            Item("1", b"a", b"b", b"c", b"70"),
            Item("0", b"d", b"e", b"f", b"71"),
        ]

    @given(st.binary(max_size=40).filter(lambda selector: not {0, 9, 10, 13} & set(selector)))
    def test_selectors_survive_their_url(self, selector):
        """A selector survives becoming a link, a canonical URL and a parsed target, except for `.`
        and `..`.
        """
        if any(
            part in (b".", b"..") for part in selector.lower().replace(b"%2e", b".").split(b"/")
        ):
            return
        menu = b"0x\t" + selector + b"\th.test\t70\r\n"
        ((_, link, text, _),) = menu_links(menu, "", "gopher://h.test/1").links
        target = parse_gopher(canonical(link))
        assert (target.kind, target.selector, text) == ("0", selector, "x")

    @given(st.binary())
    def test_any_bytes_are_a_menu_of_canonical_urls(self, menu):
        """Any bytes are a menu, whose links are canonical URLs or refused."""
        found = menu_links(menu, "", "gopher://h.test/1")
        assert len(found.links) <= menu.count(b"\n") + 1
        assert is_refusal(menu) in (True, False)
        for _, link, _, _ in found.links:
            try:
                canonical(link, found.base)
            except InvalidUrl:
                continue

    @given(st.lists(st.tuples(*[st.binary(max_size=9)] * 4), max_size=4))
    def test_any_fields(self, rows):
        """Any fields between tabs give a link that can be parsed, or none."""
        menu = b"".join(b"%s\t%s\t%s\t%s\r\n" % row for row in rows)
        for _, link, _, _ in menu_links(menu, "", "gopher://h.test/1").links:
            if link.startswith("gopher:"):
                parse_gopher(link)


class TestText:
    @pytest.mark.parametrize(
        ("raw", "text"),
        [
            (b"", b""),
            (b".\r\n", b""),
            (b".", b""),
            (b"..\r\n.\r\n", b".\r\n"),
            (b"a\r\n..b\r\n.\r\n", b"a\r\n.b\r\n"),
            (b"a\n.\n", b"a\n"),
            (b"a\n.", b"a\n"),
            (b"a..b\r\n", b"a..b\r\n"),
            (b"a.\r\n", b"a.\r\n"),
            (b"a\r\n..", b"a\r\n.."),
        ],
    )
    def test_dots(self, raw, text):
        """The final dot is removed and doubled dots are undoubled; without the final dot nothing
        changes.
        """
        assert plain(raw) == text

    @given(st.lists(st.binary(max_size=8).filter(lambda line: not {10, 13} & set(line))))
    def test_what_was_stuffed_comes_back(self, lines):
        """A text sent as the RFC says is read as it was."""
        text = b"".join(line + b"\r\n" for line in lines)
        sent = (
            b"".join((b"." if line.startswith(b".") else b"") + line + b"\r\n" for line in lines)
            + b".\r\n"
        )
        assert plain(sent) == text
        assert ends(sent[-16:])
