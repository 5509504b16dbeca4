"""Stores whose thread has died, for want of memory even to say so: nobody waits for what it was to
do.
"""

import time

import pytest

from tests.support.seens import Reopenable, bloom, disk
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.store import worker

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
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

    def die(*_):
        raise MemoryError

    job = Reopenable(tmp_path / "state", make)
    monkeypatch.setattr(worker, "_do", die)

    with pytest.raises(MemoryError):
        use(job.store)
    job.store.close()
    monkeypatch.undo()
    job.db.close()
