"""Which links are found in a page, and how."""

import gzip
import json

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.support.cases import cases
from tests.support.examples import examples
from webcrawl.content.html import embedded_addresses, link_kinds, tree_guard
from webcrawl.content.html.link_kinds import is_nofollow
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.crawl.checks import check

URL = "http://site.test/dir/page.html"
ALL = LinkReader(link_kinds.KINDS)


def found(html, reader=ALL, content_type="text/html; charset=utf-8"):
    return reader.links(html if isinstance(html, bytes) else html.encode(), content_type, URL)


def links(html, **more):
    return [(kind, url) for kind, url, _, _ in found(html, **more).links]


class TestKinds:
    def test_attributes_of_other_elements(self):
        """What an element has no use for is no link, even if others have."""
        html = "<p href=1 src=2 data=3 action=4 poster=5 srcset='6 1x' imagesrcset='7 1x' xlink:href=8 formaction=9>"
        assert links(html) == []

    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<a href=x>", [("a", "x")]),
            ("<a href>", [("a", "")]),
            ("<a name=x>", []),
            ("<map><area href=x></map>", [("area", "x")]),
            ("<frameset><frame src=x></frameset>", [("frame", "x")]),
            ("<iframe src=x></iframe>", [("iframe", "x")]),
            (
                "<frameset></frameset><noframes><a href=x><!-- <a href=y> --></noframes>",
                [("a", "x")],
            ),
            ("<meta http-equiv=Refresh content='1; url=x'>", [("refresh", "x")]),
            ("<meta http-equiv=refresh content=1>", []),
            ("<link rel='x CANONICAL' href=y>", [("canonical", "y")]),
            ("<link rel=stylesheet href=x>", [("link", "x")]),
            ("<link rel=preload imagesrcset='x 1x, y 2x'>", [("srcset", "x"), ("srcset", "y")]),
            ("<img src=x srcset='y 1x, z 2x'>", [("img", "x"), ("srcset", "y"), ("srcset", "z")]),
            ("<image src=x>", [("img", "x")]),
            ("<input type=IMAGE src=x><input src=y>", [("img", "x")]),
            ("<body background=x>", [("img", "x")]),
            ("<script src=x></script>", [("script", "x")]),
            ("<style>a{b:url(x)}</style>", [("style", "x")]),
            ("<a href=x style='b:url(y)'>", [("a", "x"), ("style", "y")]),
            (
                "<video poster=x src=y><source src=z></video>",
                [("img", "x"), ("media", "y"), ("media", "z")],
            ),
            ("<audio src=x></audio><track src=y>", [("media", "x"), ("media", "y")]),
            ("<object data=x></object><embed src=y>", [("object", "x"), ("object", "y")]),
            (
                "<form action=x><button formaction=y></button></form>",
                [("form", "x"), ("form", "y")],
            ),
            (
                "<svg><a href=x></a><a xlink:href=y></a><image xlink:href=z /></svg>",
                [("a", "x"), ("a", "y"), ("img", "z")],
            ),
            ("<svg><use href='x#y'></use><use href='#z'></use></svg>", [("img", "x#y")]),
        ],
    )
    def test_every_kind_is_recognised(self, html, expected):
        """Each kind of LINK_SOURCES is found where HTML has it."""
        assert links(html) == expected

    @pytest.mark.parametrize("kind", link_kinds.KINDS)
    def test_only_wanted_kinds_are_collected(self, kind):
        """A reader of one kind finds only that kind."""
        page = (
            "<link rel=canonical href=c><link href=l><meta http-equiv=refresh content='0;r'><style>url(s)</style>"
            "<a href=a></a><map><area href=b></map><iframe src=i></iframe><img src=m srcset=n><script src=o></script>"
            "<video src=v></video><embed src=e><form action=f></form><p data-src=/d></p>"
            '<script type="application/ld+json">{"url": "/j"}</script>'
        )
        html = page if kind != "frame" else "<frameset><frame src=f></frameset>"
        assert {name for name, _ in links(html, reader=LinkReader([kind]))} == {kind}

    def test_kinds_take_no_room_from_each_other(self):
        """Style sheets nested in each other, whose text exceeds the page, hide no link of another
        kind.
        """
        html = (
            f"<svg>{'<style>' * 9}{'x' * 40}{'</style>' * 9}</svg><noframes><a href=x></noframes>"
        )
        assert links(html) == links(html, reader=LinkReader(["a"])) == [("a", "x")]

    def test_the_setting_knows_all_kinds(self):
        """LINK_SOURCES = all means every kind that a reader knows."""
        known = check({"LINK_SOURCES": "all"})["LINK_SOURCES"]

        assert known == link_kinds.ALL
        assert known[: len(link_kinds.KINDS)] == link_kinds.KINDS

    def test_document_order_is_kept(self):
        """Links come in document order, whatever their kinds."""
        html = "<img src=1><a href=2><img src=3></a><iframe src=4></iframe><a href=5>"
        assert [url for _, url in links(html)] == ["1", "2", "3", "4", "5"]


