"""The index of earlier captures: what it finds, and what it is made of."""

import gzip
import json
import logging
import os

import pytest

from tests.store.jobdir.test_index_line import line
from tests.support.faults import BreakingDisk
from webcrawl.record.since import index as building
from webcrawl.record.since.index import EarlierIndex
from webcrawl.record.since.sources import NoEarlier
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.runs import Run

DIGESTS = ["sha1:" + letter * 32 for letter in "ABCD"]


def opened(tmp_path, *files):
    """The index of files with these lines; slices are counted in `slices`."""
    paths = []
    for number, lines in enumerate(files):
        paths.append(tmp_path / f"{number}.cdxj")
        paths[-1].write_bytes(b"".join(lines))
    return opened_again(tmp_path, paths)


def opened_again(tmp_path, paths):
    (tmp_path / "state").mkdir(exist_ok=True)
    index = EarlierIndex(Disk(), tmp_path / "state", paths)
    index.slices = sum(1 for _ in index.open())
    return index


def stamped(year, **values):
    return line(stamp=f"{year}0102030405", **values)


def test_the_latest_capture_of_a_url_is_found(tmp_path):
    """Wherever it lies, and whatever its status."""
    index = opened(tmp_path, [stamped(2025), stamped(2026, status="404")], [stamped(2024)])
    found, path = index.latest_of_url("http://a.test/x")

    assert (found.stamp[:4], found.status, path.name) == ("2026", 404, "0.cdxj")
    assert index.latest_of_url("http://a.test/y") is None


def test_a_payload_is_found_whatever_its_url(tmp_path):
    """But never a revisit record, which has none."""
    revisit = line(url="http://b.test/", digest=DIGESTS[1], mime="warc/revisit")
    index = opened(tmp_path, [line(digest=DIGESTS[0]), revisit])

    assert index.holder(DIGESTS[0])[0].url == "http://a.test/x"
    assert index.holder(DIGESTS[1]) is None
    assert index.holder("") is None


def test_many_captures_are_sorted_in_parts(tmp_path, monkeypatch):
    """Of ten thousand URLs, divided into parts and several times, each is found with its latest
    capture.
    """
    monkeypatch.setattr(building, "ROWS_AT_ONCE", 700)
    monkeypatch.setattr(building, "PIECE_BYTES", 5000)
    files = [
        [
            stamped(2020 + (number * year) % 7, url=f"http://a.test/{number}")
            for number in range(0, 10_000, step)
        ]
        for year, step in ((1, 1), (3, 2))
    ]
    index = opened(tmp_path, *files)

    for number in range(0, 10_000, 97):
        years = [2020 + number % 7, *([2020 + number * 3 % 7] if number % 2 == 0 else [])]
        assert int(index.latest_of_url(f"http://a.test/{number}")[0].stamp[:4]) == max(years)
    assert sorted(path.name for path in (tmp_path / "state" / "since").iterdir()) == [
        "captures.run",
        "files.json",
    ]


def test_one_payload_of_all_pages_takes_one_place(tmp_path, monkeypatch):
    """A shell that every URL answers with does not make one part larger than memory."""
    monkeypatch.setattr(building, "ROWS_AT_ONCE", 500)
    opened(tmp_path, [line(url=f"http://a.test/{number}") for number in range(3000)])

    assert len(Run(tmp_path / "state/since/captures.run")) == 3001


def test_a_second_run_finds_it_made(tmp_path):
    """From the same files nothing is read again; from others, or changed ones, all is."""
    paths = [tmp_path / "0.cdxj"]
    opened(tmp_path, [line()]).close()
    again = opened_again(tmp_path, paths)
    os.utime(paths[0], (1, 1))
    changed = opened_again(tmp_path, paths)

    assert again.slices == 0 < changed.slices
    assert again.latest_of_url("http://a.test/x")


