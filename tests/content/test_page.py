"""Page, the item that pipelines get."""

import copy
import io
import json
import sys
from dataclasses import astuple, fields

import pytest
from itemadapter import ItemAdapter
from scrapy.exporters import (
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    XmlItemExporter,
)

from webcrawl.base.loading import MissingLibraryError
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.html.link_kinds import DocumentLinks, PageLink
from webcrawl.content.near_duplicates import fingerprint
from webcrawl.content.page import Page

HEADERS = [(b"Content-Type", b"Text/HTML; charset=koi8-r"), (b"Set-Cookie", b"a=b")]
BODY = "<p>Привет".encode("koi8-r")


def exchange(body=BODY, headers=HEADERS):
    return Exchange(
        "http://a.test/",
        b"GET",
        200,
        b"HTTP/1.1 200 OK\r\n\r\n",
        headers,
        body,
        body,
        body,
        "127.0.0.1",
        1.5,
        Timings(),
    )


def page(*answer, **more):
    return Page.of(
        Link("http://a.test/", "LRL", "http://b.test/", "http://s.test/", 1),
        exchange(*answer, **more),
    )


class TestPage:
    def test_it_says_what_was_asked_and_answered(self):
        """URL, history and answer stand in the page's fields."""
        made = page()
        assert (made.url, made.status, made.body, made.depth, made.attempt) == (
            "http://a.test/",
            200,
            BODY,
            2,
            1,
        )
        assert (made.via, made.ip, made.fetched_at, made.truncated) == (
            "http://b.test/",
            "127.0.0.1",
            1.5,
            "",
        )
        assert (made.content_type, made.header("SET-cookie"), made.header("x")) == (
            "text/html",
            "a=b",
            "",
        )

    def test_text_is_decoded_when_it_is_asked_for(self):
        """Neither encoding nor text is looked for before; then both are those of a browser."""
        made = page()
        assert made.encoding == ""
        assert made.text == "<p>Привет"
        assert made.encoding == "koi8-r"

    def test_a_known_encoding_is_used(self):
        """Who read the links has found the encoding: it is not looked for again."""
        made = page()
        made.encoding = "windows-1251"
        assert made.text == BODY.decode("cp1251")

    def test_what_the_owner_says_is_found_once_when_the_document_is_read(self):
        """Archive and table get the same words; before the document is read there may be more to
        come.
        """
        made = page(headers=[*HEADERS, (b"X-Robots-Tag", b"noindex")])
        assert made.said_so_far.directives == {"noindex"}
        made.found = DocumentLinks("http://a.test/", "koi8-r", meta_robots=frozenset({"noarchive"}))
        said = made.said_so_far
        assert said.directives == {"noindex", "noarchive"}
        assert made.said_so_far is made.preferences is said

    def test_a_page_is_small(self):
        """It has no dictionary of its own: thousands are in flight."""
        assert not hasattr(page(), "__dict__")

    @pytest.mark.parametrize("headers", [[], [(b"Content-Type", b"\xff\0")]])
    def test_a_bad_content_type_is_none(self, headers):
        """A header that says nothing leaves the type empty."""
        assert page(headers=headers).content_type == ""

    def test_pages_can_be_copied(self):
        """A pipeline that keeps copies of pages has equal ones."""
        made = page()
        assert copy.copy(made) == made
        assert copy.deepcopy(made).text == made.text


DOCUMENT = b"""<html lang=en><base href=/base/><title>t</title><link rel=canonical href=c>
<meta name=description content=d><meta property=og:type content=o><h1>h</h1>
<a href=1 rel="x nofollow">one</a><img src=2 alt=two>
<a href=//[bad>three</a>"""
HTML = [
    (b"Content-Type", b"text/html"),
    (b"X-Robots-Tag", b"NoArchive, max-snippet: 5"),
    (b"X-Robots-Tag", b"bot: none"),
]


