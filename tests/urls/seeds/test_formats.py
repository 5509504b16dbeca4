"""The supported formats of seed lists, line by line, and lists of top sites as they are published."""

import gzip
import re
import zipfile
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cases import cases, unpacked
from tests.support.places import ROOT
from tests.support.seedlists import read, urls, write
from webcrawl.urls.seeds import Seed, SeedError, Seeds
from webcrawl.urls.seeds.seed_reader import lines

texts = st.lists(
    st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"x" * 20])
).map(b"".join)


def blocks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


class TestLines:
    @settings(deadline=None)
    @given(texts, st.integers(1, 12))
    def test_block_borders_do_not_matter(self, data, size):
        """However the bytes are split into blocks, the lines are the same."""
        expected = [(line, 0) for line in data.splitlines(keepends=True)]

        assert expected == list(lines(blocks(data, size)))

    @settings(deadline=None)
    @given(texts, st.integers(1, 12))
    def test_no_byte_is_lost(self, data, size):
        """Lengths and dropped bytes add up to the whole, and exactly the lines over the limit are
        truncated.
        """
        expected = [(len(line), len(line) > 8) for line in data.splitlines(keepends=True)]

        found = [
            (len(line) + dropped, dropped > 0)
            for line, dropped in lines(blocks(data, size), max_bytes=8)
        ]

        assert expected == found

    def test_an_endless_line_is_not_held(self):
        """Of a line over the limit, at most the limit and one block are in memory."""
        held = []

        def endless():
            for _ in range(1000):
                yield b"x" * 100
                held.append(len(walk.gi_frame.f_locals["held"]))

        walk = lines(endless(), max_bytes=250)

        assert [len(line) + dropped for line, dropped in walk] == [100_000]
        assert max(held) <= 250


class TestTextLists:
    def test_a_line_is_a_url_or_a_domain(self, tmp_path):
        """A line is a URL, or a domain with an optional port and path, which means http."""
        lines = b"https://a.example/b?c=d\nb.example\nc.example:8080\nd.example/e\nlocalhost:81\nftp://e.example/\n"
        path = write(tmp_path / "s.txt", lines)

        assert urls(path) == [
            "https://a.example/b?c=d",
            "http://b.example/",
            "http://c.example:8080/",
            "http://d.example/e",
            "http://localhost:81/",
            "ftp://e.example/",
        ]

    def test_a_hash_starts_a_comment(self, tmp_path):
        """A `#` at the start or after a space starts a comment; inside a word it starts a fragment."""
        path = write(
            tmp_path / "s.txt", b"# all\n  # of it\n\na.example # why\nhttp://b.example/c#d\n"
        )

        assert [Seed("http://a.example/", 4), Seed("http://b.example/c", 5)] == read(path)

    def test_the_list_that_is_shipped(self):
        """The list in seeds/ has no bad line."""
        with closing(Seeds(str(ROOT / "seeds/small.txt"))) as seeds:
            assert (len(list(seeds)), seeds.bad) == (3, 0)

    def test_international_domains_become_ascii(self, tmp_path):
        """A domain in any alphabet becomes its ASCII name."""
        path = write(
            tmp_path / "s.txt", "münchen.example\nभारत.भारत\nxn--mnchen-3ya.example\n".encode()
        )

        assert urls(path) == [
            "http://xn--mnchen-3ya.example/",
            "http://xn--h2brj9c.xn--h2brj9c/",
            "http://xn--mnchen-3ya.example/",
        ]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
    def test_a_byte_order_mark_names_the_encoding(self, tmp_path, encoding):
        """A list with a byte order mark is read in the encoding that the mark names."""
        mark = "\ufeff" if encoding[-2:] in ("le", "be") else ""
        path = write(tmp_path / "s.txt", f"{mark}münchen.example\nb.example\n".encode(encoding))

        assert [Seed("http://xn--mnchen-3ya.example/", 1), Seed("http://b.example/", 2)] == read(
            path
        )

    @pytest.mark.parametrize(
        "line",
        [
            b"two words",
            b"a.example,b.example",
            b"1",
            b"1.2.3",
            b"1,google.com",
            b"mailto:a@b.example",
            b"a@b.example",
            b"javascript:alert(1)",
            b"http:a.example",
            b"//a.example/",
            b"news://a.example/",
            b"http://",
            b"http://a b.example/",
            b"a..example",
            b"x" * 64 + b".example",
            b"http://a.example/" + b"x" * 2000,
            b"m\xfcnchen.example",
            b"a\x00b.example",
            b"a\x1bb.example",
            b"<html>",
            "\ufffd.example".encode(),
            b"x" * (1 << 20),
        ],
        ids=lambda line: line[:20],
    )
    def test_a_bad_line_is_counted_and_skipped(self, tmp_path, line):
        """A line that is neither a URL nor a domain is counted, and the lines around it are seeds."""
        path = write(tmp_path / "s.txt", b"a.example\nb.example\n" + line + b"\nc.example\n")

        with closing(Seeds(str(path))) as seeds:
            assert [seed.line for seed in seeds] == [1, 2, 4]
            assert (seeds.taken, seeds.bad) == (3, 1)

    def test_the_first_bad_lines_are_logged(self, tmp_path, caplog):
        """The first five bad lines of a list are logged with number and reason, not with their
        text; all count.
        """
        path = write(tmp_path / "s.txt", b"a.example\n" + b"no url\n" * 9)

        with closing(Seeds(str(path))) as seeds:
            list(seeds)

        logged = [message for message in caplog.messages if ": line " in message]
        assert seeds.bad == 9
        assert [
            f"{path}: line {n} contains a space or a control character" for n in range(2, 7)
        ] == logged
        assert "no url" not in caplog.text


