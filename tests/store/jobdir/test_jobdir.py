"""Which crawls a JOBDIR holds."""

import json
from pathlib import Path

import pytest

from tests.support.hive_jobs import named
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StateVersion, StoreError
from webcrawl.store.jobdir.crawls import HiveDrones, crawls_of, for_reading, hive_of, is_locked
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl
from webcrawl.store.jobdir.meta_row import read_terms


def crawl(folder):
    (folder / "state").mkdir(parents=True)
    (folder / "state/crawl.db").write_bytes(b"")


def test_a_single_crawl(tmp_path):
    """A crawl is its own only one, whatever lies beside its state; so is a folder that holds no
    crawl at all.
    """
    crawl(tmp_path)
    crawl(tmp_path / "drone-0")

    assert hive_of(tmp_path) is None
    assert crawls_of(tmp_path) == [tmp_path]
    assert crawls_of(tmp_path / "nowhere") == [tmp_path / "nowhere"]


def test_drones_are_those_named_and_those_with_a_folder(tmp_path):
    """The drones that hive.json names, here or not, and those that only have a folder, by number."""
    named(tmp_path, (10, 2))
    for name in ("drone-2", "drone-11", "drone-03", "drone-x", "server"):
        (tmp_path / name).mkdir()
    (tmp_path / "drone-4").touch()

    assert hive_of(tmp_path) == HiveDrones("web", (2, 10, 11))
    assert crawls_of(tmp_path) == [
        tmp_path / "drone-2",
        tmp_path / "drone-10",
        tmp_path / "drone-11",
    ]


def test_drones_of_many_machines(tmp_path):
    """Drones' folders that were copied into one need no hive.json; without a crawl in any they are
    no hive.
    """
    (tmp_path / "drone-3").mkdir()
    assert crawls_of(tmp_path) == [tmp_path]

    crawl(tmp_path / "drone-1")
    assert hive_of(tmp_path) == HiveDrones(tmp_path.name, (1, 3))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 1}', '{"version": 1, "name": "a", "drones": 2}', "\udcff"]
)
def test_a_damaged_file(tmp_path, text):
    """What is not a hive.json is said in one line."""
    (tmp_path / "hive.json").write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(StoreError, match=r"hive\.json: ") as raised:
        hive_of(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read(tmp_path):
    """So is why hive.json cannot be read."""
    (tmp_path / "hive.json").mkdir()

    with pytest.raises(StoreError, match=r"hive\.json: Is a directory"):
        hive_of(tmp_path)


@pytest.mark.parametrize("drones", [[-1], ["0"], [True], [None]])
def test_drones_that_are_no_numbers(tmp_path, drones):
    """Drones are numbers from 0."""
    named(tmp_path, drones)

    with pytest.raises(DamagedFile, match="must be a list of numbers"):
        crawls_of(tmp_path)


def test_a_hive_json_of_another_version_is_refused(tmp_path):
    """A hive.json of another version is refused."""
    named(tmp_path, [0], version=2)

    with pytest.raises(StateVersion, match="version 2, but this program reads version 1"):
        crawls_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "beside"), [("crawls/a", "crawls/a-read"), (".", "HERE-read"), ("x/..", "HERE-read")]
)
def test_where_its_archives_are_read_to(tmp_path, monkeypatch, name, beside):
    """A folder beside it, also of one that is given without a name."""
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path)

    assert str(for_reading(Path(name))) == beside.replace("HERE", str(tmp_path))


# -- Whether a folder holds a crawl, in one place and one line.


def begun(folder):
    db = CrawlDB(folder / "state")
    db.set("terms", b"{}")
    db.checkpoint()
    db.close()


@pytest.mark.parametrize("ask", [JobDir.open, JobDir.all])
def test_a_missing_folder_a_file_and_a_folder_without_a_state_are_told_apart(tmp_path, ask):
    """A missing folder, a file, and a folder without a state are told apart."""
    with pytest.raises(NoCrawl, match=r"gone: no such folder$"):
        ask(tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(NoCrawl, match=r"file: not a folder$"):
        ask(tmp_path / "file")
    with pytest.raises(NoCrawl, match=r": not a crawl: state/crawl\.db is missing$"):
        ask(tmp_path)


def test_a_crawl(tmp_path):
    """Its last checkpoint is read beside it."""
    begun(tmp_path)
    job = JobDir.open(tmp_path)

    assert job.read(lambda snapshot: snapshot.get("terms")) == b"{}"
    assert (job.stats(), JobDir.all(tmp_path)) == ({}, [job])


def test_drones_are_those_whose_crawls_have_begun(tmp_path):
    """Its drones are those whose crawls have begun; without any there is no crawl."""
    (tmp_path / "hive.json").write_text('{"version": 1, "name": "web", "drones": [0, 1]}')
    with pytest.raises(NoCrawl, match="none of its drones has begun a crawl"):
        JobDir.all(tmp_path)
    begun(tmp_path / "drone-1")

    assert [job.path.name for job in JobDir.all(tmp_path)] == ["drone-1"]


def test_a_crawl_that_runs(tmp_path):
    """Whoever holds the lock of the state runs the crawl."""
    db = CrawlDB(tmp_path / "state")
    try:
        assert is_locked(tmp_path)
    finally:
        db.close()
    assert not is_locked(tmp_path)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("range(8910, 8911), range(8953, 8960)", "8910, 8953-8959"),
        ("7071,8000-8099", "7071,8000-8099"),
        ("", ""),
    ],
)
def test_ports_of_earlier_crawls(written, read):
    """Crawls of an earlier version have ports as Python's ranges: they are read as they are written
    today.
    """
    assert read_terms(json.dumps({"PORTS_ALLOWED": written}).encode()) == {"PORTS_ALLOWED": read}