class TestPlaces:
    @pytest.mark.parametrize(
        "html",
        [
            "<!-- <a href=x> -->",
            "<script>'<a href=x>'</script>",
            "<script><!-- <script> </script> <a href=x> --></script>",
            "<style><a href=x></style>",
            "<title><a href=x></title>",
            "<textarea><a href=x></textarea>",
            "<xmp><a href=x></xmp>",
            "<iframe><a href=x></iframe>",
            "<p title='<a href=x>'>",
            "<template><a href=x></template>",
            "<plaintext><a href=x>",
            "<a href=x",
        ],
    )
    def test_what_is_no_element_is_no_link(self, html):
        """Comments, script, other raw text, attribute values and templates contain no links."""
        assert not links(html)

    def test_noscript_holds_links(self):
        """A crawler does not run scripts, so it reads <noscript>."""
        assert links("<noscript><a href=x></noscript><head><noscript><link href=y></noscript>") == [
            ("a", "x"),
            ("link", "y"),
        ]

    def test_broken_markup_is_read_as_browsers_read_it(self):
        """Missing ends, missing quotes, doubled attributes, foster parenting: the standard defines
        their meaning.
        """
        html = "<table><a href='a'b=c HREF=z><tr><td><a href=b<i><a href=c/>"
        assert links(html) == [("a", "a"), ("a", "b<i"), ("a", "c/")]

    def test_entities_in_addresses_are_resolved(self):
        """Character references are resolved, but `&copy=` in an attribute is not a copyright sign."""
        assert links("<a href='?a=1&amp;b=2&copy=3&#x2F;&eacute;'>") == [("a", "?a=1&b=2&copy=3/é")]

    @pytest.mark.parametrize(
        "content_type", ["text/plain", "image/png", "application/json", "application/rss+xml"]
    )
    def test_other_types_have_no_links(self, content_type):
        """Other content types than HTML are not searched for links."""
        assert not links("<a href=x>", content_type=content_type)


class TestXhtml:
    PAGE = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><title/><script src="s"/>{}</html>'

    def test_xml_is_read_as_xml(self):
        """In XHTML an empty script ends at once, and CDATA is text."""
        html = self.PAGE.format(
            "<![CDATA[<a href='no'/>]]><a href='yes?a&amp;b'/><!-- <a href='no'/> -->"
        )
        assert links(html, content_type="application/xhtml+xml") == [
            ("script", "s"),
            ("a", "yes?a&b"),
        ]

    def test_names_count_with_their_namespace(self):
        """An element of the same name in another vocabulary is no link."""
        html = self.PAGE.format('<x:a xmlns:x="urn:x" href="no"/>')
        assert links(html, content_type="text/xml") == [("script", "s")]

    def test_entities_are_never_expanded(self):
        """A document type with nested entities costs nothing, and no file is opened."""
        bomb = '<!DOCTYPE html [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
        html = bomb + self.PAGE.removeprefix('<?xml version="1.0"?>').format(
            "<a href='x'>&b;&f;</a>"
        )
        assert ("a", "x") in links(html, content_type="application/xhtml+xml")

    def test_a_broken_document_gives_what_was_read(self):
        """Everything before an error in the markup is kept."""
        assert links(self.PAGE.format("<a href='x'></b>"), content_type="application/xhtml+xml")[
            :2
        ] == [
            ("script", "s"),
            ("a", "x"),
        ]


