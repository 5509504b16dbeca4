"""Documents are made in a process that may die, of pages of any kind."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lamp_site import ARTICLE
from webcrawl.content import token_count
from webcrawl.content.document_extraction import BROKEN, DocumentBody, DocumentProcess, extracted
from webcrawl.content.text_quality import COLUMNS, plain, quality

HEAD = {"url": "http://a.test/", "encoding": "UTF-8", "is_markup": True, "fetched": "2026-11-22"}
DEEP = b"<div>" * 100_000 + b"deep"
WIDE = b"<p " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">wide"

ODD = [b"", b"\0" * 99, b"<!--", b"<?xml", b"<title>x", bytes(range(256)) * 9, DEEP, WIDE]


def fake(code):
    """A worker that says it is ready, and then does something else."""
    start = "import socket, struct, os; wire = socket.socket(fileno=0); wire.sendall(b'R'); wire.recv(8); "
    return DocumentProcess((sys.executable, "-c", start + code))


@pytest.mark.parametrize(
    "code", ["os.abort()", "os._exit(0)", "wire.sendall(struct.pack('<Q', 4) + b'none')"]
)
def test_a_page_that_brings_it_down(code):
    """It has no text; its row says why."""
    reader = fake(code)

    assert reader.document(HEAD, b"<p>") == BROKEN
    reader.close()


def test_nothing_is_begun_after_the_end():
    """Pages that still wait when the crawl ends start no process."""
    reader = fake("os._exit(0)")
    reader.kill()

    with pytest.raises(OSError, match="closed"):
        reader.document(HEAD, b"<p>")


@pytest.fixture(name="reader", scope="module")
def _reader():
    pytest.importorskip("trafilatura", reason="needs trafilatura")
    pytest.importorskip("resiliparse", reason="needs resiliparse")
    reader = DocumentProcess()
    yield reader
    reader.close()


class TestReal:
    """With the libraries."""

    def test_masked_contacts(self, reader):
        """If they are wanted masked, the text is there as well as a copy without them."""
        body = ARTICLE.replace("</p>", " Write to ada@example.org.</p>", 1).encode()
        plain_text = reader.document(HEAD, body)
        both = reader.document(HEAD | {"is_masked": True}, body)

        assert plain_text["text_masked"] is None
        assert "ada@example.org" in both["text"]
        assert "ada@example.org" not in both["text_masked"]
        assert "Write to <email>." in both["text_masked"]

    def test_tokens_that_take_too_long_to_count(self, monkeypatch, tmp_path):
        """A text has no count then, and the document is there all the same."""
        tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
        words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))  # noqa: S106 - no password
        words.save(str(tmp_path / "tokenizer.json"))
        monkeypatch.setattr(token_count, "SECONDS", -1.0)
        body = DocumentBody(
            **HEAD, data=ARTICLE.encode(), tokenizer=str(tmp_path / "tokenizer.json")
        )
        about = extracted(body)

        assert about["token_count"] is None
        assert "How lamps work" in about["text"]

    @pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
    def test_odd_pages(self, reader, body):
        """There is an answer, and the next page is read."""
        found = reader.document(HEAD, body)

        assert isinstance(found.get("text", ""), str)
        assert "How lamps work" in reader.document(HEAD, ARTICLE.encode())["text"]

    def test_a_text_that_swells(self, reader):
        """Short links to long addresses are truncated with the text, which is bounded."""
        body = b"<body><article><p>%b</p></article></body>" % (b"word <a href=x>link</a> " * 700)
        found = reader.document({**HEAD, "url": f"http://a.test/{'y' * 1900}/"}, body)

        assert (len(found["text"]), found["truncated"]) == (1 << 20, "length")

    @pytest.mark.parametrize(
        ("base", "found"),
        [("", "http://a.test/folder/x"), ("<base href=//b.test/y/>", "http://b.test/y/x")],
    )
    def test_links(self, reader, base, found):
        """They are absolute, as a browser has them."""
        body = f"<head>{base}</head><body><article><p>{'word ' * 60}<a href=x>link</a></p></article></body>".encode()

        assert (
            f"[link]({found})"
            in reader.document({**HEAD, "url": "http://a.test/folder/page"}, body)["text"]
        )

    def test_an_error_of_a_library(self, reader):
        """It is named."""
        assert reader.document({**HEAD, "no such": "field"}, b"<p>") == {"flaw": "TypeError"}

    def test_lines_of_the_markup_are_no_lines_of_the_text(self, reader):
        """Text that is broken and indented in the markup is one line; code stays as it is."""
        text = (
            b"<body><article><p>%b\n            more</p><pre>a\n        b</pre></article></body>"
            % (b"word " * 60)
        )
        found = reader.document(HEAD, text)["text"]

        assert "word more" in found
        assert "a\n        b" in found

    def test_a_plain_text(self, reader):
        """It is its own main text, without control characters."""
        found = reader.document({**HEAD, "is_markup": False}, b"a <b>\x00\r\n\r\n\r\n\r\nc  ")

        assert found["text"] == "a <b>\ufffd\n\nc"


PROSE = f"<p>{'This is a paragraph of prose that is long enough to count. ' * 6}</p>"
CODE = "let a: Vec&lt;u8&gt; = b;\n\n\tlet c = a;"
WRITTEN = "let a: Vec<u8> = b;\n\n\tlet c = a;"


class TestCode:
    """Blocks of code, with the libraries: they are left as they were written."""

    @pytest.fixture(name="text")
    def _text(self, reader):
        """The text of a page with this in the middle of it."""
        return lambda markup: reader.document(
            HEAD,
            f"<html><body><main><h1>Title</h1>{PROSE}{markup}{PROSE}</main></body></html>".encode(),
        )["text"]

    @pytest.mark.parametrize(
        "markup",
        [
            f"<pre><code>{CODE}</code></pre>",
            f"<figure><pre><code>{CODE}</code></pre><figcaption>Listing 1</figcaption></figure>",
            f"<div><pre><code>{CODE}</code></pre><a href=/run?code=x></a></div>",
            f"<pre><code>{CODE.replace('Vec', '<a href=/Vec>Vec</a>')}</code></pre>",
            f"<pre><code>{CODE.replace('let', '<span class=kw>let</span>')}</code></pre>",
            f"<pre><code>{CODE.replace(chr(10), '<br>')}</code></pre>",
        ],
        ids=[
            "plain",
            "in a figure",
            "with a link to run it",
            "with links",
            "in colours",
            "with br",
        ],
    )
    def test_code_is_as_it_is_written(self, text, markup):
        """Empty lines, indentation and brackets are there, between fences; what stands around it
        does not matter.
        """
        assert f"```\n{WRITTEN}\n```" in text(markup)

    def test_code_in_a_list_is_part_of_its_item(self, text):
        """On lines of its own, indented as the text of the item is."""
        assert "1. one\n   ```\n   a\n\n     b\n   ```\n2. two" in text(
            "<ol><li>one<pre><code>a\n\n  b</code></pre></li><li>two</li></ol>"
        )

    def test_code_in_a_table_takes_no_lines(self, text):
        """A table of Markdown has one line per row."""
        assert "| code | `a = 1 b = 2`" in text(
            "<table><tr><td>name<td>text</tr><tr><td>code<td><pre><code>a = 1\nb = 2</code></pre></table>"
        )

    def test_a_list_in_a_table_stays(self, text):
        """Its items stand one after the other."""
        assert "| things | first item second item |" in text(
            "<table><tr><td>name<td>text</tr><tr><td>things<td><ul><li>first item</li><li>second item</li></ul></table>"
        )

    def test_code_may_have_fences(self, text):
        """Its own are then longer, and the code after it is not taken for text."""
        found = text(
            "<pre><code>/// ```\n/// x\n/// ```</code></pre><p>a<code>```</code>b</p><pre><code>c\n\nd</code></pre>"
        )

        assert "````\n/// ```\n/// x\n/// ```\n````" in found
        assert "```\nc\n\nd\n```" in found

    def test_a_link_that_shows_nothing_takes_no_text(self, text):
        """An image with a link before a paragraph does not make that paragraph a link."""
        found = text(
            "<p><a href=/image><img src=x></a>Some words, <a href=/y>then a link</a>, and the rest of it.</p>"
        )

        assert "Some words, [then a link](http://a.test/y), and the rest of it." in found

    def test_the_language_is_that_of_the_prose(self, reader):
        """Code says nothing of it, however long it is."""
        words = (
            "The lamp is bright when the night is dark, and people read their books until they go to sleep. "
            * 3
        )
        lines = "impl de la dans pour le mut une est i32;\n" * 200
        body = f"<body><main><p>{words}</p><pre><code>{lines}</code></pre></main></body>"

        assert reader.document(HEAD, body.encode())["language_detected"] == "en"


LINES = (
    "A line that ends well.\nno end\n- a bullet, and more of it behind\nto be continued...\nno end"
)


def measured(text):
    return dict(zip(COLUMNS, quality(text), strict=True))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("words", "one two three", 3),
        ("words", "\u4e2d\u6587 word", 3),  # a character of Chinese is a word
        ("mean_word_length", "a bcd", 2.0),
        ("symbol_share", "a # b #", 0.5),
        ("symbol_share", "a b... c\u2026 d", 0.5),
        ("alphabetic_words", "a 1 2 b3", 0.5),
        ("stop_words", "The cat and the hat, to be", 4),
        ("bullet_lines", LINES, 0.2),
        ("ellipsis_lines", LINES, 0.2),
        ("punctuated_lines", LINES, 0.4),
        ("short_lines", LINES, 0.8),
        ("repeated_lines", LINES, 0.2),
        ("repeated_line_characters", "abc\nabc\nab\n", 3 / 8),
        ("repeated_paragraphs", "a\nb\n\nc\n\na\nb\n\nd", 0.25),
        ("top_2_grams", "a b c a b", 0.8),
        ("top_2_grams", "a b c d", 0.0),
        ("top_3_grams", "a b c a b c d d", 0.75),
        ("top_4_grams", "a b c d a b c d", 1.0),
        ("repeated_5_grams", "a b c d e a b c d e", 0.5),
        # of two runs that overlap, one is counted
        ("repeated_5_grams", "a a a a a a a a a a a", 10 / 11),
        ("repeated_6_grams", "a b c d e a b c d e", 0.0),
        ("repeated_10_grams", "a b c d e f g h i j a b c d e f g h i j", 0.5),
        ("curly_brackets", "function() {", True),
        ("lorem_ipsum", "Lorem Ipsum dolor", True),
        ("lorem_ipsum", "dolor", False),
    ],
)
def test_a_measure(name, text, value):
    """Shares are of words, lines, paragraphs, characters or letters, as docs/columns.md says."""
    assert measured(text)[name] == pytest.approx(value)


def test_what_nobody_reads_is_left_out():
    """Addresses of links, and marks of headings."""
    assert (
        plain("## About [us](http://a.test/us)\n\n- C# is [one] (two)")
        == "About us\n\n- C# is [one] (two)"
    )


@given(st.text(max_size=300) | st.text("a b\n#-.", max_size=300))
def test_any_text_has_all_measures(text):
    """Each of its kind; shares are between 0 and 1."""
    found = measured(text)

    assert {name: type(value) for name, value in found.items()} == COLUMNS
    others = {"words", "mean_word_length", "symbol_share", "stop_words"}
    assert all(0 <= found[name] <= 1 for name in found.keys() - others)


def test_as_datatrove_counts():
    """Runs that come again are counted as datatrove's Gopher filter counts them, but for its
    blanks.
    """
    filters = pytest.importorskip(
        "datatrove.pipeline.filters.gopher_repetition_filter", reason="needs datatrove"
    )
    words = (
        "the lamp is lit and the lamp is bright and the lamp is lit and so is the lamp that is lit and bright "
        * 3
    ).split()
    letters = sum(map(len, words))

    found = measured(" ".join(words))
    assert [round(found[f"repeated_{size}_grams"] * letters) for size in range(5, 11)] == [
        filters.find_all_duplicate(words, size) for size in range(5, 11)
    ]
