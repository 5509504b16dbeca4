"""Reading beside a crawl in another process: nothing that happens there changes what is read."""

import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from webcrawl.verify.snapshot import Snapshot
from webcrawl.verify.whole import verify

# A crawl whose log begins anew with each transaction, if nobody reads it: a step for each line that it is sent.
CRAWL = """
import sys
from pathlib import Path
from tests.support.jobs import Job

job = Job(Path(sys.argv[1]))
job.db._log._limit = 0
for line in sys.stdin:
    if line == "end\\n":
        job.close()
    else:
        job.work()
        job.checkpoint()
        job.db._log.wait()
    print("done", flush=True)
"""


@contextmanager
def crawl(root):
    """A function that has the crawl do one thing, and waits for it."""
    with subprocess.Popen(
        [sys.executable, "-c", CRAWL, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def order(line):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        order("work")
        order("work")
        yield order


def everything(snapshot):
    return {name: list(snapshot.rows(f"SELECT * FROM {name}")) for name in ("meta", "block", "host", "waiting")}


@pytest.mark.parametrize("orders", [["work"] * 4, ["work", "end"]], ids=["it goes on", "it ends"])
def test_a_crawl_that_goes_on_during_the_check(tmp_path, monkeypatch, orders):
    """What is checked is one checkpoint, also when the crawl makes others meanwhile, and when it ends."""
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
