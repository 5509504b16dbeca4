"""After kill -9 or a disk error the archive is that of the last checkpoint, without a capture
written twice.
"""

import contextlib
import random
import subprocess
import sys

import pytest

from tests.support.cdxj import assert_index
from tests.support.faults import BreakingDisk
from tests.support.places import ROOT
from tests.support.warc_crawl import Archive, exchange, files, indexes
from tests.support.warc_reader import read
from webcrawl.record.warc.capture import CompressionQueue
from webcrawl.store.errors import StoreError

EACH = 3


def _live(root, disk=None, *, steps, seed=0, done=None, thread=False):
    """In each step writes some captures and makes a checkpoint; then ends cleanly.

    They are enough to finish a file, or to be compressed in a thread in two batches.
    """
    how = (
        {"max_size": 20_000, "queue": CompressionQueue(batch=8000)}
        if thread
        else {"max_size": 2500}
    )
    archive = Archive(root, disk, seed=seed, **how)
    try:
        for step in range(int(archive.db.get("step") or b"0"), steps):
            for number in range(EACH):
                archive.write(
                    exchange(
                        f"http://a.test/{step:06}/{number}", random.Random(step).randbytes(600)
                    )
                )
            archive.db.set("step", b"%d" % (step + 1))
            archive.checkpoint()
            if done is not None:
                done(step + 1)
        archive.writer.close()
        archive.checkpoint()
    finally:
        archive.close()


def _assert_state(root):
    """A strict reader accepts every file; together they hold each capture of the noted steps once."""
    archive = Archive(root, seed=99, max_size=2500)
    steps = int(archive.db.get("step") or b"0")
    noted = dict(archive.db.query("SELECT path, length FROM output"))
    here = [*files(root), *indexes(root)]
    assert {f"warc/{path.name}": path.stat().st_size for path in here} == noted
    archive.close()
    for path in files(root):
        assert_index(path)
    found = [record for path in files(root) for record in read(path)]
    addresses = [record.fields["WARC-Target-URI"] for record in found if record.kind == "response"]
    assert addresses == [
        f"http://a.test/{step:06}/{number}" for step in range(steps) for number in range(EACH)
    ]
    assert len({record.id for record in found}) == len(found)
    return steps


def test_what_a_crash_leaves_open_is_finished_at_the_next_start(tmp_path):
    """The file stays in the archive under its name; the next capture goes to another file."""
    archive = Archive(tmp_path)
    archive.write(exchange("http://a.test/1"))
    archive.checkpoint()
    archive.write(exchange("http://a.test/2"))
    archive.db.close()
    archive = Archive(tmp_path, seed=2)
    archive.write(exchange("http://a.test/2"))
    archive.stop()

    found = [
        [r.fields["WARC-Target-URI"] for r in read(path) if r.kind == "response"]
        for path in files(tmp_path)
    ]
    assert found == [["http://a.test/1"], ["http://a.test/2"]]
    assert [path.name[-13:] for path in files(tmp_path)] == ["00000.warc.gz", "00001.warc.gz"]


def test_what_was_begun_after_the_checkpoint_is_removed(tmp_path):
    """Any number of files that no checkpoint knows are removed at the next start."""
    archive = Archive(tmp_path, max_size=1)
    archive.write(exchange("http://a.test/1"))
    archive.checkpoint()
    for number in range(3):
        archive.write(exchange(f"http://a.test/lost{number}"))
    archive.db.close()
    assert len(files(tmp_path)) == 4

    Archive(tmp_path, seed=2).stop()
    assert [path.name[-13:] for path in files(tmp_path)] == ["00000.warc.gz"]


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("for_good", "thread"),
    [(False, False), (True, False), (False, True)],
    ids=["once", "for good", "once, with a thread"],
)
def test_whatever_operation_fails_the_archive_is_that_of_the_last_checkpoint(
    tmp_path, for_good, thread
):
    """After any one failed operation the crawl resumes from the last checkpoint and makes the same
    archive.
    """
    disk = BreakingDisk()
    _live(tmp_path / "whole", disk, steps=2, thread=thread)
    for fail_at in range(5, disk.operations + 1, 2 if for_good else 3):
        root, done = tmp_path / str(fail_at), []
        with contextlib.suppress(StoreError, OSError):
            _live(
                root,
                BreakingDisk(fail_at, for_good=for_good),
                steps=2,
                done=done.append,
                thread=thread,
            )
        assert _assert_state(root) == (done[-1] if done else 0)
        _live(root, steps=2, seed=1)
        assert _assert_state(root) == 2
        assert all(path.suffix == ".gz" for path in files(root))


CHILD = """
import sys
from pathlib import Path
from tests.record.warc.test_recovery import _live
seed = int(sys.argv[2])
_live(Path(sys.argv[1]), steps=10**6, seed=seed, done=lambda step: print(step, flush=True), thread=seed % 2 == 1)
"""


@pytest.mark.campaign
def test_kill_9_at_any_moment(tmp_path):
    """Killed again and again, the crawl resumes each time and ends with every capture once, in
    finished files.

    Every other run compresses in a thread.
    """
    chance, steps = random.Random(), 0
    for seed in range(6):
        command = [sys.executable, "-c", CHILD, str(tmp_path), str(seed)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
            printed = [int(child.stdout.readline())]  # it has made a checkpoint
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(chance.uniform(0, 0.05))
            child.kill()
            printed += map(int, child.stdout)
        before, steps = steps, _assert_state(tmp_path)
        assert before < printed[-1] <= steps <= printed[-1] + 1
    _live(tmp_path, steps=steps + 3, seed=1000)

    assert _assert_state(tmp_path) == steps + 3
    assert all(path.suffix == ".gz" for path in files(tmp_path))
