"""The disk store: when it merges, what it keeps where."""

import logging
import re
import threading

import pytest

from tests.support.seens import ROOMY, WaitingDisk, job_of
from webcrawl.frontier.seen.protocol import CACHE_ENTRY, Layout, layout, shares


def _decided(job, keys, told):
    job.store.submit(keys, [b""] * len(keys))
    job.store.merge()
    assert told.wait(120)


class TestMerging:
    def test_a_merge_is_logged(self, tmp_path, caplog):
        """With the records that it took, those of them that were new, and what F has then."""
        caplog.set_level(logging.INFO)
        told = threading.Event()
        job = job_of(tmp_path, Layout(chunk=4, budget=5, largest=9, fresh=0), on_ready=told.set)
        for keys in ((1, 2, 3, 3), (3, 4, 5, 6)):
            told.clear()
            _decided(job, keys, told)
            job.store.pop_new(9)
        job.close()

        lines = [re.sub(r" in \d+\.\d\d s: ", " in {} s: ", line) for line in caplog.messages]
        assert lines == [
            "seen: merged 4 records in {} s: 3 new, now 3 keys in 1 run",
            "seen: merged 4 records in {} s: 3 new, now 6 keys in 1 run",
        ]

    def test_the_caller_is_told_when_a_merge_has_ended(self, tmp_path):
        """`on_ready` is called once the merge's result can be taken, and not before."""
        told, fs = threading.Event(), WaitingDisk()
        job = job_of(tmp_path, Layout(chunk=4, budget=5, largest=9, fresh=0), fs, told.set)
        job.submit(*range(4))
        assert not told.is_set()
        fs.open.set()

        assert told.wait(120)
        assert len(job.store.pop_new(99)) == 4
        job.close()

    def test_a_small_early_merge_needs_no_thread(self, tmp_path):
        """A starving frontier gets the links of a few pages back in the same turn of the event
        loop.
        """
        job = job_of(tmp_path, ROOMY)
        job.submit(*range(20))
        job.store.merge()

        assert (job.store.busy, len(job.store.pop_new(99))) == (False, 20)
        job.close()

    @pytest.mark.parametrize(("before", "count"), [(0, 21), (60, 1)])
    def test_a_long_early_merge_is_a_threads(self, tmp_path, before, count):
        """A merge of many records, or with files to read, runs in a thread and ends with
        `on_ready`.
        """
        told = threading.Event()
        job = job_of(tmp_path, ROOMY, on_ready=told.set)
        job.submit(*range(before))
        job.settle()
        told.clear()
        job.submit(*range(before, before + count))
        job.store.merge()

        assert told.wait(120)
        assert len(job.store.pop_new(99)) == count
        job.close()

    def test_t_grows_with_f(self, tmp_path):
        """A merge begins when T is a certain share of F, so that the cost of reading F per record
        stays constant.
        """
        sizes = Layout(chunk=10, budget=100, largest=10_000, fresh=0, share=0.5)
        job = job_of(tmp_path, sizes)
        job.submit(*range(200))
        job.settle()
        merges = job.store.stats()["merges"]
        job.submit(*range(200, 299))
        job.wait()
        job.store.pop_new(1)

        assert (job.store.stats()["merges"], job.store.busy) == (merges, False)
        job.submit(299)
        job.wait()
        assert len(job.store.pop_new(999)) == 100
        job.close()

    def test_t_does_not_grow_beyond_what_memory_allows(self, tmp_path):
        """The size of T is bounded, because a merge's verdicts take one bit per record in memory."""
        job = job_of(tmp_path, Layout(chunk=10, budget=100, largest=30, fresh=0, share=0.5))
        job.submit(*range(200))
        job.settle()
        job.submit(*range(200, 230))
        job.wait()

        assert len(job.store.pop_new(999)) == 30
        job.close()

    def test_files_stay_few(self, tmp_path):
        """File sizes are geometric: the number of files grows with the logarithm of F."""
        job = job_of(tmp_path, Layout(chunk=4, budget=100, largest=10_000, fresh=0, share=0.0))
        for key in range(0, 512, 4):
            job.submit(*range(key, key + 4))
            job.settle()
            job.checkpoint()

        assert job.store.stats()["keys"] == 512
        assert len(job.names()) == job.store.stats()["runs"] <= 8
        job.close()


class TestLayout:
    @pytest.mark.parametrize("mebibytes", [1, 16, 256, 4096])
    def test_the_parts_fit_in_the_memory(self, mebibytes):
        """T with its sort orders, a merge's rows and two merges' verdicts fit in the given memory."""
        memory = mebibytes << 20
        sizes = layout(memory)

        assert 5 * 8 * sizes.chunk + 128 * sizes.budget + 2 * sizes.largest // 8 <= memory

    @pytest.mark.parametrize("mebibytes", [64, 256, 4096])
    def test_all_stores_share_the_memory(self, mebibytes):
        """URL store, content store and URL cache together take SEEN_MEMORY."""
        urls, content = shares(mebibytes << 20)

        assert urls + content + CACHE_ENTRY * (1 << 16) == mebibytes << 20
        assert min(urls, content) >= 1 << 20

    def test_little_memory_is_shared_all_the_same(self):
        """Even a cache that is too large leaves some memory for the stores."""
        assert min(shares(16 << 20)) == 2 << 20
