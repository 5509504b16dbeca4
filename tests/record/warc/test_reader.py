"""The reader of anybody's WARC files: every form, any damage, from any record on."""

import gzip
import io
import json
import resource
import shutil
import subprocess
from functools import partial
from time import process_time

import pytest
from fastwarc.warc import ArchiveIterator

from tests.support.archive_files import (
    gzipped,
    member,
    one_gzip,
    one_zstd,
    plain,
    read,
    record,
    response,
    torn_gzip,
    zstd,
    zstd_with_dictionary,
)
from tests.support.cases import cases
from tests.support.plain_site import serving
from webcrawl.record.warc.reader import NotWarc, RecordReader, sound_records
from webcrawl.record.warc.unpacked_stream import BARREN_BYTES, TornRecord

URLS = [f"http://a.test/{number}" for number in range(8)]
BODIES = [bytes((65 + number,)) * (10 + 700 * number) for number in range(8)]
RECORDS = [record("warcinfo", block=b"software: test\r\n"), *map(response, URLS, BODIES)]
FORMS = {
    "x.warc.gz": gzipped,
    "one.warc.gz": one_gzip,
    "torn.warc.gz": torn_gzip,
    "x.warc": plain,
    "x.warc.zst": zstd,
    "one.warc.zst": one_zstd,
    "dictionary.warc.zst": zstd_with_dictionary,
    "packed.warc.zst": partial(zstd_with_dictionary, packed=True),
}
forms = pytest.mark.parametrize("name", FORMS)