JAPANESE = 3 * (
    "川のほとりに古い家が建っていて、以前誰が住んでいたのか誰も知りませんでした。毎朝、近所の人々は不思議な音を聞きましたが、"
    "子供たちは笑いながら庭を走り回りました。"
)
HUNGARIAN = 3 * (
    "Az árvíztűrő tükörfúrógép őrült gyorsan működött, és a kőműves büszkén nézte. Szép őszi délután volt, "
    "amikor a fiúk először játszottak a téren. "
)
FRENCH = 3 * (
    "L'été dernier, nous avons découvert une forêt où les chênes étaient très âgés; à côté coulait une rivière "
    "glacée. Le garçon s'est exclamé: « Ça alors, voilà un château hanté! » "
)


class TestLookedUp:
    """What is read when it is asked for."""

    def test_nothing_is_read_before(self):
        """A page that nobody looks into costs nothing."""
        made = page(DOCUMENT, HTML)
        assert (made.looked_up, made.encoding) == (None, "")

    def test_links_are_of_all_kinds(self):
        """Each has its kind, its address as written and resolved, its text and its rel."""
        links = page(DOCUMENT, HTML).links
        assert [*map(astuple, links)] == [
            ("canonical", "c", "", "canonical", "http://a.test/base/c"),
            ("a", "1", "one", "x nofollow", "http://a.test/base/1"),
            ("img", "2", "two", "", "http://a.test/base/2"),
            ("a", "//[bad", "three", "", ""),
        ]
        assert [link.nofollow for link in links] == [False, True, False, False]

    def test_links_that_the_crawl_has_read_are_not_read_again(self):
        """If the crawl read all kinds, with texts, that is it; if not, the page is read again."""
        made = page(DOCUMENT, HTML)
        made.found = DocumentLinks("http://b.test/", "utf-8", [("a", "x", "y", "")])
        assert made.links == [PageLink("a", "x", "y", "", "http://b.test/x")]
        made = page(DOCUMENT, HTML)
        made.found = DocumentLinks("http://b.test/", "utf-8", [("a", "x", "y", "")], whole=False)
        assert len(made.links) == 4

    def test_only_answers_that_are_the_page_have_links(self):
        """An error's page has none: nobody would follow them."""
        made = page(DOCUMENT, HTML)
        made.status = 404
        assert made.links == []

    def test_what_it_says_of_itself(self):
        """Language, canonical URL, description, headings, Open Graph, and robots directives that
        hold for all.
        """
        made = page(DOCUMENT, HTML)
        made.meta_robots = frozenset(["noindex"])
        assert (made.language, made.canonical, made.description) == ("en", "http://a.test/c", "d")
        assert (made.headings, made.open_graph) == ([(1, "h")], [("og:type", "o")])
        assert made.robots == {"noindex", "noarchive", "max-snippet: 5"}
        assert made.visible_text == "h\none three"

    @pytest.mark.parametrize("first", ["", "links", "visible_text", "language"])
    def test_one_reading_for_both(self, first):
        """After `look_through` text and headings are known, and are what each is when it is read
        alone.
        """
        body = b"<html lang=de><h1>Head</h1><p>text<p hidden>no"
        alone, both = page(body), page(body)
        getattr(both, first or "url")
        both.look_through()

        assert first == "language" or "visible_text" in both.looked_up
        for name in ("visible_text", "language", "headings", "links"):
            assert getattr(both, name) == getattr(alone, name)

    def test_the_language_of_the_answer(self):
        """A document that declares none has its answer's."""
        assert page(b"<p>", [*HTML, (b"Content-Language", b"sv")]).language == "sv"

    @pytest.mark.parametrize(
        ("content_type", "text"), [("text/plain", "<b>a"), ("image/png", ""), ("text/html", "a")]
    )
    def test_the_visible_text_of_other_types(self, content_type, text):
        """A plain text is visible as it is, what is no text is not."""
        assert page(b"<b>a", [(b"Content-Type", content_type.encode())]).visible_text == text

    @pytest.mark.parametrize(
        ("declared", "contradicted"),
        [("en", True), ("de", False), ("de-AT", False), ("tlh", False), ("", False)],
    )
    def test_a_declared_language_may_be_contradicted(self, declared, contradicted):
        """A text that is surely in another language than the declared one, if the detector knows
        that at all.
        """
        pytest.importorskip("resiliparse")
        text = (
            "Das Deutsche Volk bekennt sich darum zu unverletzlichen und unveräußerlichen Menschenrechten als "
            "Grundlage jeder menschlichen Gemeinschaft, des Friedens und der Gerechtigkeit in der Welt. Die "
            "nachfolgenden Grundrechte binden Gesetzgebung, vollziehende Gewalt und Rechtsprechung als unmittelbar "
            "geltendes Recht. Jeder hat das Recht auf die freie Entfaltung seiner Persönlichkeit."
        )
        body = f"<html lang='{declared}'><p>{text}".encode()

        assert page(body, HTML).contradicts_language is contradicted

    @pytest.mark.parametrize(
        ("declared", "text", "contradicted"),
        [
            ("en", JAPANESE, True),
            ("ja", JAPANESE, False),
            ("en", HUNGARIAN, True),
            ("fr", FRENCH, False),
        ],
        ids=["Japanese", "its own", "Hungarian", "French like Breton"],
    )
    def test_how_far_a_declaration_is_from_the_text(self, declared, text, contradicted):
        """What counts is how much less likely the declared language is than another, in any script."""
        pytest.importorskip("resiliparse")
        body = f"<meta charset=utf-8><html lang='{declared}'><p>{text}".encode()

        assert page(body, HTML).contradicts_language is contradicted

    @pytest.mark.parametrize(
        ("name", "package"), [("guessed_language", "resiliparse"), ("main_text", "trafilatura")]
    )
    def test_what_needs_a_package(self, name, package, monkeypatch):
        """Without the package, what to install is one clear line."""
        for module in ("resiliparse.parse.lang", "trafilatura"):
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(
            MissingLibraryError, match=f"{package} is not installed: pip install '{package}>="
        ):
            getattr(page(DOCUMENT, HTML), name)


