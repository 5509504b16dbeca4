"""Stores whose thread has died, for want of memory even to say so: nobody waits for what it was to
do.
"""

import sys
import time

import pytest

from tests.support.crawling import wait_until
from tests.support.seens import Reopenable, bloom, disk
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.store import worker

MANY = range(200)


def _urls(store):
    for key in MANY:
        store.submit([key], [b"%d" % key])
        store.pop_new(1)
        time.sleep(0.01)


def _bodies(store):
    for number in MANY:
        store.holds(b"%016d" % number) or len(store) > 3 or store.add(b"%016d" % number)
        time.sleep(0.01)


def _content(db):
    return ContentSeen(db, memory=3 * 512)


@pytest.mark.parametrize(
    ("make", "use"),
    [
        pytest.param(disk, _urls, id="disk"),
        pytest.param(bloom, _urls, id="bloom"),
        pytest.param(_content, _bodies, id="content"),
    ],
)
def test_a_thread_that_dies_ends_the_crawl(tmp_path, monkeypatch, make, use):
    """The next look at its work is a lack of memory, and closing the store does not wait for it."""
    dying, dead = [], []

    def die(*_):
        dying.append(None)
        raise MemoryError

    job = Reopenable(tmp_path / "state", make)
    monkeypatch.setattr(worker, "_do", die)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: dead.append(None))

    with pytest.raises(MemoryError):
        use(job.store)
    job.store.close()
    wait_until(lambda: len(dead) == len(dying))  # or Python reports them in a later test
    monkeypatch.undo()
    job.db.close()