class TestHead:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("", URL),
            ("<base href='/other/'>", "http://site.test/other/"),
            ("<base target=x><base href=one/><base href=two/>", "http://site.test/dir/one/"),
            ("<body><base href=late/>", "http://site.test/dir/late/"),
            ("<base href='data:,x'>", URL),
            ("<base href='javascript:x'>", URL),
            ("<base href='http://[bad'>", URL),
            ("<base href=''>", URL),
            ("<template><base href='/no/'></template>", URL),
        ],
    )
    def test_the_base_is_the_first_with_an_address(self, html, expected):
        """The first base element with href counts, wherever it is, if its URL is usable."""
        assert found(html).base == expected

    def test_meta_robots_are_collected(self):
        """All robots directives of a page are combined, in lower case."""
        html = (
            "<meta name=Robots content='NoIndex, nofollow,'><meta name=robots "
            "content=noarchive><meta name=x content=y>"
        )
        assert found(html).meta_robots == {"noindex", "nofollow", "noarchive"}

    def test_title_canonical_and_refresh_are_told_even_if_not_followed(self):
        """The head's fields are returned whichever kinds are wanted."""
        page = found(
            "<title> A \n b </title><title>no</title><link rel=canonical href=c><meta http-equiv=refresh content='x'>"
            "<meta http-equiv=refresh content='5;d'><meta http-equiv=refresh content='6;e'>",
            reader=LinkReader(["a"]),
        )
        assert (page.title, page.canonical, page.refresh, page.links) == ("A b", "c", (5, "d"), [])

    def test_links_are_in_the_documents_encoding(self):
        """A URL in a page of another encoding is decoded from it, and its query is encoded in it."""
        page = ALL.links("<meta charset=koi8-r><a href='/я?я'>".encode("koi8-r"), "text/html", URL)
        assert (page.encoding, page.links[0][1]) == ("koi8-r", "/я?%D1")

    def test_utf_16_is_read(self):
        """A document in UTF-16 has links like any other."""
        assert links("\ufeff<a href=x>".encode("utf-16le"), content_type="text/html") == [
            ("a", "x")
        ]


