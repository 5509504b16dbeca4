"""The parts of the FTP client, without a network: URLs, replies, listings."""

import contextlib
import json
from calendar import monthrange
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.crawl.page_links import ftp_links
from webcrawl.net.errors import BadAnswer, BadUrl
from webcrawl.net.ftp import parse_ftp
from webcrawl.net.ftp_listing import entries, list_entry, mlsd_entry
from webcrawl.net.ftp_session import (
    FtpReply,
    NotFtp,
    ReplyReader,
    ReplyTooLong,
    extended_port,
    passive_port,
)
from webcrawl.net.stream import type_of
from webcrawl.urls.canonical import canonical


class TestTargets:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("ftp://h.test", ("h.test", 21, [], b"", False)),
            ("FTP://H.test:2121/a/b", ("h.test", 2121, [b"a"], b"b", False)),
            ("ftp://me:secret@h.test/a/", ("h.test", 21, [b"a"], b"", False)),
            ("ftp://[::1]:21/a", ("::1", 21, [], b"a", False)),
            ("ftp://h.test/%2Fetc/motd", ("h.test", 21, [b"/etc"], b"motd", False)),
            ("ftp://h.test//etc/motd", ("h.test", 21, [b"/", b"etc"], b"motd", False)),
            ("ftp://h.test/a//b", ("h.test", 21, [b"a"], b"b", False)),
            ("ftp://h.test/a%2Fb/c%20d", ("h.test", 21, [b"a/b"], b"c d", False)),
            ("ftp://h.test/caf%E9?x=y#z", ("h.test", 21, [], b"caf\xe9?x=y", False)),
            ("ftp://h.test/a;type=i", ("h.test", 21, [], b"a", False)),
            ("ftp://h.test/a;type=A", ("h.test", 21, [], b"a", True)),
            ("ftp://h.test/a/b;type=d", ("h.test", 21, [b"a", b"b"], b"", False)),
            ("ftp://h.test/a;type=x", ("h.test", 21, [], b"a;type=x", False)),
        ],
    )
    def test_taken_apart(self, url, expected):
        """Host, port, folders, name: RFC 1738 3.2, each segment decoded by itself."""
        assert tuple(parse_ftp(url)) == expected

    @given(st.text())
    def test_any_text_is_a_target_without_line_ends_or_a_bad_url(self, text):
        """Any string is a target without line ends, or a BadUrl; so is any canonical URL."""
        try:
            target = parse_ftp(f"ftp://h.test/{text}")
        except BadUrl:
            return
        assert not {10, 13, 0} & set(b"".join((*target.folders, target.name)))

    @given(st.binary(min_size=1, max_size=30).filter(lambda name: not {0, 10, 13, 47} & set(name)))
    def test_names_survive_their_url(self, name):
        """A listed name is the same after becoming a link, a canonical URL and a parsed target."""
        listing = b"type=file; " + name + b"\r\n"
        for _, link, _, _ in ftp_links(
            listing, "text/x-ftp-listing; format=mlsd", "ftp://h.test/a/"
        ).links:
            target = parse_ftp(canonical(link, "ftp://h.test/a/"))
            assert (target.folders, target.name) == ([b"a"], name)


