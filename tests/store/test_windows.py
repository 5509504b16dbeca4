"""From when to when nobody knows what became of requests."""

import msgpack
import pytest

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.requests_log import KEY, MOST, Windows, is_open, read


@pytest.fixture(name="run")
def _run(tmp_path):
    """One run of a crawl, from a time on, with checkpoints at others; `end`: it says so before the last of them.

    `asked`: when the last request of all runs before was sent.
    """
    now = [0.0]

    def run(begun, *saved, end, asked=0.0):
        now[0] = begun
        db = CrawlDB(tmp_path / "state")
        try:
            windows = Windows(db, lambda: now[0], asked)
            for at in saved:
                now[0] = at
                if end and at == saved[-1]:
                    windows.end()
                db.checkpoint()
            return windows.found, read(db.get(KEY)).at
        finally:
            db.close()

    return run


def test_a_kill_leaves_a_window(run):
    """From its last checkpoint to the start of the next run; a run that ends leaves none."""
    assert run(1.0, 2.0, 3.0, end=False) == ([], 3.0)
    assert run(10.0, 11.0, end=True) == ([(3.0, 10.0)], 11.0)
    assert run(20.0, 21.0, end=True, asked=10.5) == ([(3.0, 10.0)], 21.0)


def test_a_run_that_is_killed_before_its_first_checkpoint_widens_it(run):
    """What both runs did is not known."""
    run(1.0, 2.0, end=False)
    assert run(5.0, end=False)[0] == [(2.0, 5.0)]
    assert run(9.0, 10.0, end=True)[0] == [(2.0, 9.0)]


@pytest.mark.parametrize(("ended", "since"), [([2.0, 3.0], 3.0), ([], 0.0)])
def test_a_kill_before_the_first_checkpoint_leaves_one(run, ended, since):
    """The log of requests has some that no checkpoint knows of: of a resumed run, or of the very first."""
    if ended:
        run(1.0, *ended, end=True)
    run(5.0, end=False)

    assert run(9.0, 10.0, end=True, asked=6.0)[0] == [(since, 9.0)]
    assert run(20.0, 21.0, end=True, asked=9.5)[0] == [(since, 9.0)]


def test_checkpoints_of_an_earlier_version():
    """They had two fields, and 0 for the end of a run."""
    assert read(msgpack.packb((3.0, [(1.0, 2.0)]))) == (3.0, False, ((1.0, 2.0),))
    assert not is_open(read(msgpack.packb((0.0, []))), 1e9)


def test_the_oldest_windows_are_forgotten(run):
    """A crawl that is killed every minute for a year stays small."""
    for at in range(0, 20 * 3, 20):
        found, _ = run(at + 1.0, at + 2.0, end=False)
    assert len(found) == 2 <= MOST
