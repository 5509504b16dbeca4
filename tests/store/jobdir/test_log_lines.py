"""Log lines: Heritrix's fields and widths, LARM's tab-separated links, exactly one line each."""

import logging
import re
import sys
import unicodedata
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webcrawl.base.dates import digits, iso
from webcrawl.base.model import Exchange, Link, Outcome, Status, Timings
from webcrawl.base.numbers import FEW
from webcrawl.base.readable import ReadableFormatter, readable, url_without_credentials
from webcrawl.record import pagefiles
from webcrawl.store.jobdir.crawl_line import line
from webcrawl.store.jobdir.log_lines import (
    ERROR_LINES,
    ERRORS_TAIL,
    MOST_CHARACTERS,
    SHAPES,
    field,
    last_errors,
    link_lines,
    page_lines,
    request_line,
    skipped_lines,
    unlogged,
)

# -- Lines of the logs that OUTPUTS names: exactly one line each, whatever a page contains.

AT = 1308849128.802
PLAIN = {
    "status": 200,
    "size": 1299,
    "url": "http://a.test/robots.txt",
    "path": "LREP",
    "via": "http://a.test/?isbn=9780385518635",
    "content_type": "text/plain",
    "seconds": 0.225,
    "digest": "sha1:YIUOKDGOLGI5JYHDTXRFFQ5FF4N2EJRV",
    "seed": "",
    "annotations": [],
}
TEXTS = ("url", "path", "via", "content_type", "digest", "seed")
ANY = st.text(max_size=30)
NASTY = "a b\tc\nd\re\x0bf\x0cg\x1ch\x85i\u2028j\u2029k\u00a0l\u3000m\ud800n\x00"
WIDTHS = re.compile(
    r"\S{24} [ \d-]{4}\d [ \d-]{9}[\d-] \S+ \S+ \S+ \S+ #\d{3,} (\d{17}\+\d+|-) \S+ \S+ \S+\n"
)


def made(*, fetched=True, **changes):
    """The line of these values; without an exchange if the URL was not fetched."""
    values = {**PLAIN, **changes}
    link = Link(values["url"], values["path"], values["via"], values["seed"])
    exchange = Exchange(
        url=link.url, request=b"", status=200, head=b"", headers=[], wire=b"", payload=bytes(values["size"]), body=b"",
        ip="", started=AT - 0.228, timings=Timings(), _digest=values["digest"], _type=values["content_type"],
    )  # fmt: skip
    outcome = Outcome(values["status"], values["seconds"])
    return line(AT, link, outcome, exchange if fetched else None, values["annotations"]).decode(
        "ascii"
    )


class TestCrawlLog:
    def test_a_line_is_as_heritrix_writes_it(self):
        """A line has twelve fields: status in 5 places, size in 10, times to the millisecond in
        both forms.
        """
        assert made() == (
            "2011-06-23T17:12:08.802Z   200       1299 http://a.test/robots.txt LREP "
            "http://a.test/?isbn=9780385518635 text/plain #001 20110623171208574+225 "
            "sha1:YIUOKDGOLGI5JYHDTXRFFQ5FF4N2EJRV - -\n"
        )

    def test_what_is_missing_is_a_dash(self):
        """The line of a URL that was never fetched has dashes for missing values, and `no-type` for
        the type.
        """
        assert made(fetched=False, status=Status.ROBOTS_FORBIDDEN, path="", via="") == (
            "2011-06-23T17:12:08.802Z -9998          - http://a.test/robots.txt - - no-type #001 - - - -\n"
        )

    @pytest.mark.parametrize("status", Status)
    def test_outcomes_are_numbers(self, status):
        """Outcomes without an HTTP status are logged as Heritrix's negative codes."""
        assert made(status=status).split()[1] == str(int(status))

    def test_a_type_has_no_parameters(self):
        """The type ends before the semicolon, as in Heritrix."""
        assert made(content_type="text/html ; charset=utf-8").split()[6] == "text/html"

    def test_annotations_are_separated_by_commas(self):
        """A comma within an annotation is percent-encoded."""
        assert made(annotations=["3t", "duplicate:a,b"]).split()[-1] == "3t,duplicate:a%2Cb"

    @pytest.mark.parametrize(("seconds", "text"), [(0.0, "+0"), (-0.5, "+0"), (12.3456, "+12346")])
    def test_a_fetch_lasts_whole_milliseconds(self, seconds, text):
        """The duration is rounded; it is 0 if the clock was set back."""
        assert made(seconds=seconds).split()[8] == "20110623171208574" + text

    def test_rounding_never_makes_a_thousand_milliseconds(self):
        """A time half a millisecond before the next second is rounded up to it, in both forms."""
        assert iso(1308849128.9996) == "2011-06-23T17:12:09.000Z"
        assert digits(1308849128.9996) == "20110623171209000"

    @given(
        st.fixed_dictionaries(
            {**dict.fromkeys(TEXTS, ANY), "annotations": st.lists(ANY, max_size=3)}
        )
    )
    @example({**dict.fromkeys(TEXTS, NASTY), "annotations": [NASTY, "", ","]})
    def test_any_texts_are_one_line_of_twelve_fields(self, texts):
        """No text of a server or a page changes the number of fields for a program that splits at
        blanks.
        """
        text = made(**texts)

        assert WIDTHS.fullmatch(text)
        assert text.count("\n") == len(text.splitlines()) == 1
        assert len(text.split()) == len(re.split(" +", text.rstrip("\n"))) == 12

    @given(ANY)
    @example(NASTY)
    def test_a_strange_url_can_be_read_back(self, url):
        """The log percent-encodes the UTF-8 of the original text."""
        field = made(url=url).split()[3]

        assert unquote_to_bytes(field) == (
            unquote_to_bytes(url.encode("utf-8", "surrogatepass")) or b"-"
        )


