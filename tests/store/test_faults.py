"""Every create, write, sync, rename and unlink of the store fails in turn: the last checkpoint
remains.
"""

import contextlib
import errno
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from tests.support.faults import BreakingDisk, ForgetfulDisk
from tests.support.places import ROOT
from tests.support.saving import prepared
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.outputs import Outputs
from webcrawl.store.runs import Run, RunWriter

STEPS = 2


class PowerCut(BreakingDisk, ForgetfulDisk):
    """Fails at the n-th operation, then loses what was not synced."""

    def __init__(self, fail_at):
        ForgetfulDisk.__init__(self)
        BreakingDisk.__init__(self, fail_at, errno.EIO, for_good=True)


def _keys(step):
    return np.arange(step * 10, step * 10 + 5, dtype=np.uint64)


def _live(root, disk, done):
    """A miniature crawl: each step writes a line, and a run that replaces the last one, then makes
    a checkpoint.
    """
    db = CrawlDB(root / "state", disk)
    outputs = None
    try:
        outputs = Outputs(db, root, at_once=0)
        log = outputs.open("logs/crawl.log")
        for step in range(int(db.get("step") or b"0") + 1, STEPS + 1):
            log.write(b"step %d\n" % step)
            name = f"{step}.run"
            # a crash's leftover, which a seen store clears away
            (root / "state" / name).unlink(missing_ok=True)
            writer = RunWriter(disk, root / "state" / name)
            writer.append(_keys(step))
            writer.finish()
            for (old,) in db.query("SELECT name FROM run"):
                db.execute("DELETE FROM run WHERE name = ?", (old,))
                db.discard(root / "state" / old)
            db.execute("INSERT INTO run VALUES (?, 'test', 5)", (name,))
            db.set("step", b"%d" % step)
            prepared(db)
            db.checkpoint()
            done.append(step)
    finally:
        if outputs is not None:
            outputs.close()
        db.close()


def _assert_state(root, step):
    """Asserts that database, output and run file are all of this step."""
    db = CrawlDB(root / "state")
    outputs = Outputs(db, root, at_once=0)
    try:
        assert int(db.get("step") or b"0") == step
        assert db.query("PRAGMA integrity_check") == [("ok",)]
        if step:
            assert (root / "logs/crawl.log").read_bytes() == b"".join(
                b"step %d\n" % i for i in range(1, step + 1)
            )
        names = [name for (name,) in db.query("SELECT name FROM run")]
        assert names == ([f"{step}.run"] if step else [])
        for name in names:
            run = Run(root / "state" / name)
            assert run.contains(_keys(step)).all()
            assert list(run.check()) == []
            run.close()
    finally:
        outputs.close()
        db.close()


def _count_operations(root):
    disk = BreakingDisk()
    _live(root, disk, [])
    return disk.operations


@pytest.mark.parametrize(
    ("error", "for_good"),
    [(errno.ENOSPC, True), (errno.EIO, False)],
    ids=["full for good", "broken once"],
)
def test_whatever_fails_the_last_checkpoint_remains(tmp_path, error, for_good):
    """After any failed operation the state is that of the last checkpoint that did not raise, and
    can be resumed.
    """
    operations = _count_operations(tmp_path / "whole")
    raised = 0
    assert operations > 20
    for fail_at in range(1, operations + 1):
        root, done = tmp_path / str(fail_at), []
        disk = BreakingDisk(fail_at, error, for_good=for_good)
        try:
            _live(root, disk, done)
        except (StoreError, OSError):
            raised += 1
        else:
            # discarded files
            assert all(what.startswith("unlink") for what in disk.broken), disk.broken
            done.append(STEPS)
        _assert_state(root, done[-1] if done else 0)
        _live(root, Disk(), [])
        _assert_state(root, STEPS)
    assert raised >= operations - 3


def test_a_power_cut_at_any_operation_leaves_the_last_checkpoint(tmp_path):
    """No checkpoint relies on bytes or names that were not synced."""
    operations = _count_operations(tmp_path / "whole")
    for fail_at in range(1, operations + 1):
        root, done = tmp_path / str(fail_at), []
        disk = PowerCut(fail_at)
        with contextlib.suppress(StoreError, OSError):
            _live(root, disk, done)
        assert disk.broken
        disk.crash()
        _assert_state(root, done[-1] if done else 0)


def test_a_disk_that_is_full_at_the_start_is_named(tmp_path):
    """A database that cannot be opened for want of room for its index is not taken for a broken disk."""
    CrawlDB(tmp_path).close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(StoreError, match=r"disk I/O error: no room for crawl\.db-shm$"):
            CrawlDB(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_database_that_is_full_says_so_and_keeps_the_checkpoint(tmp_path):
    """SQLITE_FULL raises StoreError at once; after reopening the state is as before."""
    db = CrawlDB(tmp_path)
    db.set("x", b"1")
    db.checkpoint()
    db.execute("PRAGMA max_page_count = 30")
    db.set("x", b"2")
    with pytest.raises(StoreError, match="database or disk is full"):
        db.set("y", bytes(1 << 20))
    with pytest.raises(
        StoreError, match="cannot be used after an earlier error: database or disk is full"
    ):
        db.checkpoint()
    db.close()

    db = CrawlDB(tmp_path)
    assert (db.get("x"), db.get("y")) == (b"1", None)
    assert db.query("PRAGMA integrity_check") == [("ok",)]
    db.close()


LIMITED = """
import resource, sys
from pathlib import Path
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError

db = CrawlDB(Path(sys.argv[1]))
db.set("x", b"1")
db.checkpoint()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
done = 1
try:
    for i in range(2, 1000):
        db.set("x", b"%d" % i)
        db.execute("INSERT INTO block VALUES (?, ?)", (i, bytes(100_000)))
        db.checkpoint()
        done = i
except StoreError as error:
    print(done, error, flush=True)
"""


@pytest.mark.parametrize("limit", [100_000, 777_777, 3_000_000])
def test_a_file_that_the_kernel_lets_grow_no_more_keeps_the_checkpoint(tmp_path, limit):
    """If write(2) fails during a transaction or a COMMIT, the last complete checkpoint remains."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path), str(limit)]
    said = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True, env=dict(os.environ)
    ).stdout
    done = said.split()[0]

    db = CrawlDB(tmp_path)
    assert db.get("x") == done.encode()
    assert db.query("PRAGMA integrity_check") == [("ok",)]
    db.close()
