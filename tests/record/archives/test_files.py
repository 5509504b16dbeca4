"""Which archive files the arguments of `scrapy process` name."""

import pytest

from tests.support.hive_jobs import named
from webcrawl.record.warc.archive_files import NoArchive, archive_files


@pytest.fixture(name="hive")
def _hive(tmp_path):
    for name in ("drone-0/warc/b.warc.gz", "drone-0/warc/a.warc.gz.open", "drone-10/warc/c.warc.gz", "drone-2/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    named(tmp_path, (0, 2, 10, 11))
    return tmp_path


def test_the_files_of_a_hive_are_those_of_its_drones(hive):
    """Of a hive's folder the files of all drones, drone by drone; one that has none, or is not here, adds none."""
    found, again = archive_files([str(hive), str(hive / "drone-10")])

    assert [path.relative_to(hive).as_posix() for path in found] == [
        "drone-0/warc/a.warc.gz.open",
        "drone-0/warc/b.warc.gz",
        "drone-10/warc/c.warc.gz",
    ]
    assert again == [hive / "drone-10/warc/c.warc.gz"]


def test_a_drone_that_is_not_here(hive, caplog):
    """A line names it: its pages will be missing."""
    archive_files([str(hive)])

    assert caplog.messages == [f"{hive}/drone-11: this drone's folder is missing: left out"]


def test_a_hive_without_archives(tmp_path):
    """One line, as for any folder."""
    named(tmp_path, (0, 1))

    with pytest.raises(NoArchive, match="no WARC files in this folder"):
        archive_files([str(tmp_path)])


def test_a_damaged_hive_file(hive):
    """One line."""
    (hive / "hive.json").write_text("{")

    with pytest.raises(NoArchive, match=r"hive\.json: damaged at byte 1"):
        archive_files([str(hive)])
