"""Whatever lies where a crawl's files should be, a crawl that cannot begin says so in one line."""

# Seen on 2026-11-21, before this was fixed: tracebacks of 26 to 97 lines, most of them of an
# OSError. A pipe in place of the database was waited for without an end. With a link that leads
# nowhere, or without a database, a new crawl was begun, with status 0: it truncated the old logs, and
# wrote over an archive that was begun in the same second.

import os
import shutil

import pytest

from tests.support.crawling import Crawl

SETTINGS = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}


@pytest.fixture(name="crawl")
def _crawl(tmp_path, simweb):
    """One that was stopped."""
    server = simweb(2, 20, size=(1000, 2000))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
    assert crawl.run(CLOSESPIDER_PAGECOUNT=10) == 0
    return crawl


def assert_refused(crawl, name):
    """The crawl does not begin; the line that says so names this path."""
    assert crawl.start().wait(5) == 1
    lines = crawl.output.read_text().splitlines()
    assert len(lines) == 1, lines[-3:]
    assert f"{crawl.jobdir / name}" in lines[0]


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def folder(path):
    path.mkdir()


def file(path):
    path.write_bytes(b"x")


def unreadable(path):
    path.touch(mode=0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")


def dangling(path):
    path.symlink_to("nowhere")


def circular(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("state/crawl.db", folder),
        ("state/crawl.db", os.mkfifo),
        ("state/crawl.db", dangling),
        ("state/crawl.db", circular),
        ("state/crawl.db", unreadable),
        ("state/crawl.db-wal", folder),
        ("state/crawl.db-shm", folder),
        ("logs/crawl.log", folder),
        ("logs/crawl.log", os.mkfifo),
        ("logs", file),
        ("warc", file),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_no_file_of_a_crawl_is_refused(crawl, name, put):
    """A folder, a pipe, a link to nowhere or an unreadable file in a file's place is one line, no
    traceback.
    """
    remove(crawl.jobdir / name)
    put(crawl.jobdir / name)

    assert_refused(crawl, name)


def test_outputs_without_a_database_are_left_as_they_are(crawl):
    """A JOBDIR that has logs and an archive, and no database, is refused, and nothing in it is
    changed.
    """
    (crawl.jobdir / "state/crawl.db").unlink()
    before = {path: path.read_bytes() for path in crawl.jobdir.rglob("*") if path.is_file()}

    assert_refused(crawl, "")
    assert {path: path.read_bytes() for path in before if path.exists()} == before
