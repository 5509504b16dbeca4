"""The disk store on failing disks, one operation after the other, and after a power cut."""

import threading

import pytest

from tests.support.faults import BreakingDisk, ForgetfulDisk
from tests.support.seens import Reopenable, WaitingDisk, disk, job_of
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.store.errors import StoreError

PAGES = [[(page * 7 + link * link) % 31 for link in range(6)] for page in range(6)]
WANTED = [b"%d" % key for key in dict.fromkeys(key for page in PAGES for key in page)]


class Crawl:
    """Submits pages, with a checkpoint after each; after a failure it resumes from the last one."""

    def __init__(self, job):
        self.job, self.taken, self.saved = job, [], (0, 0)

    def run(self):
        """Runs until the end or a failure; returns whether it reached the end."""
        try:
            for page in range(self.saved[0], len(PAGES)):
                self.job.submit(*PAGES[page])
                self.job.wait()
                self.taken += self.job.store.pop_new(4)
                self.job.checkpoint()
                self.saved = page + 1, len(self.taken)
            self.taken += self.job.settle()
        except StoreError:
            del self.taken[self.saved[1] :]
            return False
        return True


class TestFailures:
    @pytest.mark.campaign
    def test_whatever_operation_fails_nothing_is_lost(self, tmp_path):
        """Each create, write, sync and unlink fails in turn: the crawl can be resumed from its last
        checkpoint.
        """
        fs, failures = BreakingDisk(), 0
        job = job_of(tmp_path, fs=fs)
        assert Crawl(job).run()
        job.close()
        assert fs.operations > 40
        for fail_at in range(1, fs.operations + 1):
            fs = BreakingDisk()
            job = Reopenable(tmp_path / f"{fail_at}", disk, fs)
            fs.fail_at = fs.operations + fail_at
            crawl = Crawl(job)
            if not crawl.run():
                failures += 1
                job.reopen()
                assert crawl.run()
            assert crawl.taken == WANTED, fail_at
            job.close()
            assert job.damages() == []
        assert failures > 20

    def test_a_failed_thread_is_heard_of_at_the_next_call(self, tmp_path):
        """A full disk during a merge makes all calls raise StoreError until the crawl is reopened."""
        fs = BreakingDisk(for_good=True)
        job = job_of(tmp_path, fs=fs)
        job.submit(1, 2)
        job.checkpoint()
        fs.fail_at = fs.operations + 1
        job.submit(3, 4, 5, 6)
        job.wait()
        for call in (
            lambda: job.submit(99),
            lambda: job.store.pop_new(1),
            job.store.merge,
            job.checkpoint,
        ):
            with pytest.raises(StoreError, match="No space left"):
                call()
        fs.fail_at = 0
        job.reopen()

        assert job.settle() == [b"1", b"2"]
        job.close()

    def test_a_failed_spill_is_heard_of_at_the_next_call(self, tmp_path):
        """If T cannot be spilled, StoreError is raised before the next merge is due."""
        fs = BreakingDisk()
        job = job_of(tmp_path, Layout(chunk=4, budget=5, largest=10_000, fresh=0, share=100.0), fs)
        job.submit(*range(4))
        job.settle()
        fs.fail_at = fs.operations + 1
        job.submit(*range(4, 9))
        assert "No space left" in str(job.store._t._spills[0].exception(30))
        with pytest.raises(StoreError, match="No space left"):
            job.store.pop_new(1)
        job.close()

    def test_a_power_cut_takes_nothing_that_was_in_a_checkpoint(self, tmp_path):
        """Files and their folder are synced before a checkpoint names them."""
        fs = ForgetfulDisk()
        job = job_of(tmp_path, fs=fs)
        assert Crawl(job).run()
        job.checkpoint()
        job.close()
        fs.crash()
        job.open()
        for page in PAGES:
            job.submit(*page)

        assert job.store.stats()["runs"] > 0
        assert job.settle() == []
        job.close()

    def test_closing_does_not_wait_for_a_merge_to_be_finished(self, tmp_path):
        """A merge stops at its next range of keys; in the checkpoint it has not begun."""
        fs = WaitingDisk()
        job = job_of(tmp_path, Layout(chunk=500, budget=1, largest=10_000, fresh=0), fs)
        job.submit(*range(500))
        job.checkpoint()
        threading.Timer(0.05, fs.open.set).start()
        job.close()

        assert job.names() == []
        job.open()
        assert len(job.settle()) == 500
        job.close()