# UAX #9 2: embeddings, overrides, isolates, and marks. They are found by name, so that no range can
# be mistyped.
WORDS = re.compile("(LEFT-TO-RIGHT|RIGHT-TO-LEFT|FIRST STRONG|POP DIRECTIONAL|ARABIC LETTER MARK)")
MARKS = [
    char
    for char in map(chr, range(0x10000))
    if unicodedata.category(char) == "Cf" and WORDS.match(unicodedata.name(char))
]
LINK = st.tuples(ANY, ANY, st.none() | ANY, ANY)
UNESCAPE = re.compile(r"\\(?:([tnr\\])|x(..)|u(....))")


def unescaped(field):
    """The original text of an escaped field."""

    def char(match):
        return {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}.get(match[1]) or chr(
            int(match[2] or match[3], 16)
        )

    return UNESCAPE.sub(char, field)


class TestLinksLog:
    def test_one_line_per_link(self):
        """A line has the page, the link as written, its canonical form (empty if it has none), kind
        and anchor text.
        """
        links = [
            ("a", "x y.html", "http://p.test/x%20y.html", "Über uns"),
            ("img", "data:", None, ""),
        ]

        assert link_lines("http://p.test/", links).decode() == (
            "http://p.test/\tx y.html\thttp://p.test/x%20y.html\ta\tÜber uns\nhttp://p.test/\tdata:\t\timg\t\n"
        )

    def test_no_links_no_line(self):
        """A page without links writes nothing."""
        assert link_lines("http://p.test/", []) == b""

    def test_what_would_break_a_line_is_escaped(self):
        """Tabs, line ends of every kind, other control characters and the backslash are escaped."""
        anchor = (
            link_lines("p", [("a", "", "", "\t\n\r\\\x00\x85\u2028\ud800")])
            .decode()
            .rstrip("\n")
            .split("\t")[-1]
        )

        assert anchor == r"\t\n\r\\\x00\x85\u2028\ud800"

    def test_credentials_are_left_out(self):
        """The link as written has no user name and password; its other forms never had."""
        line = link_lines(
            "http://p.test/", [("a", "http://me:secret@a.test/x@y", "http://a.test/x@y", "me@a")]
        ).decode()

        assert line == "http://p.test/\thttp://a.test/x@y\thttp://a.test/x@y\ta\tme@a\n"

    @pytest.mark.parametrize("mark", MARKS, ids=ascii)
    def test_no_mark_turns_what_a_person_reads(self, mark):
        """Direction marks are escaped in every field, so that a terminal shows a line in its real
        order.
        """
        line = link_lines(mark, [("a", mark, mark, f"txt.{mark}gnp.exe")]).decode()

        assert mark not in line
        assert line.split("\t")[-1] == f"txt.\\u{ord(mark):04x}gnp.exe\n"

    def test_letters_of_all_scripts_stay(self):
        """Letters of any script are kept, and so are the joiners that Persian, Hindi and emoji
        need.
        """
        persian, hindi = (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0915\u094d\u200d\u0937",
        )
        text = f"{persian} {hindi} \U0001f469\u200d\U0001f680 \u05e9\u05dc\u05d5\u05dd"

        assert link_lines("p", [("a", "", "", text)]).decode().rstrip("\n").split("\t")[-1] == text

    @given(page=ANY, links=st.lists(LINK, max_size=4))
    @example(NASTY, [(NASTY, NASTY, NASTY, NASTY), ("", "", None, "")])
    @example("\\t", [("\\", "\\n", None, "\\x00")])
    def test_any_texts_are_five_fields_per_line(self, page, links):
        """Every link is one line of five fields, and each field can be read back unchanged."""
        text = link_lines(page, links).decode()

        rows = [row.split("\t") for row in text.splitlines()]
        assert text.count("\n") == len(rows) == len(links)
        expected = [
            [page, url_without_credentials(raw), url or "", kind, anchor]
            for kind, raw, url, anchor in links
        ]
        assert [[unescaped(field) for field in row] for row in rows] == expected