class TestReplies:
    def taken(self, *pieces):
        reader, found = ReplyReader(), []
        for piece in pieces:
            reader.feed(piece)
            while (reply := reader.next_reply()) is not None:
                found.append(reply)
        return found

    @pytest.mark.parametrize("step", [1, 2, 7, 1000])
    def test_however_it_arrives(self, step):
        """Replies are the same however the bytes are split."""
        data = b"220-a\r\n b\r\n221 no\r\n220 end\r\n331 next\r\n200\r\n230 caf\xe9\n"
        pieces = [data[at : at + step] for at in range(0, len(data), step)]
        assert self.taken(*pieces) == [
            FtpReply(220, "end"),
            FtpReply(331, "next"),
            FtpReply(200, ""),
            FtpReply(230, "caf\xe9"),
        ]

    @pytest.mark.parametrize(
        "line", [b"", b"hello", b"22 x", b"2200", b"099 x", b"600 x", b"220x", b" 220 x"]
    )
    def test_no_reply(self, line):
        """A line that does not begin with an FTP code is not a reply."""
        with pytest.raises(NotFtp):
            self.taken(line + b"\r\n")

    def test_bounds(self):
        """A reply has at most 64 KiB, in however many lines; several replies may have more."""
        with pytest.raises(ReplyTooLong):
            self.taken(b"2" * 70_000)
        with pytest.raises(ReplyTooLong):
            self.taken(b"220-x\r\n" * 10_000)
        assert len(self.taken(b"200 ok\r\n" * 20_000)) == 20_000

    @given(st.lists(st.binary()))
    def test_any_bytes_are_replies_or_a_bad_answer(self, pieces):
        """Any bytes are replies or a BadAnswer."""
        try:
            replies = self.taken(*pieces)
        except BadAnswer:
            return
        assert all(100 <= reply.code < 600 for reply in replies)

    @pytest.mark.parametrize(
        ("text", "port"),
        [
            ("Entering Passive Mode (127,0,0,1,4,1)", 1025),
            ("Entering Passive Mode. 10,9,8,7,255,255", 65535),
            ("=127,0,0,1,0,21", 21),
        ],
    )
    def test_ports_of_pasv(self, text, port):
        """The six numbers of PASV may be anywhere in its text; the last two are the port."""
        assert passive_port(FtpReply(227, text)) == port

    @pytest.mark.parametrize(
        "text", ["", "(1,2,3,4,5)", "(1,2,3,4,256,0)", "(1,2,3,4,0,0)", "(1,2,3,4,5,6,7)"]
    )
    def test_no_ports_of_pasv(self, text):
        """A missing or impossible port is refused."""
        with pytest.raises(NotFtp):
            passive_port(FtpReply(227, text))

    def test_ports_of_epsv(self):
        """EPSV's delimiter is any character (RFC 2428 3); an address between delimiters is refused."""
        assert extended_port(FtpReply(229, "ok (|||6446|)")) == 6446
        assert extended_port(FtpReply(229, "ok (!!!21!)")) == 21
        with pytest.raises(NotFtp):
            extended_port(FtpReply(229, "ok (|1|127.0.0.9|6446|)"))

    @given(st.text())
    def test_ports_of_anything(self, text):
        """Any text has a valid port or none."""
        for read in (extended_port, passive_port):
            with contextlib.suppress(NotFtp):
                assert 0 < read(FtpReply(227, text)) < 65536


def _links(listing, mode="list", url="ftp://h.test/a/"):
    return [
        link
        for _, link, _, _ in ftp_links(listing, f"text/x-ftp-listing; format={mode}", url).links
    ]


