"""Whether a folder holds a crawl, in one place and one line."""

import pytest

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.crawls import is_locked
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl


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
    assert (job.drone, job.stats(), JobDir.all(tmp_path)) == (None, {}, [job])


def test_drones_are_those_whose_crawls_have_begun(tmp_path):
    """Its drones are those whose crawls have begun; without any there is no crawl."""
    (tmp_path / "hive.json").write_text('{"version": 1, "name": "web", "drones": [0, 1]}')
    with pytest.raises(NoCrawl, match="none of its drones has begun a crawl"):
        JobDir.all(tmp_path)
    begun(tmp_path / "drone-1")

    assert [(job.path.name, job.drone) for job in JobDir.all(tmp_path)] == [("drone-1", 1)]


def test_a_crawl_that_runs(tmp_path):
    """Whoever holds the lock of the state runs the crawl."""
    db = CrawlDB(tmp_path / "state")
    try:
        assert is_locked(tmp_path)
    finally:
        db.close()
    assert not is_locked(tmp_path)