@pytest.mark.parametrize("left", ["captures.run", "files.json", "captures.run.parts/000001"])
def test_what_a_kill_left_is_made_anew(tmp_path, left):
    """Whatever was being written when the process was killed: the next start ends with the whole
    index.
    """
    folder = tmp_path / "state" / "since"
    (folder / left).parent.mkdir(parents=True)
    (folder / left).write_bytes(b"half")

    assert opened(tmp_path, [line()]).latest_of_url("http://a.test/x")


def test_a_damaged_index_is_made_anew(tmp_path):
    """A file that is not what was written is no reason to stop: all it holds is in the index files."""
    opened(tmp_path, [line()]).close()
    path = tmp_path / "state" / "since" / "captures.run"
    path.write_bytes(path.read_bytes()[:-5])

    assert opened_again(tmp_path, [tmp_path / "0.cdxj"]).latest_of_url("http://a.test/x")


def test_what_cannot_be_read_is_told_and_the_rest_counts(tmp_path, caplog):
    """One line for each file: how many lines are none, or that it cannot be opened."""
    (tmp_path / "gone.cdxj").mkdir()
    (tmp_path / "0.cdxj").write_bytes(b"\xff\n" + line()[:50] + b"\n" + line())
    with caplog.at_level(logging.WARNING):
        index = opened_again(tmp_path, [tmp_path / "gone.cdxj", tmp_path / "0.cdxj"])

    assert index.latest_of_url("http://a.test/x")
    assert [record.getMessage() for record in caplog.records] == [
        f"since: {tmp_path}/gone.cdxj: Is a directory: the rest of it was not read",
        f"since: {tmp_path}/0.cdxj: 2 lines could not be read",
    ]


def test_what_is_read_is_told(tmp_path, caplog, monkeypatch):
    """So many files and captures; of too many files, which are read.

    Of servers alone nothing is read.
    """
    monkeypatch.setattr(building, "MOST_FILES", 1)
    with caplog.at_level(logging.INFO):
        opened(tmp_path, [line(), stamped(2025)], [line()]).close()
        assert caplog.messages == [
            "since: reading 2 index files, about 0.0 MB",
            "since: 2 index files: only the first 1 are read",
            "since: 2 captures found",
        ]
        index = EarlierIndex(Disk(), tmp_path / "state", [], ["cdx+http://127.0.0.1/"])
        [*index.open()]
        index.close()
    assert len(caplog.messages) == 3


def test_nothing_at_all_is_refused(tmp_path):
    """A crawl that was asked to compare, and has nothing to compare with, does not begin."""
    with pytest.raises(NoEarlier, match="contain no captures"):
        opened(tmp_path, [b"garbage\n"])


def test_a_line_without_an_end_takes_no_memory(tmp_path, monkeypatch):
    """A damaged file of one endless line is read in pieces, each counted."""
    monkeypatch.setattr(building, "LONGEST_LINE", 1000)
    monkeypatch.setattr(building, "PIECE_BYTES", 300)
    index = opened(tmp_path, [b"x" * 5000 + b"\n", line()])

    assert index.latest_of_url("http://a.test/x")


def test_a_full_disk_leaves_nothing_that_is_believed(tmp_path):
    """Whatever is refused while the index is made: the crawl does not begin, and the next start
    makes it.
    """
    (tmp_path / "0.cdxj").write_bytes(line())
    (tmp_path / "state").mkdir()
    refused, at = 0, 1
    while True:
        disk = BreakingDisk(at)
        index = EarlierIndex(disk, tmp_path / "state", [tmp_path / "0.cdxj"])
        try:
            for _ in index.open():
                pass
        except StoreError:
            refused += 1
        else:
            assert index.latest_of_url("http://a.test/x")
            index.close()
            if not disk.broken:
                break
            (tmp_path / "state" / "since" / "files.json").unlink()
        at += 1

    assert refused > 5


