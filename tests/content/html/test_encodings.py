"""The encoding of a document: labels, declarations, precedence, guesses."""

import gzip
import json
import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.content.html import encodings, mimetype
from webcrawl.content.html.encodings import (
    _MARKUP,
    _by_browsers,
    _by_chardet,
    declared,
    encoding_of,
    guess,
    is_utf_8,
    sample,
)
from webcrawl.content.html.trees import markup

SENTENCES = (
    "La città è una comunità di persone che vivono in un luogo; perché non c'è più tempo, si va.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία σήμερα και αύριο",
    "いろはにほへとちりぬるを わかよたれそつねならむ 一番",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر",
    "天地玄黃宇宙洪荒日月盈昃辰宿列張一二三四五寒來暑往秋收冬藏",
)
GERMAN = (
    "Über den Dächern fährt die kleine Bahn täglich durch größere Straßen; "
    "die Bäckerin schöner Brötchen grüßt müde Gäste."
)
RUSSIAN = "<p>Съешь ещё этих мягких французских булок, да выпей же чаю</p>" * 3


class TestLabels:
    def test_every_label_of_the_standard_names_its_encoding(self):
        """All labels of the Encoding Standard are known and name the standard's encoding."""
        table = json.loads((cases("charset-prescan") / "whatwg-encodings.json").read_text())
        for section in table:
            for encoding in section["encodings"]:
                for label in encoding["labels"]:
                    assert encodings.lookup(label) == encoding["name"].lower()

    def test_latin_1_is_windows_1252(self):
        """A page that declares ISO-8859-1 is read as browsers read it."""
        assert encodings.lookup(" ISO-8859-1\t") == "windows-1252"
        assert encodings.decode(b"\x80\x81", "windows-1252") == "\u20ac\x81"

    @pytest.mark.parametrize(
        "label",
        [
            "",
            "no-such",
            "utf-\u0661",
            "\u212aoi8-r",
            "utf-7",
            "punycode",
            "zlib_codec",
            "unicode_escape",
            "undefined",
        ],
    )
    def test_unknown_labels_name_nothing(self, label):
        """A label that the standard does not list is unknown, even if Python has a codec for it."""
        assert encodings.lookup(label) is None

    @given(
        st.binary(max_size=60), st.sampled_from(sorted(set(encodings.webencodings.LABELS.values())))
    )
    @example(b"\xff\xfe<\0", "utf-16le")
    @example(b"\xd8\x00", "utf-16be")
    def test_decoding_never_raises(self, body, encoding):
        """Any bytes decode in any encoding, to text that can be encoded again."""
        encodings.decode(body, encoding).encode()

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16le", "utf-16be"])
    def test_a_byte_order_mark_is_not_text(self, encoding):
        """A leading byte order mark is not part of the text."""
        assert encodings.decode("\ufeffx".encode(encoding), encoding) == "x"

    def test_replacement_shows_nothing(self):
        """Encodings in which markup could be hidden from a filter are not read at all."""
        assert encodings.decode(b"<a href=x>", "replacement") == "\ufffd"