@pytest.fixture(name="made")
def _made(tmp_path):
    def make(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return make


def urls(records):
    return [one.url for one in records if one.url]


class TestForms:
    @forms
    def test_every_form_gives_the_same_records(self, made, name):
        """A member per record, one for all, or none: kinds, URLs and blocks are the same, and
        nothing is lost.
        """
        records, lost = read(made(name, FORMS[name](RECORDS)))

        assert lost == []
        assert urls(records) == URLS
        assert [one.block.partition(b"\r\n\r\n")[2] for one in records[1:]] == BODIES

    @forms
    def test_reading_goes_on_from_any_record(self, made, name):
        """The place of a record leads back to it, in a new process too."""
        path = made(name, FORMS[name](RECORDS))
        records, _ = read(path)

        for at, one in enumerate(records):
            assert urls(read(path, place=one.place)[0]) == urls(records[at:])

    def test_other_compressions_are_known_by_their_first_bytes(self, made):
        """The name of a file need not say how it is packed."""
        assert urls(read(made("x.warc", gzipped(RECORDS)))[0]) == URLS
        assert urls(read(made("y.warc", zstd(RECORDS)))[0]) == URLS

    @pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
    def test_all_versions(self, made, version):
        """Versions 0.17 to 1.1 are read."""
        assert len(read(made("x.warc", response(URLS[0], version=version)))[0]) == 1

    @pytest.mark.parametrize("ends", [b"", b"\n", b"\r\n", b"\r\n\r\n\r\n\r\n"])
    def test_line_ends_between_records_vary(self, made, ends):
        """Some programs write more line ends behind a record than two, or fewer."""
        records, lost = read(
            made("x.warc", b"".join(response(url, line_ends=ends) for url in URLS))
        )

        assert (urls(records), lost) == (URLS, [])

    def test_fields_vary(self, made):
        """Names of any case, single line feeds, folded values and angle brackets are understood."""
        head = "WARC/1.0\nwarc-type: Response\nWARC-TARGET-URI: <http://a.test/>\nX: a\n  b\nContent-length: 2\n\n"
        ((one,), lost) = read(made("x.warc", head.encode() + b"hi\r\n\r\n"))

        assert (one.kind, one.url, one.fields["x"], one.block, lost) == (
            "response",
            "http://a.test/",
            "a b",
            b"hi",
            [],
        )

    def test_a_header_of_gzip_with_optional_fields(self, made):
        """Members with a name, a comment and other fields are read, wherever they lie in the file."""
        parts = []
        for one in RECORDS:
            buffer = io.BytesIO()
            with gzip.GzipFile("a-name.warc", "wb", fileobj=buffer) as file:
                file.write(one)
            parts.append(buffer.getvalue())

        assert urls(read(made("x.warc.gz", b"".join(parts)))[0]) == URLS

    def test_a_large_block_is_not_kept_whole(self, made):
        """Only so many bytes of a block are kept as were asked for; its size is known, and the next
        record follows.
        """
        path = made("x.warc.gz", gzipped([response(URLS[0], b"x" * 300_000), response(URLS[1])]))
        records, lost = read(path, most=1000)

        assert (len(records[0].block), lost) == (1000, [])
        assert records[0].size > 300_000
        assert urls(records) == URLS[:2]


class TestDamage:
    @pytest.mark.parametrize("name", ["x.warc.gz", "x.warc.zst", "dictionary.warc.zst"])
    def test_a_damaged_record_costs_only_itself(self, made, name):
        """With a member per record, a flipped byte loses one record, and says where it was."""
        data = FORMS[name](RECORDS)
        sound, _ = read(made(name, data))
        for hit, after in zip(sound[2:], [*sound[3:], None], strict=False):
            end = after.place.offset if after else len(data)
            middle = (hit.place.offset + end) // 2
            bad = data[:middle] + bytes((data[middle] ^ 255,)) + data[middle + 1 :]
            records, lost = read(made(name, bad))

            assert urls(records) == [url for url in URLS if url != hit.url]
            assert [(one.at, one.size) for one in lost] == [
                (hit.place.offset, end - hit.place.offset)
            ]

    @forms
    def test_a_wrong_length_costs_one_record_or_two(self, made, name):
        """Behind a record that is longer or shorter than it says, the next one is found by its
        first line.
        """
        for size in (b"15", b"9999999", b"-1", b"x", b"1" * 30):
            bad = [
                *RECORDS[:3],
                RECORDS[3].replace(b"Content-Length: 14", b"Content-Length: " + size),
                *RECORDS[4:],
            ]
            records, lost = read(made(name, FORMS[name](bad)))

            assert len(lost) == 1
            assert set(URLS) - set(urls(records)) <= set(URLS[2:4])

    @forms
    def test_a_truncated_file_is_read_to_its_last_whole_record(self, made, name):
        """Wherever a file ends too early, that is one damaged place, unless it ends between two
        records.
        """
        data = FORMS[name](RECORDS)
        begin = next(one.place.offset for one in read(made(name, data))[0])
        for size in range(begin + 40, len(data) - 1, 97):
            try:
                records, lost = read(made(name, data[:size]))
            except NotWarc:
                continue
            assert urls(records) == URLS[: len(urls(records))]
            assert len(lost) <= 1
            assert len(urls(records)) < len(URLS) or not lost

    def test_a_file_being_written_may_end_anywhere(self, made):
        """What is missing at the end of a file named .open is still to come: the place of the torn
        record is kept.
        """
        data = gzipped(RECORDS)
        last = read(made("x.warc.gz", data))[0][-1].place
        path = made("x.warc.gz.open", data[: last.offset + 30])
        lost = []
        with RecordReader(path, 1 << 20, lost.append) as records:
            assert urls(records) == URLS[:-1]
            place = records.place
        path.write_bytes(data)

        assert lost == []
        assert urls(read(path, place=place)[0]) == URLS[-1:]

    def test_no_byte_flip_goes_unnoticed(self, made):
        """Whatever single byte of a packed file is wrong, a record is reported as lost, or nothing
        is different.
        """
        data = gzipped(RECORDS[:3])
        sound = [(one.fields, one.block) for one in read(made("x.warc.gz", data))[0]]
        for at in range(len(data)):
            bad = data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :]
            try:
                records, lost = read(made("x.warc.gz", bad))
            except NotWarc:
                continue
            assert lost or [(one.fields, one.block) for one in records] == sound, at

    @pytest.mark.parametrize("name", ["x.warc", "x.warc.gz", "x.warc.zst", "page.html"])
    @pytest.mark.parametrize(
        "data",
        [b"", b"<!doctype html>" * 99, gzip.compress(b"text" * 9999, mtime=0), bytes(4000)],
        ids=["empty", "html", "gzip", "zeros"],
    )
    def test_what_is_no_archive_is_said(self, made, name, data):
        """A file without a record is not a WARC file, whatever its name."""
        with pytest.raises(NotWarc, match="not a WARC file"):
            read(made(name, data))

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_an_arc_file_is_named(self, made, pack):
        """Of the older format one reads what makes a WARC file of it."""
        data = pack(b"filedesc://x.arc 0.0.0.0 20100101000000 text/plain 9\n1 0 test\n\n")
        with pytest.raises(NotWarc, match="an ARC file: `warcio recompress`"):
            read(made("x.arc", data))

    def test_a_package_of_another_name_is_named(self, made):
        """A WACZ package is found by its name: of another ZIP file one reads that."""
        with pytest.raises(NotWarc, match="; a WACZ package is read if its name ends in"):
            read(made("x.zip", b"PK\3\4" + bytes(40)))

    @pytest.mark.campaign
    def test_a_bomb_is_unpacked_piece_by_piece(self, made):
        """A block of a gigabyte in a megabyte costs time, not memory."""
        head = record("resource", "http://a.test/", Content_Length=str(1 << 28))[:-4]
        bomb = gzip.compress(head + bytes(1 << 28) + b"\r\n\r\n", 1)
        path = made("x.warc.gz", bomb + gzipped(RECORDS))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        records, lost = read(path, most=1000)

        assert (urls(records), lost) == (["http://a.test/", *URLS], [])
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