class TestMore:
    def test_nofollow_is_recorded(self):
        """A rel is kept as written; the word nofollow in it, in any case, marks the link."""
        html = "<a href=1 rel='x NoFollow'><a href=2 rel=nofollower><a href=3><form action=4 rel=nofollow>"
        rels = [(url, rel) for _, url, _, rel in found(html).links]
        assert rels == [("1", "x NoFollow"), ("2", "nofollower"), ("3", ""), ("4", "nofollow")]
        assert [(url, is_nofollow(rel)) for url, rel in rels] == [
            ("1", True),
            ("2", False),
            ("3", False),
            ("4", True),
        ]

    def test_anchor_text_is_collected_when_asked_for(self):
        """As in LARM: the text within an anchor, the alternative text of images and areas."""
        reader = LinkReader(["a", "img", "area"], anchor_text=True)
        html = "<a href=1> two \n <b>words</b></a><img src=2 alt=' pic '><map><area href=3 alt=area></map>"
        assert [text for _, _, text, _ in found(html, reader=reader).links] == [
            "two words",
            "pic",
            "area",
        ]
        assert {text for _, _, text, _ in found(html).links} == {""}

    def test_anchor_text_is_bounded(self):
        """A link's text is at most 500 characters."""
        reader = LinkReader(["a"], anchor_text=True)
        assert len(found("<a href=1>" + "x" * 10_000, reader=reader).links[0][2]) == 500

    @given(st.lists(st.text("ab \t\n\x85\xa0\u3000", max_size=12), max_size=5))
    def test_anchor_text_has_single_spaces(self, texts):
        """Each text is its words with single spaces between, whatever the texts beside it."""
        reader = LinkReader(["a"], anchor_text=True)
        html = "".join(f"<a href=x>{text}</a><a href=y></a>" for text in texts)
        expected = [part for text in texts for part in (" ".join(text.split()), "")]
        assert [text for _, _, text, _ in found(html.encode(), reader=reader).links] == expected

    def test_text_that_is_truncated_at_a_space(self):
        """The first 500 characters of a long text are the same whether or not other texts have to
        be tidied.
        """
        reader = LinkReader(["a"], anchor_text=True)
        long, truncated = "w " * 400, "w " * 250
        for other in ("b", " b "):
            links = found(f"<a href=1>{long}</a><a href=2>{other}</a>", reader=reader).links
            assert [text for _, _, text, _ in links] == [truncated, "b"]


WORDS = (
    *(
        "<a href=1>",
        "<a href='2' rel=nofollow>",
        "</a>",
        "<p>",
        "</p>",
        "<b class=x>",
        "</b>",
        "<table>",
        "<td>",
    ),
    *(
        "</table>",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "<template>",
        "</template>",
        "<svg>",
        "</svg>",
        "<",
    ),
    *(
        "<iframe src=3>",
        "</iframe>",
        "<base href=4>",
        "<title>",
        "</title>",
        "<select>",
        "<option>",
        "text",
        ">",
    ),
    *("<img src=5 srcset='6 1x'>", "'", '"', "\0"),
)


class TestAnything:
    @given(
        st.binary(max_size=300),
        st.sampled_from(["text/html", "application/xhtml+xml", "", "text/html;charset=utf-16"]),
    )
    def test_no_bytes_raise(self, body, content_type):
        """Any bytes of any type have links or none."""
        ALL.links(body, content_type, URL)

    @given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
    @examples(300)
    def test_anchors_are_those_of_the_tree(self, html):
        """For any soup of tags, the anchors are those of the standard's tree."""
        tree = LexborHTMLParser(html)
        assert [url for kind, url in links(html) if kind == "a"] == [
            node.attributes["href"] for node in tree.css("a") if "href" in node.attributes
        ]

    @given(st.text(max_size=100))
    def test_links_are_text_that_can_be_written(self, text):
        """Every link can be encoded: it never contains half a surrogate pair."""
        for _, url, anchor, _ in found(
            f"<a href='{text}&#xD800;'>{text}".encode("utf-8", "replace")
        ).links:
            (url + anchor).encode()


class TestJsonLd:
    def found(self, script, kind="application/ld+json"):
        return [
            link[1]
            for link in LinkReader(["jsonld"])
            .links(f'<script type="{kind}">{script}</script>'.encode(), "text/html", URL)
            .links
        ]

    def test_properties_that_are_addresses(self):
        """Those that mean a page, a file or an image, however deep, each once; names and contexts
        are none.
        """
        assert self.found("""{"@context": "https://schema.org", "@id": "https://a.test/#me", "@graph": [{"@type": "T",
            "url": "/one", "name": "https://no.test/", "image": {"url": ["/i.png", "/one"]}, "sameAs": ["https://b.test/"],
            "item": "#fragment", "logo": "no address"}]}""") == [
            "https://a.test/#me",
            "/one",
            "/i.png",
            "https://b.test/",
        ]

    @pytest.mark.parametrize(
        "script", ["", "{", "[" * 10_000, '{"url": "/x",}', "1" * 10_000, '"http://a.test/"']
    )
    def test_what_is_no_json(self, script):
        """It has none."""
        assert self.found(script) == []

    def test_other_scripts(self):
        """They are not read."""
        assert self.found('{"url": "/x"}', "application/json") == []

    def test_a_crowd(self):
        """Of one script so many are kept."""
        assert (
            len(self.found(json.dumps({"url": [f"/{at}" for at in range(5000)]})))
            == embedded_addresses.MOST
        )