class TestPrescan:
    def test_html5lib_agrees(self):
        """The declared encoding is the one that html5lib's tests expect."""
        for line in (cases("charset-prescan") / "html5lib-encoding.jsonl").read_text().splitlines():
            row = json.loads(line)
            assert encoding_of(row["data_latin1"].encode("latin-1")) == row["encoding"], row["id"]

    @pytest.mark.parametrize(
        ("head", "expected"),
        [
            (b"<meta charset=koi8-r>", "koi8-r"),
            (b"<META/CHARSET = 'koi8-r'/>", "koi8-r"),
            (b"<meta charset=koi8-r", None),
            (b"<metax charset=koi8-r>", None),
            (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
            (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
            (b"<!--><meta charset=koi8-r>", "koi8-r"),
            (b"<!-- <meta charset=koi8-r>", None),
            (b"<a title='<meta charset=big5>'><meta charset=koi8-r>", "koi8-r"),
            (b"<a title='<meta charset=big5>", None),
            (b"<? <meta charset=big5><meta charset=koi8-r>", "koi8-r"),
            (b"<meta content='text/html; charset=koi8-r'>", None),
            (b"<meta content='text/html; charset=koi8-r' http-equiv=Content-Type>", "koi8-r"),
            (b"<meta content='charset=big5' charset=koi8-r>", "koi8-r"),
            (b"<meta charset=nonsense content='charset=big5' http-equiv=content-type>", None),
            (b"<meta charset=koi8-r charset=big5>", "koi8-r"),
            (b"<meta charset=utf-16>", "utf-8"),
            (b"<meta charset=x-user-defined>", "windows-1252"),
            (b"<meta http-equiv=content-type content='charset charset = \"koi8-r\"'>", "koi8-r"),
            (b"<meta http-equiv=content-type content='charset=\"koi8-r'>", None),
            (b"<?xml version='1.0' encoding = 'koi8-r'?>", "koi8-r"),
            (b"<?xml encoding='koi8 r'?>", None),
            (b"<?xml encoding='big5'?><meta charset=koi8-r>", "koi8-r"),
            (b"<\0?\0x\0m\0l\0", "utf-16le"),
            (b"\0<\0?\0x\0m\0l", "utf-16be"),
            (b" " * 1003 + b"<meta charset=koi8-r>", "koi8-r"),
            (b" " * 1004 + b"<meta charset=koi8-r>", None),
        ],
    )
    def test_a_declaration_is_found_where_the_standard_looks(self, head, expected):
        """The prescan reads tags, comments and attributes as the HTML Standard does, in 1024 bytes."""
        assert declared(head) == expected

    @given(
        st.lists(
            st.sampled_from(
                [
                    b"<meta",
                    b" charset",
                    b"=",
                    b"'",
                    b'"',
                    b"koi8-r",
                    b">",
                    b"<!--",
                    b"-",
                    b"/",
                    b"\0",
                ]
            )
        )
    )
    def test_the_prescan_ends(self, pieces):
        """For any markup the prescan ends and names an encoding or none."""
        assert declared(b"".join(pieces)) in (None, "koi8-r")


class TestOrder:
    BODY = b"\xef\xbb\xbf<meta charset=koi8-r>"

    def test_a_byte_order_mark_overrules_all(self):
        """The mark wins over Content-Type and declaration."""
        assert encoding_of(self.BODY, "text/html; charset=big5") == "utf-8"

    def test_content_type_overrules_the_document(self):
        """A valid encoding in Content-Type wins over the document's declaration."""
        assert encoding_of(self.BODY[3:], "text/html; charset=Big5") == "big5"
        assert encoding_of(self.BODY[3:], "text/html; charset=nonsense") == "koi8-r"

    def test_a_late_declaration_beats_a_guess(self):
        """A declaration beyond the first 1024 bytes is still found, as by a browser's parser."""
        assert encoding_of(b" " * 3000 + b"<meta charset=koi8-r>\xe9") == "koi8-r"

    def test_xml_is_not_guessed(self):
        """XML without a declaration is UTF-8."""
        assert encoding_of(b"<a>\xe9</a>", "application/xhtml+xml") == "utf-8"
        assert encoding_of(b"<?xml version='1.0' encoding='koi8-r'?><a/>", "text/xml") == "koi8-r"

    @pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be", "utf-32-le", "utf-32-be"])
    def test_xml_may_be_wide(self, encoding):
        """The first character of a document tells how wide its characters are (XML 1.0, appendix
        F).
        """
        assert encoding_of("<a>".encode(encoding), "application/xml") == encoding

    @given(st.binary(max_size=200), st.text(max_size=30))
    def test_there_is_always_an_encoding(self, body, content_type):
        """Any bytes with any header have an encoding and can be decoded in it."""
        encodings.decode(body, encoding_of(body, content_type))


class TestGuess:
    @pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "ibm866", "iso-8859-5"])
    def test_russian_is_told_apart(self, encoding):
        """The detector distinguishes Cyrillic encodings."""
        assert guess(RUSSIAN.encode(encodings.codec(encoding))) == encoding

    @pytest.mark.parametrize(
        "encoding", ["cp855", "x-mac-cyrillic", "utf-16le", "utf-16be", "utf-32-le", "utf-32-be"]
    )
    def test_what_browsers_do_not_guess(self, encoding):
        """DOS's and Mac OS's encodings are recognised, and UTF-16 and UTF-32 without a byte order
        mark.
        """
        text = f"<title>{RUSSIAN}</title><p>{RUSSIAN}"
        body = text.encode(encodings.codec(encoding))

        assert guess(body) == encoding
        assert encodings.decode(body, encoding) == text

    @pytest.mark.parametrize("encoding", ["cp850", "macintosh", "cp1252"])
    @pytest.mark.parametrize(
        "markup",
        [
            "<p class=item>",
            "<script>var one = 1; if (one < 2) f(one);</script>",
            "<style>p {}</style>",
            "<!-- a -->",
        ],
    )
    def test_markup_is_no_text(self, encoding, markup):
        """The guess is that of the text, however much markup, code and comments there are around
        it.
        """
        text = f"<html><body>{markup * 30}<p>{GERMAN}</p>{markup * 30}</body></html>"
        body = text.encode(encodings.codec(encoding))

        assert encodings.decode(body, guess(body)) == text

    @pytest.mark.parametrize(
        ("encoding", "name"),
        [("euc-jp", "いろはにほへと"), ("windows-1251", "Петропавловск-Камчатский")],
    )
    def test_a_few_words_in_other_letters(self, encoding, name):
        """A page in English with a name in other letters is in an encoding that has these."""
        text = "The market of the town on the river has been known for long. " * 20 + name

        assert guess(text.encode(encodings.codec(encoding))) == encoding

    @pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be", "utf-32-le", "utf-32-be"])
    @pytest.mark.parametrize("sentence", SENTENCES)
    def test_the_order_of_bytes_is_that_of_the_markup(self, sentence, encoding):
        """In UTF-16 and UTF-32 without a mark, the zeros of spaces and markup tell which byte comes
        first.
        """
        text = f"<p>{sentence}</p>" * 40

        assert guess(text.encode(encoding)) == encoding

    @given(st.lists(st.integers(0, 799), max_size=6))
    @example([1, 3, 5, 7, 9, 11])
    def test_few_zeros_do_not_make_a_text_wide(self, places):
        """A page in ASCII with a few zeros, wherever they are, is not in UTF-16."""
        body = bytearray(b"All words of this page are in ASCII. " * 22)[:800]
        for place in places:
            body[place] = 0

        assert not guess(bytes(body)).startswith("utf-16")

    def test_zeros_in_a_text_say_nothing(self):
        """A page with a zero byte in it is in the encoding that it would have without."""
        assert guess(b"a\0b" + "é".encode()) == "utf-8"
        assert guess(b"a\0b" + RUSSIAN.encode("koi8-r")) == "koi8-u"

    def test_valid_utf_8_is_utf_8_even_if_truncated(self):
        """A body that was truncated within a character is still UTF-8."""
        body = "é€𐍈".encode()
        assert all(is_utf_8(body[:end]) for end in range(len(body) + 1))
        assert not is_utf_8(b"\xe9 ")

    def test_ascii_is_what_browsers_say(self):
        """Plain ASCII is windows-1252, the standard's fallback."""
        assert guess(b"plain") == "windows-1252"

    def test_the_top_level_domain_tips_the_balance(self):
        """A word that is valid in two encodings is read as the host's country would write it."""
        word = "Łódź ściśle".encode("cp1250")
        assert guess(word, "example.pl") != guess(word, "example.ru")
        assert encoding_of(word, "text/html", "http://example.pl:80/x") == guess(word, "example.pl")

    def test_quality_on_real_documents(self):
        """Of 215 documents without declaration at least 205 are guessed right; none raises."""
        folder = cases("charset-chardet")
        right = 0
        for line in (folder / "index.jsonl").read_text().splitlines():
            row = json.loads(line)
            body = gzip.decompress((folder / row["file"]).read_bytes())
            found = encoding_of(body)
            if row["html_spec_prescan"]:
                assert found == row["html_spec_prescan"]
            name = (
                row["python_codec"]
                .replace("cp125", "windows-125")
                .replace("cp866", "ibm866")
                .replace("cp932", "shift_jis")
            )
            wanted = encodings.lookup(name.replace("_", "-") if name.startswith("euc") else name)
            right += found == wanted or encodings.decode(body, found) == body.decode(
                row["python_codec"]
            )
        assert right >= 205


