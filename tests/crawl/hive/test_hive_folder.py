"""The folder of a hive on one machine."""

from contextlib import closing

import pytest

from webcrawl.crawl.hive.drone_identity import KEY, take_up
from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.store.crawldb import CrawlDB

OURS, OTHER = b"k" * 16, b"o" * 16


@pytest.mark.parametrize("runs", [False, True])
def test_the_hive_that_a_server_knows(tmp_path, runs):
    """It is the folder's if a drone here has its key or, before its first checkpoint, one of its drones' ids."""
    folder = HiveFolder(tmp_path)
    assert not folder.is_of(OURS, set())
    with closing(CrawlDB(folder.drone(1) / "state")) as db:
        identity = take_up(db, "web", 1)
        if not runs:
            db.close()
        assert not folder.is_of(OURS, {"another"})
        assert folder.is_of(OURS, {"another", identity.id})
    with closing(CrawlDB(folder.drone(0) / "state")) as db:
        db.set(KEY, OURS)
        db.checkpoint()

        assert folder.is_of(OURS, set())
        assert not folder.is_of(OTHER, set())


def test_a_state_that_cannot_be_read(tmp_path):
    """It may be of any hive: nobody is kept from stopping his drones by a damaged file."""
    folder = HiveFolder(tmp_path)
    (folder.drone(0) / "state").mkdir(parents=True)
    (folder.drone(0) / "state/crawl.db").write_text("damaged")

    assert folder.is_of(OURS, set())
