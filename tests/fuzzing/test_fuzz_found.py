"""Faults that fuzzing found, each as a rule of its own; the inputs are in tests/regressions."""

import io
import sys
import zipfile
import zlib
from datetime import UTC, datetime

import pytest

from tests.fuzzing import shapes
from tests.support.certificates import encoded
from tests.support.hostile import peak, reset_peak
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.net.codings import Decoder
from webcrawl.net.connection_open import certificate_flaws
from webcrawl.net.ftp_session import FtpReply, ReplyReader
from webcrawl.net.gopher import Item, item_url
from webcrawl.urls.seeds import SeedError, Seeds

TEXT = b"hello world " * 20
XHTML = "application/xhtml+xml"
EXTRA, NAME, COMMENT, CHECKED = 4, 8, 16, 2
FIELDS = {EXTRA: b"\x06\0abcdef", NAME: b"page.html\0", COMMENT: b"x" * 20 + b"\0"}


def links(body, media="text/html", wanted=("a",)):
    return LinkReader(wanted).links(body, media, "http://a.test/").links


def gzipped(flags):
    """A gzip member whose header has these fields."""
    raw = zlib.compressobj(wbits=-15)
    body = raw.compress(TEXT) + raw.flush()
    head = (
        bytes((0x1F, 0x8B, 8, flags))
        + bytes(6)
        + b"".join(field for flag, field in FIELDS.items() if flags & flag)
    )
    head += zlib.crc32(head).to_bytes(4, "little")[:2] if flags & CHECKED else b""
    end = zlib.crc32(TEXT).to_bytes(4, "little") + len(TEXT).to_bytes(4, "little")
    return head + body + end


class TestGopher:
    def test_a_long_host_is_read_in_one_go(self):
        """A host of 8,000 letters, or with an invalid character, is rejected quickly; it once hung
        the crawl.
        """
        for host in (b"a" * 8000, b"a" * 60 + b"!", b"a." * 4000 + b"!"):
            assert item_url(Item("1", b"", b"", host, b"70")) == ""

    @pytest.mark.parametrize("selector", [b"/..", b"/../0x", b"/a/./b", b"a/.."])
    def test_a_selector_that_no_url_can_keep_leads_nowhere(self, selector):
        """`..` in a URL means the parent folder: such a link would be another selector of another
        kind.
        """
        assert item_url(Item("1", b"", selector, b"h.test", b"70")) == ""
        assert item_url(Item(".", b"", b"", b"h.test", b"70")) == ""

    def test_other_dots_stay(self):
        """Dots within names are kept."""
        assert (
            item_url(Item("0", b"", b"/a..b/.c", b"h.test", b"70"))
            == "gopher://h.test:70/0/a..b/.c"
        )