OTHERS = ("windows-1250", "windows-1251", "windows-1253", "windows-1255", "windows-1256")
OTHERS += ("shift_jis", "euc_jp", "euc_kr", "big5", "gb18030")
COLUMNS = ("windows-1252", "mac_roman", "cp850", "others")
DECLARED = re.compile(r"<meta[^>]*charset[^>]*>|<\?xml[^>]*>|\ufeff", re.IGNORECASE)


def _fits(text, encoding):
    """True if it has all characters, or 98 of 100 beyond ASCII; the others become references."""
    beyond = [char for char in text if not char.isascii()]
    return sum(not char.encode(encoding, "ignore") for char in beyond) * 50 <= len(beyond)


@pytest.fixture(name="undeclared", scope="module")
def _undeclared():
    """Real pages without their declarations: column of the table, bytes, and what they say."""
    found = []
    for name in ("html-newspaper", "html-readability"):
        for line in gzip.decompress((cases(name) / "links.jsonl.gz").read_bytes()).splitlines():
            row = json.loads(line)
            page = encodings.decode(
                gzip.decompress((cases(name) / row["file"]).read_bytes()), row["encoding"]
            )
            text = DECLARED.sub("", page)
            if text.isascii():
                continue
            named = [one for one in COLUMNS[:3] if _fits(text, one)]
            if "windows-1252" not in named:
                named.append(next(one for one in OTHERS if _fits(text, one)))
            for one in named:
                data = text.encode(one, "xmlcharrefreplace")
                found.append((one if one not in OTHERS else "others", data, data.decode(one)))
    return found


