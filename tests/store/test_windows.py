"""From when to when nobody knows what became of requests."""

import pytest

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.windows import KEY, MOST, Windows, read


@pytest.fixture(name="run")
def _run(tmp_path):
    """One run of a crawl, from a time on, with checkpoints at others; `end`: it says so before the last of them."""
    now = [0.0]

    def run(begun, *saved, end):
        now[0] = begun
        db = CrawlDB(tmp_path / "state")
        try:
            windows = Windows(db, lambda: now[0])
            for at in saved:
                now[0] = at
                if end and at == saved[-1]:
                    windows.end()
                db.checkpoint()
            return windows.found, read(db.get(KEY))[0]
        finally:
            db.close()

    return run


def test_a_kill_leaves_a_window(run):
    """From its last checkpoint to the start of the next run; a run that ends leaves none."""
    assert run(1.0, 2.0, 3.0, end=False) == ([], 3.0)
    assert run(10.0, 11.0, end=True) == ([(3.0, 10.0)], 0.0)
    assert run(20.0, 21.0, end=True) == ([(3.0, 10.0)], 0.0)


def test_a_run_that_is_killed_before_its_first_checkpoint_widens_it(run):
    """What both runs did is not known."""
    run(1.0, 2.0, end=False)
    assert run(5.0, end=False)[0] == [(2.0, 5.0)]
    assert run(9.0, 10.0, end=True)[0] == [(2.0, 9.0)]


def test_the_oldest_windows_are_forgotten(run):
    """A crawl that is killed every minute for a year stays small."""
    for at in range(0, 20 * 3, 20):
        found, _ = run(at + 1.0, at + 2.0, end=False)
    assert len(found) == 2 <= MOST