class TestReadable:
    def test_no_line_has_credentials(self):
        """Whatever is logged, user names and passwords of URLs in it are left out, in tracebacks
        too.
        """
        try:
            int("http://me:secret@a.test/")
        except ValueError:
            args = (
                "name",
                logging.ERROR,
                "path",
                1,
                "<GET %s>",
                ("ftp://me:secret@b.test/",),
                sys.exc_info(),
            )
            text = ReadableFormatter(logging.Formatter()).format(logging.LogRecord(*args))

        assert "<GET ftp://b.test/>" in text
        assert "ValueError: invalid literal for int() with base 10: 'http://a.test/'" in text
        assert "secret" not in text

    @given(ANY)
    @example(NASTY)
    @example("".join(MARKS))
    def test_nothing_is_left_that_a_terminal_obeys(self, text):
        """Controls, line ends, direction marks and surrogates are escaped; printable text is
        unchanged.
        """
        shown = readable(text)

        assert not [
            char
            for char in shown
            if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in MARKS
        ]
        assert len(shown.splitlines()) <= 1
        if text.isprintable():
            assert shown == text

    def test_a_traceback_keeps_its_lines(self):
        """The formatter keeps a traceback's line ends and escapes the rest of its control
        characters.
        """
        error = ValueError("title \x1b[2J\u202e\x9b31m")
        record = logging.LogRecord(
            "x", logging.ERROR, "", 0, "of %s", ("\x07",), (ValueError, error, None)
        )

        first, *_, last = (
            ReadableFormatter(logging.Formatter("%(message)s")).format(record).split("\n")
        )

        assert first == "of \\x07"
        assert last == "ValueError: title \\x1b[2J\\u202e\\x9b31m"


# -- A page's lines of links.log are made all at once: they are those that would be made one by one.

STRANGE = [
    "a\tb",
    "\\",
    "\x7f",
    "\x00",
    "\x85",
    "\u2028",
    "\ud800",
    "\u00a0",
    "é",
    "http://u:p@a.test/x",
    "mailto:a@b",
]
FIELDS = st.sampled_from(["/x", "two words", "", *STRANGE]) | st.text(max_size=20)
LINKS = st.lists(st.tuples(FIELDS, FIELDS, st.none() | FIELDS, FIELDS), min_size=1, max_size=6)


def one_by_one(page, links):
    rows = [
        (page, url_without_credentials(raw), url or "", kind, text)
        for kind, raw, url, text in links
    ]
    return "".join(["\t".join(map(field, row)) + "\n" for row in rows]).encode()


@given(page=FIELDS, links=LINKS)
@example("p", [("a", "x", None, f"{strange}") for strange in STRANGE])
def test_one_join_says_what_fields_say(page, links):
    """Whatever is escaped in one field is escaped in all lines of the page."""
    kinds, addresses, targets, texts = zip(*links, strict=True)
    columns = kinds, addresses, [target or "" for target in targets], texts
    assert page_lines(page, *columns) == link_lines(page, links) == one_by_one(page, links)


def test_each_strange_character_alone():
    """In any of the fields, beside plain ones."""
    for strange in STRANGE:
        for place in range(4):
            row = ["a", "/x", "http://a.test/x", "text"]
            row[place] = strange
            links = [("a", "/y", None, "plain"), tuple(row)]

            assert link_lines("http://p.test/", links) == one_by_one("http://p.test/", links)


def test_a_page_of_equal_links_below_a_long_url():
    """Two hundred thousand links below a long URL get so many lines as there is room for, and one
    with the rest.
    """
    page, count = f"http://a.test/{'x' * 1980}", 209_000
    columns = ["a"] * count, ["y"] * count, [f"{page}y"] * count, [""] * count

    data = page_lines(page, *columns)

    assert len(data) < MOST_CHARACTERS + 10_000
    *first, last = data.decode().splitlines()
    assert set(first) == {f"{page}\ty\t{page}y\ta\t"}
    assert last == f"{page}\t\t\tcut\t{count - len(first)}"
    assert unlogged(page, *columns) == count - len(first)


def test_a_page_with_thousands_of_links():
    """An ordinary page has a line for each of its links, however many they are."""
    count = 20_000
    addresses = [f"/articles/2026/11/{number}.html" for number in range(count)]
    targets = [f"http://www.newspaper.example{address}" for address in addresses]
    texts = [f"Headline {number}, as newspapers have them" for number in range(count)]

    page = "http://www.newspaper.example/archive/2026/11/index.html"
    data = page_lines(page, ["a"] * count, addresses, targets, texts)

    assert data.count(b"\n") == count
    assert b"\tcut\t" not in data