def _with_markup(body):
    return _by_chardet(body) or _by_browsers(sample(body), "")


def _without_markup(body):
    return _by_chardet(_MARKUP.sub(b" ", body)) or _by_browsers(sample(body), "")


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("guessed", "right"),
    [
        (lambda body: _by_browsers(sample(body), ""), [127, 3, 0, 25]),
        (_with_markup, [127, 14, 0, 19]),
        (_without_markup, [133, 86, 10, 7]),
        (guess, [132, 82, 8, 24]),
    ],
    ids=["chardetng", "chardet with markup", "chardet without", "ours"],
)
def test_guesses_of_real_pages(undeclared, guessed, right):
    """As many of them are right as were when the order of the detectors was chosen."""
    found = Counter(
        column for column, data, text in undeclared if encodings.decode(data, guessed(data)) == text
    )

    assert [found[column] for column in COLUMNS] == right
    assert len(undeclared) == 319


XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml"/>'


def _serialised(mime):
    if mime is None:
        return None
    text = mime.essence
    for name, value in mime.parameters.items():
        plain = re.fullmatch(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+", value)
        text += (
            f";{name}={value}"
            if plain
            else ';{}="{}"'.format(name, re.sub(r'([\\"])', r"\\\1", value))
        )
    return text


@pytest.mark.parametrize("name", ["wpt-mime-types", "wpt-generated-mime-types"])
def test_web_platform_tests_agree(name):
    """Every header of the web platform tests is read as they expect, including its charset."""
    for row in json.loads((cases("charset-prescan") / f"{name}.json").read_text()):
        if isinstance(row, str):
            continue
        mime = mimetype.parse(row["input"])
        assert _serialised(mime) == row["output"], row
        if row.get("encoding"):
            assert encodings.lookup(mime.parameters["charset"]) == row["encoding"].lower()


@given(st.text(alphabet='ab/;= "\\\t\x7f\xe9', max_size=30))
def test_any_header_can_be_read(header):
    """No header raises; a parsed essence consists of two tokens."""
    mime = mimetype.parse(header)
    assert mime is None or mime.essence.count("/") == 1


@pytest.mark.parametrize("filler", [";", ";a", ";a=b", "; ", ';a="\\'])
def test_a_long_header_counts_up_to_a_bound(filler):
    """The first 1,024 characters are read, however long the header, and nothing after them."""
    within, beyond = ";charset=utf-8", ";late=1"
    mime = mimetype.parse("text/html" + within + filler * 20_000 + beyond)

    assert mime.essence == "text/html"
    assert mime.parameters["charset"] == "utf-8"
    assert "late" not in mime.parameters
    assert mime == mimetype.parse(("text/html" + within + filler * 20_000)[: mimetype.LONGEST])


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html; charset=x", b"", "html"),
        ("TEXT/HTML", b"plain", "html"),
        ("text/plain", b"<html>", ""),
        ("image/png", b"<html>", ""),
        ("application/xhtml+xml", XHTML, "xml"),
        ("application/rss+xml", b"<rss/>", ""),
        ("text/xml", XHTML, "xml"),
        ("", b" \n<!DocType html>", "html"),
        ("", b"<p>", "html"),
        ("", b"<!--", "html"),
        ("", b"<paper>", ""),
        ("", b"just text", ""),
        ("nonsense", b"<html>", "html"),
        ("*/*", b"<?xml version='1.0'?>" + XHTML, "xml"),
        ("", b"%PDF-1.4 <html>", ""),
    ],
)
def test_only_html_and_xhtml_are_documents(content_type, body, expected):
    """The type decides; only a body of unknown type is sniffed, as in a browser."""
    assert markup(content_type, body) == expected