class TestCosts:
    def test_a_repeated_field(self, made):
        """A hundred thousand times the same field costs no more than as many different ones."""

        def seconds(line):
            lines = b"".join(line % (number % 10_000) for number in range(100_000))
            head = b"WARC/1.0\r\nWARC-Type: warcinfo\r\n" + lines + b"Content-Length: 0\r\n\r\n"
            path = made("x.warc", head + b"\r\n\r\n")
            begun = process_time()
            records, lost = read(path)
            seconds = process_time() - begun
            assert (len(records), lost) == (1, [])
            return seconds

        assert min(seconds(b"x: %05d\n") for _ in range(3)) < 3 * min(
            seconds(b"%d: x\n") for _ in range(3)
        )

    @pytest.mark.parametrize(
        "damaged",
        [
            b"WARC/1.1\r\nWARC-Type: x\r\n",
            b"WARC/1.1\r\nWARC-Type: x\r\n\r\n",
            b"WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 999999999999\r\n\r\n",
        ],
    )
    def test_damaged_records_in_one_member(self, tmp_path, damaged):
        """The member is not unpacked again for each: a few kilobytes that hold many would take hours."""
        file = CountedSeeks(gzip.compress(RECORDS[0] + damaged * 500))
        lost = []
        with RecordReader(tmp_path / "a.warc.gz", 0, lost.append, file=file) as reader:
            records = list(reader)

        assert (len(records), len(lost)) == (1, 500)
        assert file.seeks < 20

    def test_what_only_looks_like_a_member(self, made):
        """It is not read to the end of the file if nothing comes out of it: where the first bytes of
        a member are repeated, that would take hours.
        """
        endless_name = b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * BARREN_BYTES * 2
        records, lost = read(made("x.warc.gz", gzip.compress(RECORDS[0]) + endless_name))

        assert len(records) == 1
        assert ["give nothing" in one.why for one in lost] == [True]


class CountedSeeks(io.BytesIO):
    seeks = 0

    def seek(self, *place):
        self.seeks += 1
        return super().seek(*place)


class TestOtherWriters:
    @pytest.mark.parametrize(
        "name", ["dictionary.warc.zst", "packed.warc.zst", "x.warc.zst", "one.warc.zst"]
    )
    def test_fastwarc_reads_the_same_zstd(self, made, name):
        """The dictionary frame of these tests is that of the IIPC's form: FastWARC finds it, too."""
        path = made(name, FORMS[name](RECORDS))
        theirs = [one.reader.read() for one in ArchiveIterator(str(path), parse_http=False)]

        assert [one.block for one in read(path)[0]] == theirs

    def test_wget(self, tmp_path):
        """What wget writes of a site: its pages are there, and nothing is lost."""
        wget = shutil.which("wget")
        if wget is None:
            pytest.skip("there is no wget here")
        with serving() as here:
            requested = [f"{here}/{number}" for number in range(5)]
            options = ["-q", f"--warc-file={tmp_path / 'x'}", "-O", str(tmp_path / "out")]
            subprocess.run([wget, *options, *requested], check=True, cwd=tmp_path)
        records, lost = read(tmp_path / "x.warc.gz")
        responses = [one for one in records if one.kind == "response"]

        assert lost == []
        assert [one.url for one in responses] == requested
        assert [one.block.partition(b"\r\n\r\n")[2] for one in responses] == [
            b"/0",
            b"/1",
            b"/2",
            b"/3",
            b"/4",
        ]