def test_a_thousand_links_are_always_there():
    """The first thousand links of a page have lines, however long they are."""
    count, long = 3000, f"http://a.test/{'x' * 1980}"

    data = page_lines(long, ["a"] * count, [long * 2] * count, [long] * count, ["t" * 500] * count)

    assert data.count(b"\n") == FEW + 1
    assert data.endswith(b"\t\t\tcut\t2000\n")


NASTIEST = "http://u:secret@a.test/ \t\n\x1f\x85\u2028\ud800é"
texts = st.text(max_size=20) | st.sampled_from([NASTIEST])


def test_a_skipped_url():
    """Time, reason, URL without credentials, page."""
    found = skipped_lines(AT, "length", ["http://u:p@a.test/x", "a\tb"], "http://a.test/")

    assert found == (
        b"2011-06-23T17:12:08.802Z\tlength\thttp://a.test/x\thttp://a.test/\n"
        b"2011-06-23T17:12:08.802Z\tlength\ta\\tb\thttp://a.test/\n"
    )


def test_a_request():
    """Time, method, URL, discovery path, how often it was tried, whoever was at fault; the wait
    before it, and why.
    """
    again = Link("http://a.test/", "LP", attempt=1, struck=2)

    assert (
        request_line(AT, "GET", again.url, again)
        == b"2011-06-23T17:12:08.802Z\tGET\thttp://a.test/\tLP\t3\t-\t0.000\t-\n"
    )
    assert request_line(AT, "GET", "http://u:p@a.test/", None).endswith(
        b"\tGET\thttp://a.test/\t-\t0\t-\t0.000\t-\n"
    )
    waited = request_line(AT, "GET", again.url, again, 1.5, 1.0, "politeness")
    assert waited.endswith(b"\t3\t1.500\t1.000\tpoliteness\n")


@pytest.mark.parametrize("name", ["skipped", "requests", "store"])
@given(one=texts.filter(bool), other=texts)
def test_any_text_has_its_line(name, one, other):
    """Each line has the form that `scrapy verify` wants, and names no password."""
    link = Link(one, via=other)
    line = {
        "skipped": lambda: skipped_lines(AT, "length", [other], "http://a.test/"),
        "requests": lambda: request_line(AT, "GET", one, link),
        "store": lambda: pagefiles.log_line(
            link, pagefiles.PageFileFacts(one, 200, other, other), 1, 2, 3
        ),
    }[name]()

    assert SHAPES[f"logs/{name}.log"].fullmatch(line)
    assert name == "store" or b"secret@" not in line


def write(folder, text):
    (folder / "logs").mkdir()
    (folder / "logs/errors.log").write_bytes(text.encode() if isinstance(text, str) else text)


def entry(number, lines=2):
    trace = "".join(f'  File "x.py", line {line}\n' for line in range(lines))
    head = f"2026-11-21 20:00:{number % 60:02},123 some.logger: error {number}"
    return f"{head}\nTraceback:\n{trace}ValueError: {number}\n"


def test_the_latest_first(tmp_path):
    """So many as are asked for, each with its traceback."""
    write(tmp_path, entry(1) + entry(2) + entry(3))
    found = last_errors(tmp_path, 2)

    assert [one.splitlines()[-1] for one in found] == ["ValueError: 3", "ValueError: 2"]
    assert len(last_errors(tmp_path, 100)) == 3


def test_long_ones(tmp_path):
    """Of a long traceback the first line and the last ones are given."""
    write(tmp_path, entry(1, 500))
    (found,) = last_errors(tmp_path, 5)

    lines = found.splitlines()
    assert (len(lines), lines[0][-7:], lines[1], lines[-1]) == (
        ERROR_LINES,
        "error 1",
        "  ...",
        "ValueError: 1",
    )


def test_a_large_file(tmp_path):
    """Only its end is read, and an entry whose beginning is not in there is left out."""
    write(tmp_path, "".join(entry(number) for number in range(5000)))
    found = last_errors(tmp_path, 10_000)

    assert 100 < len(found) < 5000
    assert all("ValueError" in one for one in found)
    assert sum(map(len, found)) <= ERRORS_TAIL


def test_without_a_file_there_are_no_errors(tmp_path):
    """Without a file there are none, and bytes that are no text do no harm."""
    assert last_errors(tmp_path, 5) == []
    write(tmp_path, b"\xff\xfe\x00 broken" * 100)
    assert len(last_errors(tmp_path, 5)) == 1