def test_a_file_that_changed_meanwhile_finds_nothing(tmp_path):
    """What is read is compared with what was looked for."""
    index = opened(tmp_path, [line()])
    (tmp_path / "0.cdxj").write_bytes(line(url="http://b.test/y"))

    assert index.latest_of_url("http://a.test/x") is None


CDX = b" CDX N b a m s k r M S V g\n"
CAPTURE = (
    b"test,a)/x 20260102030405 http://a.test/x text/html 200 "
    + b"A" * 32
    + b" - - 9 17 f.warc.gz\n"
)


@pytest.mark.parametrize(
    ("name", "lines"), [("0.cdxj.gz", line(digest=DIGESTS[0])), ("0.cdx.gz", CDX + CAPTURE)]
)
def test_packed_files_are_unpacked_beside_the_index(tmp_path, name, lines):
    """There its lines are found again, by this run and the next; several members, as of a WACZ, are
    one file.
    """
    other = lines.replace(b"a.test/x", b"a.test/y")
    (tmp_path / name).write_bytes(gzip.compress(lines) + gzip.compress(other))
    for slices in (True, False):
        index = opened_again(tmp_path, [tmp_path / name])
        assert bool(index.slices) is slices
        assert index.latest_of_url("http://a.test/y")[0].offset == 17
        assert index.holder(DIGESTS[0])[1] == tmp_path / name
        index.close()
    (tmp_path / "state/since/0.lines").unlink()

    assert opened_again(tmp_path, [tmp_path / name]).latest_of_url("http://a.test/y")


def test_a_damaged_packed_file_counts_as_far_as_it_goes(tmp_path, caplog):
    """The rest is left out, in a line."""
    whole = gzip.compress(b"".join(line(url=f"http://a.test/{number}") for number in range(5000)))
    (tmp_path / "0.cdxj.gz").write_bytes(whole[:-9])
    (tmp_path / "1.cdxj.gz").write_bytes(b"garbage")
    index = opened_again(tmp_path, [tmp_path / "0.cdxj.gz", tmp_path / "1.cdxj.gz"])

    assert index.latest_of_url("http://a.test/0")
    assert [
        record.getMessage().partition(": the rest of it was not read")[0].partition(".gz: ")[2]
        for record in caplog.records
    ] == [
        "Compressed file ended before the end-of-stream marker was reached",
        "Not a gzipped file (b'ga')",
    ]


def test_cdx_with_other_columns_is_left_out(tmp_path, caplog):
    """In one line: what is in which column nobody could know."""
    (tmp_path / "0.cdx").write_bytes(CDX + CAPTURE)
    (tmp_path / "1.cdx").write_bytes(
        CDX.replace(b"N b a", b"A b e") + CAPTURE.replace(b"/x", b"/y")
    )
    index = opened_again(tmp_path, [tmp_path / "0.cdx", tmp_path / "1.cdx"])

    assert index.latest_of_url("http://a.test/x")
    assert index.latest_of_url("http://a.test/y") is None
    (record,) = caplog.records
    assert (
        "1.cdx: it does not begin with the columns N b a m s k: the rest of it was not read"
        in record.getMessage()
    )


def test_a_server_is_asked_for_what_was_there_before_the_crawl(tmp_path):
    """The first start notes the time, and it stays, whatever else is compared with later."""
    (tmp_path / "state").mkdir()
    (tmp_path / "0.cdxj").write_bytes(line())
    begun = []
    for files in ([], [tmp_path / "0.cdxj"]):
        index = EarlierIndex(Disk(), tmp_path / "state", files, ["cdx+http://a.test/"])
        for _ in index.open():
            pass
        begun.append(index.begun)
        index.close()
        note = tmp_path / "state/since/files.json"
        if not files:
            said = json.loads(note.read_text())
            said["files"][0][2] -= 3_600 * 10**9
            note.write_text(json.dumps(said))

    assert len(begun[0]) == 14
    assert begun[1] < begun[0]