class TestCsvLists:
    def test_rank_and_domain(self, tmp_path):
        """`rank,domain`, as in the lists of Alexa, Tranco and Umbrella; more columns and quotes are
        allowed.
        """
        path = write(
            tmp_path / "s.csv",
            b'1,a.example\r\n"2","b.example"\r\n\r\n3,c.example,4,"x, ""y"""\r\n',
        )

        assert [Seed(f"http://{d}.example/", n) for d, n in (("a", 1), ("b", 2), ("c", 4))] == read(
            path
        )

    @pytest.mark.parametrize(
        "header",
        [
            b"GlobalRank,Domain,TLD",
            b'"Rank","Root Domain","Linking Root Domains"',
            b"rank,domain",
            b"rank,URL",
            b"\n\nRank,Domain",
        ],
    )
    def test_a_header_names_the_column(self, tmp_path, header):
        """A header names the domain's column, and is not a seed, even if it is repeated."""
        path = write(
            tmp_path / "s.csv",
            header + b"\n1,a.example,com\n" + header.strip() + b"\n2,b.example,com\n",
        )

        assert urls(path) == ["http://a.example/", "http://b.example/"]

    @pytest.mark.parametrize(
        "line", [b"http://a.example/", b"Home page,http://a.example/", b"URL;Name"]
    )
    def test_neither_a_header_nor_ranks(self, tmp_path, line):
        """Of a CSV file whose columns nobody can know the error says what a header has to name."""
        path = write(tmp_path / "s.csv", line + b"\nhttp://b.example/\n")

        why = "line 1 does not start with a rank, and no header names a column Domain, Root Domain or URL"
        with pytest.raises(SeedError, match=re.escape(why)):
            urls(path)

    def test_majestic(self, tmp_path):
        """Majestic's list has the domain in its third column."""
        header = (
            b"GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs,IDN_Domain,IDN_TLD,PrevGlobalRank\n"
        )
        path = write(
            tmp_path / "s.csv", header + b"1,1,a.example,example,5,6,a.example,example,1\n"
        )

        assert [Seed("http://a.example/", 2)] == read(path)

    @pytest.mark.parametrize(
        "line",
        [
            b"b.example",
            b"b.example,3",
            b"2,",
            b"x,b.example",
            b'2,"b.example',
            b"2;b.example",
            b"2,3",
        ],
    )
    def test_an_invalid_row_is_a_bad_line(self, tmp_path, line):
        """A row without a rank, without a domain, or with an unclosed quote is a bad line."""
        path = write(tmp_path / "s.csv", b"1,a.example\n" + line + b"\n3,c.example\n")

        with closing(Seeds(str(path))) as seeds:
            assert [seed.line for seed in seeds] == [1, 3]
            assert seeds.bad == 1


class TestPacking:
    @pytest.mark.parametrize("name", ["s.txt", "s.txt.gz", "s.txt.zip", "S.TXT", "s.TXT.GZ"])
    def test_each_packing_is_read(self, tmp_path, name):
        """A list may be packed with gzip or zip; its name may be in upper or lower case."""
        path = tmp_path / name
        packed = write(tmp_path / name.lower(), b"a.example\nb.example")
        packed.rename(path)

        assert urls(path) == ["http://a.example/", "http://b.example/"]

    def test_a_zip_may_leave_the_kind_to_its_file(self, tmp_path):
        """A zip whose own name has no kind takes the kind of the file in it."""
        path = tmp_path / "top.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__MACOSX/._top-1m.csv", b"\x00\x05")
            archive.writestr("list/top-1m.csv", b"1,a.example\n")

        assert urls(path) == ["http://a.example/"]

    def test_gzip_members_are_one_list(self, tmp_path):
        """A gzip file of several members is read to the end."""
        path = tmp_path / "s.txt.gz"
        path.write_bytes(gzip.compress(b"a.exa") + gzip.compress(b"mple\nb.example\n"))

        assert urls(path) == ["http://a.example/", "http://b.example/"]


@pytest.mark.parametrize("packing", ["", ".gz", ".zip"])
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("alexa-top-1000.csv", 1000),
        ("opendns-top-domains.txt", 10_000),
        ("top-10000-websites.txt", 4978),
    ],
)
class TestTopSites:
    def test_one_seed_per_row(self, tmp_path, name, count, packing):
        """Each row of a published list is a seed, in the same order, with its whole host."""
        data = unpacked(cases("top-sites") / f"{name}.zst")
        path = write(tmp_path / f"{name}{packing}", data)
        hosts = [line.decode().rpartition(",")[2] for line in data.splitlines()]

        seeds = read(path)

        assert len(seeds) == count
        assert [(f"http://{host.lower()}/", n) for n, host in enumerate(hosts, 1)] == [
            (s.url, s.line) for s in seeds
        ]

    def test_resumed_in_the_middle(self, tmp_path, name, count, packing):
        """Reading a published list that stopped in the middle resumes with the second half."""
        path = write(tmp_path / f"{name}{packing}", unpacked(cases("top-sites") / f"{name}.zst"))
        whole = read(path)

        with closing(Seeds(str(path))) as seeds:
            for _ in range(count // 2):
                next(seeds)
            position = seeds.position

        assert read(path, position=position) == whole[count // 2 :]