class TestListings:
    READ = ("Unix", "NT", "MLSx", "MacOsPeter")

    def test_lines_of_many_servers(self):
        """Lines that other projects' parsers read give a name; lines that they reject give none."""
        rows = [
            json.loads(line)
            for line in (cases("ftp-gopher") / "ftp-lines.jsonl").read_text().splitlines()
        ]
        rows = [row for row in rows if row["dialect"] in self.READ]
        assert len(rows) > 50
        wrong = [
            row["line"]
            for row in rows
            if bool(list(entries(row["line"].encode(), mlsd=row["dialect"] == "MLSx")))
            != row["parses"]
        ]
        assert wrong == []

    def test_whole_listings(self):
        """Names, sizes and types of whole listings are those that other projects' tests expect."""
        rows = [
            json.loads(line)
            for line in (cases("ftp-gopher") / "ftp-listings.jsonl").read_text().splitlines()
        ]
        assert rows
        for row in rows:
            found = list(entries(row["listing"].encode(), mlsd=True))
            assert [entry.name.decode() for entry in found] == [
                entry["name"] for entry in row["entries"]
            ]
            assert [entry.size for entry in found] == [
                entry.get("size") for entry in row["entries"]
            ]
            kinds = {"SymbolicLink": "link", None: "file"}
            assert [entry.kind for entry in found] == [
                kinds[entry.get("type")] for entry in row["entries"]
            ]

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            (b"-rw-r--r--   1 root  wheel  1024 Mar  2 15:13 a b  c ", (b"a b  c ", "file", 1024)),
            (b"drwxr-xr-x+ 2 0 0 4096 2024-02-29 23:59  lead", (b" lead", "folder", 4096)),
            (b"lrwxrwxrwx 1 0 0 9 Jan 12  2001 to -> /some/where", (b"to", "link", 9)),
            (b"-rw-r--r-- 1 u g 5 12. Jan 2001 german", (b"german", "file", 5)),
            (b"-rw-r--r-- 1 u g 5 3 Jan 10 11 Jan  1 2001 n", (b"n", "file", 11)),
            (b"crw------- 1 root sys 109,767 Jul  2  2004 tty", (b"tty", "other", 109767)),
            (
                b"01-20-97  03:48PM       <DIR>          Program Files",
                (b"Program Files", "folder", None),
            ),
            (b"12-05-2020  17:03           1,234,567 x.zip", (b"x.zip", "file", 1234567)),
            (b"07-15-21  09:12AM  <SYMLINKD>   there", (b"there", "link", None)),
        ],
    )
    def test_lines_of_list(self, line, expected):
        """The columns of all dialects are read, with blanks in names and dates in any order."""
        assert tuple(list_entry(line)) == expected

    @pytest.mark.parametrize(
        ("when", "encoding"),
        [
            ("10月 5日 12:34", "utf-8"),
            ("10月 5日 12:34", "gb18030"),
            ("10月 5日 12:34", "euc-jp"),
            (" 3月  5 12:34", "utf-8"),
            ("12月 31 2024年", "utf-8"),
            (" 3월  5일 2024", "utf-8"),
            (" 3월  5일 2024", "euc-kr"),
        ],
    )
    def test_months_in_chinese_japanese_and_korean(self, when, encoding):
        """Months may be numbered, with a character after each number, in any encoding."""
        line = f"-rw-r--r-- 1 ftp ftp 123 {when} ".encode(encoding) + b"name"

        assert list_entry(line) == (b"name", "file", 123)

    def test_indented_lines(self):
        """Blanks before a line do not count."""
        assert list_entry(b"  -rw-r--r-- 1 ftp ftp 5 Jan  1 2024 name") == (b"name", "file", 5)
        assert list_entry(b" 01-02-24  03:04AM  5 name") == (b"name", "file", 5)

    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"total 12",
            b"-rw-r--r--",
            b"/pub:",
            b"-rw-r--r-- 1 u g 5 Jan 32 2001 x",
            b"-rw-r--r-- 1 u g 5 Foo  1 2001 x",
            b"-rw-r--r-- -1 u g 5 Jan  1 2001 x",
            b"-rw-r--r-- 1u g 5 Jan  1 2001 x",
            b"-rw-r--r-- 1 u g 5,,0 Jan  1 2001 x",
            b"-rw-r--r-- 1 u g 5 Jan  1 2001  ",
            b"drwxr-xr-x 2 u g 4096 2012-30-07 00:31 x",
            b"99-25-10  12:00AM                  0   x",
            b"12-25-10  12:99AM                  0   x",
        ],
    )
    def test_lines_that_are_no_entries(self, line):
        """Headings, lines with impossible dates, and lines with columns that cannot be are not
        entries.
        """
        assert list_entry(line) is None

    @given(
        st.dates(date(1970, 1, 1), date(2069, 12, 31)),
        st.sampled_from(
            [
                "-rw-r--r-- 1 u g 5 {0:%b} {day} {0:%Y} x",
                "drwxr-xr-x 2 u g 5 {day}. {0:%B} {0:%Y} x",
                "-rw-r--r-- 1 u g 5 {0:%Y-%m}-{day} 12:30 x",
                "{0:%m}-{day}-{0:%Y}  12:30AM  5 x",
            ]
        ),
    )
    def test_days_of_the_calendar(self, day, form):
        """A line of any dialect is an entry if its date is one of the calendar, and none if its day
        is one too many.
        """
        last = monthrange(day.year, day.month)[1]
        lines = [form.format(day, day=f"{number:02}") for number in (day.day, last + 1, 0)]

        assert [list_entry(line.encode()) is not None for line in lines] == [True, False, False]

    @pytest.mark.parametrize(
        "facts",
        [
            b"type=file;modify=20150230235817;",
            b"type=file;modify=20151306235817;",
            b"type=file;modify=20150228245817;",
            b"type=file;size=-1;",
            b"type=file;size=12k;",
        ],
    )
    def test_facts_that_cannot_be(self, facts):
        """A line of MLSD with a time that was never, or a size that is no number, is not an entry."""
        assert mlsd_entry(facts + b" x") is None

    def test_mlsd(self):
        """Facts give a name's kind; the folder itself and its parent are not followed."""
        assert tuple(mlsd_entry(b"Type=dir;Modify=19990112030508; x y")) == (b"x y", "folder", None)
        assert tuple(mlsd_entry(b"type=file;size=12;UNIX.mode=0644; z")) == (b"z", "file", 12)
        assert mlsd_entry(b"type=cdir; /pub").kind == "other"
        assert mlsd_entry(b"type=OS.unix=chr-1/2; tty").kind == "other"

    def test_a_links_target_may_have_blanks(self):
        """As Pure-FTPd writes it: the name comes after the last fact's end, not after the first
        blank.
        """
        line = b"type=OS.unix=slink:../odd/a b.txt;size=14;modify=20261126234957;UNIX.mode=0777; to space"

        assert tuple(mlsd_entry(line)) == (b"to space", "link", 14)

    def test_links(self):
        """Folders end in a slash; only files and folders in the listed folder are followed."""
        listing = b"".join(
            b"%s 1 u g 5 Jan  1 2001 %s\r\n" % (mode, name)
            for mode, name in [
                (b"drwxr-xr-x", b"."),
                (b"drwxr-xr-x", b".."),
                (b"drwxr-xr-x", b"sub dir"),
                (b"-rw-r--r--", b"http://evil.test/"),
                (b"-rw-r--r--", b"javascript:x?y#z"),
                (b"lrwxrwxrwx", b"link -> ../../etc"),
                (b"brw-r--r--", b"device"),
            ]
        )
        assert _links(listing) == ["sub%20dir/", "javascript%3Ax%3Fy%23z", "link"]

    def test_a_base_always_ends_in_a_slash(self):
        """A listing's links are relative to the folder, however its URL was written."""
        for url in ("ftp://h.test/a/", "ftp://h.test/a/;type=d", "ftp://h.test/a;type=d"):
            assert ftp_links(b"", "", url).base == "ftp://h.test/a/"

    @given(st.binary(), st.booleans())
    def test_any_bytes_are_a_listing_of_no_more_than_its_lines(self, listing, mlsd):
        """Any bytes are a listing; it never has more entries than lines."""
        found = list(entries(listing, mlsd=mlsd))
        assert len(found) <= listing.count(b"\n") + 1
        assert isinstance(
            ftp_links(listing, "format=mlsd" if mlsd else "", "ftp://h.test/"), DocumentLinks
        )

    @given(
        st.from_regex(
            rb"[-dlc]rwxr-xr-x[ 1a]{0,9} [0-9]{1,20} [JF][ae][nb] [0-9 ]{1,3} [0-9:]{4,5} .{0,9}"
        )
    )
    def test_nearly_lines(self, line):
        """What almost looks like a line is an entry with a name, or none."""
        entry = list_entry(line)
        assert entry is None or entry.name

    def test_lines_beyond_measure(self):
        """An overlong line is skipped; its neighbours are read."""
        line = b"-rw-r--r-- 1 u g 5 Jan  1 2001 %s\n"
        assert _links(line % b"a" + line % (b"x" * 9000) + line % b"b") == ["a", "b"]


class TestTypes:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            (b"a.html", "text/html"),
            (b"A.TXT", "text/plain"),
            (b"x.tar.gz", "application/gzip"),
            (b"x.Z", "application/octet-stream"),
            (b"README", ""),
            (b"\xff.\xfe", ""),
            (b"a/b.html/c", ""),
            (b"x" * 5000 + b".pdf", "application/pdf"),
            (b"data:text/html,x", ""),
        ],
    )
    def test_by_the_ending(self, name, kind):
        """A file's type comes from its ending, if known."""
        assert type_of(name) == kind

    @given(st.binary())
    def test_of_anything(self, name):
        """Any name has a type or none."""
        assert isinstance(type_of(name), str)
