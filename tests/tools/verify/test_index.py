"""`scrapy verify` compares each index with its archive, record for record."""

import json
from collections import Counter

import pytest

from tests.support.warc_crawl import Archive, chunked, exchange, files, indexes
from webcrawl.record.warc.warc_writer import IndexWriter
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify_crawl import ABSENT, check_outputs

PAGE = b"<p>hello world, " * 20


@pytest.fixture(name="job")
def _job(tmp_path):
    """A crawl with two archive files, ended cleanly."""
    archive = Archive(tmp_path, max_size=3000)
    for number in range(8):
        make = chunked if number % 3 else exchange
        archive.write(make(f"http://a.test/{9 - number}", PAGE + b"%d" % number))
    archive.stop()
    assert len(files(tmp_path)) > 1
    return tmp_path


def told(job):
    found = Counter()
    with Snapshot(job / "state") as snapshot:
        damages = [str(damage) for damage in check_outputs(snapshot, job, found)]
    return damages, found


def change(path, edit):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(edit(lines)))


def test_what_a_crawl_leaves_agrees(job):
    """Nothing is reported of a sound crawl."""
    assert told(job)[0] == []


def test_an_index_that_is_still_being_written(tmp_path):
    """Its lines are compared too, in the order of the archive."""
    archive = Archive(tmp_path)
    for number in (2, 1):
        archive.write(exchange(f"http://a.test/{number}"))
    archive.checkpoint()
    try:
        assert told(tmp_path)[0] == []
    finally:
        archive.close()


@pytest.mark.parametrize(
    "name", ["url", "digest", "length", "offset", "filename", "mime", "status"]
)
def test_another_value(job, name):
    """Each value that is changed is noticed: by the record, or by the checksum of the lines."""
    path = indexes(job)[0]

    def edit(lines):
        head, _, values = lines[0].decode().partition("{")
        read = json.loads("{" + values)
        was = read[name]
        read[name] = was[:-1] + ("2" if was[-1] != "2" else "3")
        return [(head + json.dumps(read) + "\n").encode(), *lines[1:]]

    change(path, edit)
    damages, _ = told(job)
    assert damages
    assert all(damage.startswith(str(path)) for damage in damages)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        pytest.param(lambda lines: lines[::-1], "the line is not in sorted order", id="order"),
        pytest.param(
            lambda lines: [lines[1], lines[1]], "a second line for the record at byte", id="twice"
        ),
        pytest.param(
            lambda lines: [b"x" * (len(lines[0]) - 1), b"\n", *lines[1:]],
            "not a line of an index",
            id="no line",
        ),
        pytest.param(
            lambda lines: [b"com" + lines[0][3:], *lines[1:]],
            "the line differs from the record at byte",
            id="key",
        ),
    ],
)
def test_another_line(job, edit, why):
    """Each kind of wrong line is named."""
    path = indexes(job)[0]
    change(path, edit)

    assert any(why in damage for damage in told(job)[0])


def test_every_bit(job):
    """No flipped bit goes unnoticed."""
    path = indexes(job)[0]
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        assert told(job)[0], at


def test_an_index_that_is_gone(job):
    """It is missed while its archive is here; both may be taken away together.

    The crawl can go on either way.
    """
    index, archive = indexes(job)[0], files(job)[0]
    index.unlink()
    assert ["missing" in damage for damage in told(job)[0]] == [True]
    resumed = Archive(job, seed=2)
    assert [*resumed.outputs.check()] == []
    resumed.close()
    archive.unlink()
    damages, found = told(job)

    assert damages == []
    assert {name for name in found if name.startswith(ABSENT)} == {
        f"{ABSENT}warc/{path.name}" for path in (index, archive)
    }


def test_a_record_without_a_line(tmp_path, monkeypatch):
    """An index that was written with a line too few, and so has the right checksum, is noticed."""
    archive = Archive(tmp_path)
    archive.write(exchange("http://a.test/1"))
    with monkeypatch.context() as patched:
        patched.setattr(IndexWriter, "add", lambda *_: None)
        archive.write(exchange("http://a.test/2"))
    archive.stop()

    assert ["no line for the record at byte" in damage for damage in told(tmp_path)[0]] == [True]