class TestItemAdapter:
    def test_every_field_is_there(self):
        """All that the contract says a page has is there for itemadapter, text too."""
        adapter = ItemAdapter(page())
        wanted = "url status headers body content_type encoding text links depth via ip fetched_at timings digest"
        assert {*wanted.split(), "truncated", "attempt"} <= set(adapter.field_names())
        assert adapter["text"] == "<p>Привет"
        assert adapter.asdict()["timings"]["total"] == 0.0
        assert not {"exchange", "link", "_text"} & set(adapter.asdict())

    def test_fields_can_be_changed(self):
        """An ordinary pipeline sets fields by the adapter."""
        adapter = ItemAdapter(page())
        adapter["title"] = "new"
        adapter["text"] = "changed"
        assert (adapter.item.title, adapter.item.text) == ("new", "changed")

    @pytest.mark.parametrize(
        "exporter", [JsonLinesItemExporter, JsonItemExporter, CsvItemExporter, XmlItemExporter]
    )
    def test_scrapys_exporters_write_it(self, exporter):
        """A feed of pages works as it is: bytes become text that can be turned back."""
        file = io.BytesIO()
        writer = exporter(file)
        writer.start_exporting()
        made = page()
        made.digest, made.meta_robots = b"\x01", frozenset(["noindex"])
        writer.export_item(made)
        writer.finish_exporting()
        assert b"PHA+8NLJ18XU" in file.getvalue()

    def test_json_has_plain_values(self):
        """In JSON lines headers are pairs, the digest is hexadecimal, the timings are numbers."""
        file = io.BytesIO()
        JsonLinesItemExporter(
            file, fields_to_export=["headers", "digest", "timings", "text"]
        ).export_item(page())
        row = json.loads(file.getvalue())
        assert row["headers"][1] == ["Set-Cookie", "a=b"]
        assert (row["digest"], row["timings"]["dns"], row["text"]) == ("", 0.0, "<p>Привет")


def test_of_what_a_reader_sees():
    """It is that of the visible text, whatever the markup; it is read once, and no field of the
    item.
    """
    words = " ".join(f"word{number}" for number in range(50))
    body = f"<title>x</title><p>{words}</p><script>more()</script>".encode()
    kind = [(b"Content-Type", b"text/html")]
    exchange = Exchange(
        "http://a.test/", b"", 200, b"", kind, body, body, body, "192.0.2.1", 0.0, Timings()
    )
    page = Page.of(Link("http://a.test/"), exchange)

    assert page.fingerprint == fingerprint(words)
    assert page.looked_up["fingerprint"] == page.fingerprint
    assert "fingerprint" not in [one.name for one in fields(Page)]