class TestRealFiles:
    def test_other_readers_agree(self):
        """Files of other projects give the records that warcio and FastWARC give, where these two
        agree.
        """
        folder = cases("warc")
        agreed = 0
        for case in json.loads((folder / "index.json").read_text()):
            if (
                case["warcio"]["error"]
                or (case.get("fastwarc") or {}).get("records") != case["warcio"]["records"]
            ):
                continue
            records, lost = read(folder / case["file"], most=1 << 24)
            assert lost == []
            theirs = [
                (one["type"], (one["uri"] or "").replace("%20", " ")) for one in case["records"]
            ]
            assert [(one.kind, one.url) for one in records] == theirs, case["file"]
            agreed += 1
        assert agreed >= 10

    def test_where_they_fail_is_an_error_or_more_records(self):
        """Files that one of them refuses are read further, or refused in words; none hangs."""
        folder = cases("warc")
        for case in json.loads((folder / "index.json").read_text()):
            path = folder / case["file"]
            if path.name.endswith((".arc", ".arc.gz")):
                with pytest.raises(NotWarc):
                    read(path)
            elif case["warcio"]["error"]:
                assert len(read(path)[0]) >= case["warcio"]["records"]

    def test_fastwarc_reads_the_same_blocks(self):
        """Byte for byte, in every file that it reads to the end."""
        for path in (cases("warc") / "files").rglob("*.warc*"):
            try:
                theirs = [one.reader.read() for one in ArchiveIterator(str(path), parse_http=False)]
            except OSError:
                continue
            assert [one.block for one in read(path, most=1 << 24)[0]] == theirs, path


def test_what_only_looks_like_a_record_is_skipped(tmp_path):
    """A line that begins like a record, but is none, costs itself: reading goes on behind it.

    A version line in small letters was found as the next record and then refused as one, without
    end.
    """
    path = tmp_path / "a.warc"
    garbage = b"warc/1.0\r\nwarc-type: x\r\n" + b"WARC/1.0" + b"\t" * 40 + b"\r\nWARC-Type: y\r\n"
    path.write_bytes(garbage + record("metadata", "http://a.test/", b"title: t\r\n"))
    lost = []

    with RecordReader(path, 1 << 20, lost.append) as records:
        kinds = [one.kind for one in records]

    assert kinds[-1:] == ["metadata"]
    assert lost


# -- Records that must be sound, each a gzip member by itself, whatever the member's header says
# beside.

RECORD = b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
HEADERS = {
    "time": {"time": 1732181845},
    "text, level and system": {"flags": 1, "level": 2, "system": 3},
    "extra": {"extra": b"sl\4\0\1\2\3\4"},
    "name": {"name": b"a.warc"},
    "comment": {"comment": b"by another program"},
    "checksum": {"checked": True},
}


def archive(**header):
    """Three records, the second one empty."""
    return [
        member(RECORD % (len(block), block), **header) for block in (b"first" * 5000, b"", b"last")
    ]


@pytest.fixture(name="read")
def _read(tmp_path):
    def read(data):
        """Place and length of each record."""
        path = tmp_path / "a.warc.gz"
        path.write_bytes(data)
        with path.open("rb") as file:
            return [
                (one.place.offset, one.length)
                for one in sound_records(path, file, 99, 0, len(data))
            ]

    return read


@pytest.mark.parametrize("name", HEADERS)
def test_members_of_other_programs(read, name):
    """Records are found behind any valid header (RFC 1952 2.3), each with its place and length."""
    made = archive(**HEADERS[name])
    lengths = [len(one) for one in made]

    assert read(b"".join(made)) == [
        (sum(lengths[:number]), length) for number, length in enumerate(lengths)
    ]


def test_a_header_with_a_wrong_checksum(read):
    """A header that has a checksum is compared with it."""
    with pytest.raises(TornRecord):
        read(b"".join(archive(checked=True, crc=1)))


@pytest.mark.parametrize("name", HEADERS)
def test_a_file_that_is_truncated(read, name):
    """A file that ends within a record is damaged, wherever it ends."""
    (whole, *_) = archive(**HEADERS[name])
    for length in (*range(1, 40), len(whole) - 1):
        with pytest.raises(TornRecord):
            read(whole[:length])


def test_other_packings(read):
    """A file that is not packed, and two records in one member, are refused: an index names
    members.
    """
    both = [RECORD % (4, b"some"), RECORD % (0, b"")]
    for data in (b"".join(both), member(b"".join(both))):
        with pytest.raises(TornRecord):
            read(data)