class TestData:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<p data-href=/x></p>", ["/x"]),
            (
                "<img src=0 data-src='img/a.jpg' data-srcset='b.jpg 1x, c.jpg 2x'>",
                ["img/a.jpg", "b.jpg", "c.jpg"],
            ),
            ("<a href=0 data-url=//a.test/x>y</a>", ["//a.test/x"]),
            (
                "<p data-url='?page=2' data-link=x.html data-bg=HTTP://a.test/></p>",
                ["?page=2", "x.html", "HTTP://a.test/"],
            ),
            (
                "<p data-url=name data-href='{&quot;a&quot;: 1}' data-src='two words/' data-link=''></p>",
                [],
            ),
            ("<p data-other=/x>", []),
        ],
    )
    def test_what_looks_like_an_address(self, html, expected):
        """A path, an address, the name of a file; a word is none."""
        assert [
            link[1] for link in LinkReader(["data"]).links(html.encode(), "text/html", URL).links
        ] == expected


class TestFeeds:
    def test_alternates_that_are_feeds(self):
        """A page's feeds have a kind of their own; other alternates are links."""
        html = (
            "<link rel='alternate nofollow' type='Application/RSS+XML' href=1><link rel=alternate hreflang=de href=2>"
            "<link rel=alternate type=application/atom+xml href=3><link rel=x type=application/rss+xml href=4>"
        )
        assert links(html, reader=LinkReader(["link", "feed"])) == [
            ("feed", "1"),
            ("link", "2"),
            ("feed", "3"),
            ("link", "4"),
        ]


READER = LinkReader([*link_kinds.FOLLOWED, "link", "feed"])
TAGS = {"meta": "refresh", "canonical": "link", "feed": "link"}


@pytest.mark.parametrize("name", ["html-newspaper", "html-readability"])
def test_real_pages_give_their_links(name):
    """Every link of every page in document order, the base, the targets and the robots directives
    are equal.
    """
    folder = cases(name)
    count = 0
    for line in gzip.decompress((folder / "links.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        url = row["url"] or "http://base.example/dir/page.html"
        found = READER.links(gzip.decompress((folder / row["file"]).read_bytes()), "text/html", url)
        assert [(TAGS.get(kind, kind), link) for kind, link, _, _ in found.links] == [
            (TAGS.get(tag, tag), raw) for tag, raw, *_ in row["links"]
        ], row["id"]
        assert found.base == row["base"]
        assert found.meta_robots == {
            part.strip().lower() for part in ",".join(row["meta_robots"]).split(",")
        } - {""}
        for (_, link, _, _), (_, _, target, *_) in zip(found.links, row["links"], strict=True):
            assert _joined(found.base, link) == target
            count += 1
    assert count > 10_000


def _joined(base, link):
    try:
        return ada_url.join_url(base, link)
    except ValueError:
        return None


@pytest.mark.parametrize("name", ["html-newspaper", "html-readability"])
def test_heavy_pages_would_give_the_same(name, monkeypatch):
    """If every page were too heavy for lexbor, libxml2 would find the same set of links."""
    monkeypatch.setattr(tree_guard, "heavy", lambda html: True)
    folder = cases(name)
    for line in gzip.decompress((folder / "links.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        found = READER.links(
            gzip.decompress((folder / row["file"]).read_bytes()), "text/html", "http://a.test/"
        )
        assert {link for _, link, _, _ in found.links} == {raw for _, raw, *_ in row["links"]}, row[
            "id"
        ]