class TestHttp:
    @pytest.mark.parametrize("flags", range(0, 32, 2))
    def test_a_gzip_header_may_be_split_anywhere(self, flags):
        """A body is the same wherever its gzip header is split; with an extra field and a name it
        was once lost.
        """
        stream = gzipped(flags)
        for split in range(1, len(stream) - len(TEXT) // 8):
            decoder = Decoder([b"gzip"], 10_000)
            decoder.feed(stream[:split])
            decoder.feed(stream[split:])
            decoder.finish()

            assert (decoder.body, decoder.broken) == (TEXT, False), split

    def test_a_certificate_of_an_unknown_version_is_unreadable(self):
        """An unknown version is a flaw of the certificate, not an error of ours."""
        der = encoded("a.test").replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x42", 1)

        assert certificate_flaws(der, "a.test", 1.7e9) == ("certificate_unreadable",)

    def test_a_certificate_whose_issuer_has_a_negative_number(self):
        """It is unreadable; the warning of the library that says so does not reach the user."""
        der = encoded("a.test")
        at = der.index(b"\x30\x16\x80\x14")  # the identifier of the issuer's key: twenty bytes
        der = der[: at + 2] + b"\x80\x11" + der[at + 4 : at + 21] + b"\x82\x01\xff" + der[at + 24 :]

        assert certificate_flaws(der, "a.test", 1.7e9) == ("certificate_unreadable",)

    def test_a_certificate_with_the_whole_name_of_a_country(self):
        """It is read; the library's warning, that two letters are usual, does not reach the user."""
        common_name, country = b"\x55\x04\x03", b"\x55\x04\x06"
        der = encoded("a.test").replace(common_name, country)

        assert certificate_flaws(der, "a.test", datetime.now(UTC).timestamp()) == ()


class TestFtp:
    def test_replies_are_taken_without_a_copy_of_the_rest(self):
        """Ten thousand replies in one piece are read in place: copying the rest after each was
        quadratic.
        """
        reader = ReplyReader()
        reader.feed(b"150 x\r\n" * 10_000 + b"22")
        buffer = reader._buffer
        taken = [reader.next_reply() for _ in range(10_001)]

        assert taken == [FtpReply(150, "x")] * 10_000 + [None]
        assert reader._buffer is buffer
        reader.feed(b"6 y\r\n")
        assert reader.next_reply() == FtpReply(226, "y")


class TestPages:
    def test_a_query_in_an_encoding_that_python_has_not(self):
        """x-user-defined is encoded byte by byte; a character that it lacks becomes a number, as in
        a form.
        """
        page = b'<a href="/?\xe9&euro;">'

        assert links(page, "text/html; charset=x-user-defined")[0][1] == "/?%E9%26%238364%3B"

    def test_a_query_in_an_encoding_with_states(self):
        """A run of Japanese has one escape at its beginning and one at its end, as in the
        standard's encoder.
        """
        page = '<a href="/?日本é">'.encode("iso-2022-jp", "xmlcharrefreplace")
        expected = "/?%1B$BF|K\\%1B(B%26%23233%3B"

        assert links(page, "text/html; charset=iso-2022-jp")[0][1] == expected

    def test_attributes_with_any_name(self):
        """In a page read by the plain tree, attributes may have any name."""
        page = b"<p>" * 13_000 + b"<a href=one {><a {x}y href=two>"

        assert [link[1] for link in links(page)] == ["one", "two"]

    def test_nested_noframes_take_no_more_than_the_page(self):
        """XHTML can nest what HTML reads as one text: 200 levels around 1 MiB once took 800 MiB."""
        page = shapes.filled(shapes.XML["XML around b'noframes'"], 1 << 20)
        before = reset_peak()
        links(page, XHTML)

        assert peak() - before < 64 << 10

    def test_nested_styles_are_read_once(self):
        """A page yields as many links as its size allows, however many style elements surround
        them.
        """
        page = shapes.XHTML + b"<style>" * 100 + b"url(x)" * 1000 + b"</style>" * 100 + b"</html>"

        assert 1000 <= len(links(page, XHTML, ["style"])) <= len(page) // 6

    def test_noframes_and_styles_beside_each_other_are_all_read(self):
        """Elements that are not nested are read completely."""
        part = b"<style>a{b:url(x)}</style><noframes>&lt;a href='y'&gt;</noframes>"
        found = links(shapes.XHTML + part * 50 + b"</html>", XHTML, ["a", "style"])

        assert [link[0] for link in found] == ["style"] * 50 + ["a"] * 50

    def test_an_element_with_hundreds_of_attributes_is_none(self):
        """As in HTML: reading 27,000 attributes of one XHTML element once took 2.4 s."""
        crowd = b"".join(b"a%d='' " % n for n in range(300))
        page = shapes.XHTML + b"<a %b href='one'/><a href='two'/></html>" % crowd

        assert [link[1] for link in links(page, XHTML)] == ["two"]

    def test_all_robots_elements_count(self):
        """The directives of several elements are combined, whichever tree reads them."""
        page = b"<meta name=robots content='noindex,a'><meta name=ROBOTS content=nofollow>"

        assert LinkReader().links(page, "text/html", "http://a.test/").meta_robots == {
            "noindex",
            "nofollow",
            "a",
        }


class TestSeeds:
    def test_a_wide_list_is_gone_on_with(self, tmp_path):
        """A list in UTF-16 is resumed where it was left, even if its text is longer in UTF-8."""
        path = tmp_path / "list.txt"
        path.write_text(
            "".join(f"http://{'日本' * 10}{n}.test/\n" for n in range(3000)), encoding="utf-16"
        )
        whole = [seed.url for seed in Seeds(str(path))]
        first = Seeds(str(path))
        begun = [next(first).url for _ in range(1000)]
        second = Seeds(str(path))
        second.resume(first.position)

        assert begun + [seed.url for seed in second] == whole
        assert len(whole) == second.taken == 3000
        first.close()

    @pytest.mark.skipif(sys.version_info >= (3, 13), reason="zipfile reads it")
    def test_a_zip_with_a_nameless_file(self, tmp_path):
        """It is reported in one line that names it, or is read as any other: with some releases of
        Python a file may have no name.
        """
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("l.csv", "1,a.test\n")
        path = tmp_path / "list.csv.zip"
        path.write_bytes(made.getvalue().replace(b"l.csv", b"\0.csv"))

        try:
            seeds = [seed.url for seed in Seeds(str(path))]
        except SeedError as error:
            seeds = str(error).partition(": ")[0]

        assert seeds in (str(path), ["http://a.test/"])
