"""Checkpoints as the scheduler takes them, and the end of the work in threads that follows one."""

import time

PAUSE = 0.0002  # seconds


def prepared(db):
    """Does the work ahead; the last slices wait for the disk, and looking without a pause takes as
    much CPU as that.
    """
    for _ in db.prepare():
        time.sleep(PAUSE)


def settled(db):
    """Waits for the database's thread, which does its jobs in their order: copying the log back is
    one of them. Then no file of the state changes by itself.
    """
    db.worker.result(db.worker.submit(int))
