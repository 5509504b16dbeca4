"""What `-a since=` may name, and what it is refused for."""

import json
import os

import pytest

from webcrawl.record.since.sources import (
    FileSignature,
    NoEarlier,
    possible_archives,
    signature_of,
    sources,
    write_indexed_files,
)
from webcrawl.store.disk import Disk


def jobdir(root, *files):
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return root


def named(argument, own):
    return [path.name for path in sources(argument, own).files]


def test_a_jobdir_means_the_indexes_of_its_archive(tmp_path):
    """By name, which is the order in which they were written."""
    job = jobdir(tmp_path / "jan", "warc/b.warc.gz", "warc/b.cdxj", "warc/a.warc.gz", "warc/a.cdxj")

    assert named(str(job), tmp_path / "feb") == ["a.cdxj", "b.cdxj"]


def test_a_hive_means_those_of_all_drones(tmp_path):
    """Also of a drone whose folder is missing: that is told."""
    job = jobdir(tmp_path / "jan", "drone-0/warc/a.cdxj", "drone-1/warc/b.cdxj")
    (job / "hive.json").write_text(json.dumps({"version": 1, "name": "jan", "drones": [0, 1, 2]}))
    found = sources(str(job), tmp_path / "feb")

    assert [path.name for path in found.files] == ["a.cdxj", "b.cdxj"]
    assert found.left_out == [f"{job}/drone-2: left out, because this drone's folder is missing"]


def test_what_an_earlier_crawl_compared_with_belongs_to_it(tmp_path):
    """Of what was unchanged then, it has only references; what is gone of that is told."""
    january, february = (
        jobdir(tmp_path / "jan", "warc/a.cdxj"),
        jobdir(tmp_path / "feb", "warc/b.cdxj"),
    )
    folder = february / "state" / "since"
    folder.mkdir(parents=True)
    write_indexed_files(
        Disk(),
        folder,
        [signature_of(january / "warc" / "a.cdxj"), signature_of(january / "warc" / "gone.cdxj")],
        set(),
    )
    found = sources(str(february), tmp_path / "mar")

    assert [path.name for path in found.files] == ["a.cdxj", "b.cdxj"]
    assert found.left_out == [
        f"{january}/warc/gone.cdxj: left out, because the file that {february} refers to is missing"
    ]


def test_files_and_folders_may_be_mixed(tmp_path):
    """Several with commas between, each file once."""
    job = jobdir(tmp_path / "jan", "warc/a.cdxj", "warc/b.cdxj")
    argument = f"{job}/warc/b.cdxj, {job}/warc,{job}"

    assert named(argument, tmp_path / "feb") == ["b.cdxj", "a.cdxj"]


def test_indexes_may_be_packed_or_cdx(tmp_path):
    """As a WACZ file and other programs have them; an archive file with one beside it has an index."""
    folder = jobdir(
        tmp_path / "jan", "a.cdxj.gz", "b.cdx", "index.cdx.gz", "index.idx", "b.warc.gz"
    )
    found = sources(str(folder), tmp_path / "feb")

    assert [path.name for path in found.files] == ["a.cdxj.gz", "b.cdx", "index.cdx.gz"]
    assert found.left_out == []


def test_a_server_is_named_by_its_address(tmp_path):
    """Also by a crawl that compared with it."""
    job = jobdir(tmp_path / "jan", "warc/a.cdxj")
    (job / "state/since").mkdir(parents=True)
    write_indexed_files(
        Disk(), job / "state/since", [FileSignature("cdx+http://a.test/", 0, 1)], set()
    )
    found = sources(f"cdx+http://b.test:81/c?d=e,{job}", tmp_path / "feb")

    assert found.servers == ["cdx+http://b.test:81/c?d=e", "cdx+http://a.test/"]
    assert [path.name for path in found.files] == ["a.cdxj"]


def test_what_is_left_out_is_told(tmp_path):
    """Archive files without an index, and files that a crawl has not finished."""
    job = jobdir(
        tmp_path / "jan", "warc/a.cdxj", "warc/b.warc.gz", "warc/c.warc.gz.open", "warc/c.cdxj.open"
    )

    assert sources(str(job), tmp_path / "feb").left_out == [
        f"{job}/warc: left out archive files without an index: 1",
        f"{job}/warc: left out unfinished files: 1; if that crawl was killed, resume it first",
    ]


def test_what_is_no_file_is_never_opened(tmp_path):
    """A pipe with that name would have the crawl wait for ever."""
    job = jobdir(tmp_path / "jan", "warc/a.cdxj")
    os.mkfifo(job / "warc" / "b.cdxj")
    found = sources(str(job), tmp_path / "feb")

    assert [path.name for path in found.files] == ["a.cdxj"]
    assert found.left_out == [f"{job}/warc/b.cdxj: left out, because it is not a file"]


@pytest.mark.parametrize("argument", ["hive", "hive/drone-1", "hive/drone-1/warc/b.cdxj"])
def test_a_drone_is_not_compared_with_the_others_of_its_hive(tmp_path, argument):
    """They are of the same crawl, also where this drone has no index yet."""
    hive = jobdir(tmp_path / "hive", "drone-0/warc/notes.txt", "drone-1/warc/b.cdxj")
    (hive / "hive.json").write_text(json.dumps({"version": 1, "name": "hive", "drones": [0, 1]}))

    with pytest.raises(NoEarlier, match="contains this crawl's own JOBDIR"):
        sources(str(tmp_path / argument), hive / "drone-0")


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("none", "no such file or folder"),
        ("feb", "contains this crawl's own JOBDIR"),
        ("feb/warc", "contains this crawl's own JOBDIR"),
        ("feb/warc/a.cdxj", "contains this crawl's own JOBDIR"),
        ("empty", "contains no finished index of an archive"),
        ("notes.txt", "neither an index file"),
        ("cdx+ftp://a.test/", "expected the address of a CDX server"),
        ("cdx+http://", "expected the address of a CDX server"),
        ("cdx+http://a.test:x/", "Port could not be cast"),
        ("cdx+https://me@a.test/", "must not contain a user name"),
        ("jan,none", "no such file or folder"),
        (" , ", "is empty: give the JOBDIR of an earlier crawl"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, argument, why):
    """One line, which says why."""
    monkeypatch.chdir(tmp_path)
    jobdir(tmp_path, "feb/warc/a.cdxj", "jan/warc/a.cdxj", "notes.txt")
    (tmp_path / "empty").mkdir()

    with pytest.raises(NoEarlier, match=why):
        sources(argument, tmp_path / "feb")


def test_archive_files_are_looked_for_near_their_index(tmp_path):
    """Beside it, and where WACZ has them; never where a name with a path would lead."""
    index = tmp_path / "indexes" / "a.cdxj"

    assert list(possible_archives(index, "../../etc/f.warc.gz")) == [
        tmp_path / "indexes" / "f.warc.gz",
        tmp_path / "archive" / "f.warc.gz",
        tmp_path / "warc" / "f.warc.gz",
    ]
