"""Checkpoints as the scheduler takes them: it looks away between two slices of the work ahead of
one.
"""

import time

PAUSE = 0.0002  # seconds


def prepared(db):
    """Does the work ahead; the last slices wait for the disk, and looking without a pause takes as
    much CPU as that.
    """
    for _ in db.prepare():
        time.sleep(PAUSE)
