"""Reading beside a crawl in another process: nothing that happens there changes what is read."""

import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from webcrawl.record.objectstore.storing import IN_STORE
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify_crawl import ABSENT, verify

# A crawl whose log begins anew with each transaction, if nobody reads it: a step for each line that
# it is sent. Merges are waited for: without them the next step may find no page, and open no
# archive. One is open after each step: if its last page has filled a file, the next page begins
# another.
CRAWL = """
import sys
from pathlib import Path
from tests.support.crawling import wait_until
from tests.support.jobs import Job
from tests.support.saving import settled
from webcrawl.record.objectstore.storing import ADDRESS_KEY, StoredFile
from webcrawl.store.outputs import STORED


job = Job(Path(sys.argv[1]), log_limit=0)
for line in sys.stdin:
    if line == "end\\n":
        job.close()
    elif line == "send\\n":
        finished = [name for name, _ in job.outputs.finished()]
        job.db.set(ADDRESS_KEY, b"file:///there")
        job.db.set_all((STORED + name, StoredFile("file:///there").pack()) for name in finished)
        job.checkpoint()
        for name in finished:
            (job.root / name).unlink(missing_ok=True)
    else:
        pages = 40
        while pages or job.archive._output is None:
            job.work(pages or 1)
            wait_until(lambda: not job.seen.busy)
            pages = 0
        job.checkpoint()
        settled(job.db)
    print("done", flush=True)
"""


@contextmanager
def crawl(root):
    """A function that has the crawl do one thing, and waits for it."""
    with subprocess.Popen(
        [sys.executable, "-c", CRAWL, root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def order(line):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        order("work")
        order("work")
        yield order


def everything(snapshot):
    return {
        name: list(snapshot.rows(f"SELECT * FROM {name}"))
        for name in ("meta", "block", "host", "waiting")
    }


@pytest.mark.parametrize("orders", [["work"] * 4, ["work", "end"]], ids=["it goes on", "it ends"])
def test_a_crawl_that_goes_on_during_the_check(tmp_path, monkeypatch, orders):
    """What is checked is one checkpoint, also when the crawl makes others meanwhile, and when it
    ends.
    """
    with crawl(tmp_path) as order:
        check = Snapshot.check

        def beside(snapshot):
            for one in orders:
                order(one)
            yield from check(snapshot)

        monkeypatch.setattr(Snapshot, "check", beside)
        found = Counter()

        assert list(verify(tmp_path, found)) == []
        assert found["lines"] > 40


@pytest.mark.campaign
def test_an_archive_that_is_finished_and_taken_away_during_the_check(tmp_path, monkeypatch):
    """It is its owner's from then on: it is named as absent, not as damage."""
    with crawl(tmp_path) as order:
        check, taken = Snapshot.check, []

        def beside(snapshot):
            for _ in range(4):
                order("work")
            for (name,) in snapshot.rows("SELECT path FROM output WHERE path GLOB 'warc/*.open'"):
                (tmp_path / name).with_suffix("").unlink()
                taken.append(name.removesuffix(".open"))
            yield from check(snapshot)

        monkeypatch.setattr(Snapshot, "check", beside)
        found = Counter()

        assert list(verify(tmp_path, found)) == []
        assert len(taken) == 2
        assert {name for name in found if name.startswith(ABSENT)} == {
            f"{ABSENT}{name}" for name in taken
        }


@pytest.mark.campaign
def test_archives_that_go_to_the_store_during_the_check(tmp_path, monkeypatch):
    """What lies there in the meantime is not missing."""
    with crawl(tmp_path) as order:
        order("send")
        check = Snapshot.check

        def beside(snapshot):
            for one in ("work", "work", "work", "send"):
                order(one)
            yield from check(snapshot)

        monkeypatch.setattr(Snapshot, "check", beside)
        found = Counter()

        assert list(verify(tmp_path, found)) == []
        assert found[f"{IN_STORE}file:///there"] > 2


@pytest.mark.parametrize("last", ["work", "end"])
def test_two_readers_in_one_process(tmp_path, last):
    """A reader that ends does not take another one's checkpoint away."""
    with crawl(tmp_path) as order, Snapshot(tmp_path / "state") as one:
        with Snapshot(tmp_path / "state") as other:
            before = everything(other)
            other.damaged("searched", value=before["host"][0][2])
        order("work")
        order(last)

        assert everything(one) == before
