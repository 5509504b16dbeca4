"""A checkpoint does not name files of keys that somebody has removed."""

from contextlib import closing

import pytest

from tests.support.seens import STORES, Reopenable
from webcrawl.store.errors import TakenAway


@pytest.mark.parametrize("kind", ["disk", "bloom"])
@pytest.mark.parametrize("reopened", [False, True])
def test_a_removed_file_fails_the_checkpoint(tmp_path, kind, reopened):
    """A file of keys that is gone, of this run or an earlier one, fails the next checkpoint with
    its path.
    """
    with closing(Reopenable(tmp_path / "state", STORES[kind])) as job:
        key = 0
        while not job.store.stats()["runs"]:
            job.submit(key)
            job.settle()
            key += 1
        job.checkpoint()
        if reopened:
            job.reopen()
        name = (job.db.get("seen.bloom") or b"").decode() or job.db.query("SELECT name FROM run")[
            0
        ][0]
        path = tmp_path / "state/seen" / name
        path.unlink()

        with pytest.raises(TakenAway, match=str(path)):
            job.db.checkpoint()
