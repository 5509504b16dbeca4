"""The disk store's own rules: when it merges, what it keeps where, and what happens when the disk fails."""

import threading

import pytest

from tests.faults import BreakingDisk, ForgetfulDisk
from tests.seens import TINY, Reopenable, disk
from webcrawl.seen.layout import CACHE_ENTRY, Layout, layout, shares
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError

ROOMY = Layout(chunk=1000, budget=100, largest=10_000, row=8, fresh=50, at_once=20)


class WaitingDisk(Disk):
    """Creates no file before it is told to."""

    def __init__(self):
        self.open = threading.Event()

    def create(self, path):
        assert self.open.wait(30)
        return super().create(path)


def names(job):
    return sorted(path.name for path in (job.folder / "seen").iterdir())


def make(tmp_path, sizes=TINY, fs=None, on_ready=None):
    return Reopenable(tmp_path / "state", lambda db: disk(db, sizes=sizes, on_ready=on_ready), fs)


class TestMerging:
    def test_submitting_never_waits_for_a_merge(self, tmp_path):
        """While a thread merges T', pages go on being submitted to the second T."""
        fs = WaitingDisk()
        job = make(tmp_path, Layout(chunk=500, budget=100, largest=10_000, fresh=0), fs)
        job.submit(*range(500))
        assert job.store.busy
        job.submit(*range(250, 900))

        assert (job.store.busy, job.store.take(9), job.store.pending) == (True, [], 1150)
        fs.open.set()
        assert job.settle() == [b"%d" % key for key in range(900)]
        job.close()

    def test_the_caller_is_told_when_a_merge_has_ended(self, tmp_path):
        """`on_ready` comes once the merge's result can be taken, and not before."""
        told, fs = threading.Event(), WaitingDisk()
        job = make(tmp_path, Layout(chunk=4, budget=5, largest=9, fresh=0), fs, told.set)
        job.submit(*range(4))
        assert not told.is_set()
        fs.open.set()

        assert told.wait(30)
        assert len(job.store.take(99)) == 4
        job.close()

    def test_a_small_early_merge_needs_no_thread(self, tmp_path):
        """A starving frontier gets a few pages' links back in the same turn of the event loop."""
        job = make(tmp_path, ROOMY)
        job.submit(*range(20))
        job.store.merge()

        assert (job.store.busy, len(job.store.take(99))) == (False, 20)
        job.close()

    @pytest.mark.parametrize(("before", "count"), [(0, 21), (60, 1)])
    def test_a_long_early_merge_is_a_threads(self, tmp_path, before, count):
        """Many records, or files to be read, would hold up the event loop: then `on_ready` tells when to take."""
        told = threading.Event()
        job = make(tmp_path, ROOMY, on_ready=told.set)
        job.submit(*range(before))
        job.settle()
        told.clear()
        job.submit(*range(before, before + count))
        job.store.merge()

        assert told.wait(30)
        assert len(job.store.take(99)) == count
        job.close()

    def test_early_merges_of_a_small_crawl_write_no_file(self, tmp_path):
        """As long as F fits in memory, it stays there."""
        job = make(tmp_path, ROOMY)
        for key in range(50):
            job.submit(key)
            job.settle()
            job.checkpoint()

        assert (names(job), job.store.stats()["merges"]) == ([], 50)
        job.close()

    def test_a_merge_without_anything_waiting_is_none(self, tmp_path):
        """A starving frontier may ask as often as it likes."""
        job = make(tmp_path)
        job.store.merge()

        assert job.store.stats()["merges"] == 0
        job.close()

    def test_t_grows_with_f(self, tmp_path):
        """A merge begins when T is a share of F, so that the cost of reading F is shared by as many records."""
        sizes = Layout(chunk=10, budget=100, largest=10_000, fresh=0, share=0.5)
        job = make(tmp_path, sizes)
        job.submit(*range(200))
        job.settle()
        merges = job.store.stats()["merges"]
        job.submit(*range(200, 299))
        job.wait()
        job.store.take(1)

        assert (job.store.stats()["merges"], job.store.busy) == (merges, False)
        job.submit(299)
        job.wait()
        assert len(job.store.take(999)) == 100
        job.close()

    def test_t_does_not_grow_beyond_what_memory_allows(self, tmp_path):
        """The verdicts of a merge are a bit a record in memory."""
        job = make(tmp_path, Layout(chunk=10, budget=100, largest=30, fresh=0, share=0.5))
        job.submit(*range(200))
        job.settle()
        job.submit(*range(200, 230))
        job.wait()

        assert len(job.store.take(999)) == 30
        job.close()

    def test_files_stay_few(self, tmp_path):
        """Sizes are geometric: the number of files grows with the logarithm of F."""
        job = make(tmp_path, Layout(chunk=4, budget=100, largest=10_000, fresh=0, share=0.0))
        for key in range(0, 512, 4):
            job.submit(*range(key, key + 4))
            job.settle()
            job.checkpoint()

        assert job.store.stats()["keys"] == 512
        assert len(names(job)) == job.store.stats()["runs"] <= 8
        job.close()

    def test_many_verdicts_are_kept_in_pieces(self, tmp_path):
        """A merge of more records than a piece of verdicts holds is given out in order, across a restart too."""
        count = (1 << 20) + 20
        job = make(tmp_path, layout(1 << 30))
        keys = list(range(0, 3 * count, 3))
        job.store.submit(keys, [b"%d" % key for key in keys])
        job.store.merge()
        job.wait()
        taken = job.store.take(count - 30)
        job.checkpoint()
        job.reopen()

        assert taken + job.store.take(99) == [b"%d" % key for key in keys]
        assert job.store.pending == 0
        job.close()


class TestFiles:
    def test_scratch_files_go_with_their_merge(self, tmp_path):
        """What T spilled is removed when it was merged."""
        job = make(tmp_path, Layout(chunk=4, budget=5, largest=10_000, fresh=0, share=100.0))
        job.submit(*range(4))
        job.settle()
        job.submit(*range(40))
        spilled = [name for name in names(job) if name.startswith("scratch")]
        job.settle()

        assert len(spilled) > 2
        assert not [name for name in names(job) if name.startswith("scratch")]
        job.close()

    def test_files_that_no_checkpoint_names_are_removed_at_the_start(self, tmp_path):
        """Half-written files and scratch files go; files that are not ours stay."""
        job = make(tmp_path)
        job.submit(*range(40))
        job.settle()
        job.checkpoint()
        kept = names(job)
        for name in ("url-00000999", "scratch-00000007", "content-00000001", "url-1", "notes.txt"):
            (job.folder / "seen" / name).write_bytes(b"x")
        job.reopen()

        assert names(job) == sorted([*kept, "content-00000001", "url-1", "notes.txt"])
        job.close()

    def test_a_number_is_not_used_twice(self, tmp_path):
        """A replaced file is removed after the next COMMIT: until then no other may have its name."""
        job = make(tmp_path, Layout(chunk=4, budget=100, largest=10_000, fresh=0, share=0.0))
        seen = set()
        for key in range(0, 40, 4):
            job.submit(*range(key, key + 4))
            job.settle()
            new = set(names(job)) - seen
            assert len(new) == 1
            seen |= new
        job.checkpoint()
        assert job.settle() == []
        job.reopen()
        job.submit(*range(44))
        assert job.settle() == [b"%d" % key for key in range(40, 44)]
        job.close()

    @pytest.mark.parametrize("harm", ["missing", "short", "foreign", "another count"])
    def test_a_damaged_file_is_refused_and_nothing_is_changed(self, tmp_path, harm):
        """A file that a checkpoint names and that is not what was written stops the crawl before it begins."""
        job = make(tmp_path)
        job.submit(*range(40))
        job.settle()
        job.checkpoint()
        job.close()
        path = max((job.folder / "seen").iterdir())
        (job.folder / "seen" / "url-00000999").write_bytes(b"left over")
        if harm == "missing":
            path.unlink()
        elif harm == "short":
            path.write_bytes(path.read_bytes()[:-9])
        elif harm == "foreign":
            path.write_bytes(b"x" * path.stat().st_size)
        else:
            other = make(tmp_path / "other")
            (tmp_path / "other").mkdir(exist_ok=True)
            other.submit(*range(1000, 1007))
            other.settle()
            other.close()
            path.write_bytes(max((other.folder / "seen").iterdir()).read_bytes())
        before = {file.name: file.read_bytes() for file in (job.folder / "seen").iterdir()}
        with pytest.raises(DamagedFile) as caught:
            job.open()

        assert caught.value.path == path
        assert before == {file.name: file.read_bytes() for file in (job.folder / "seen").iterdir()}

    def test_a_flipped_bit_in_a_file_is_found_by_the_check(self, tmp_path):
        """The pages of F have checksums."""
        job = make(tmp_path)
        job.submit(*range(40))
        job.settle()
        path = max((job.folder / "seen").iterdir())
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)

        assert [damage.path for damage in job.store.check()] == [path]
        job.close()

    @pytest.mark.parametrize(
        ("change", "table"),
        [
            ("UPDATE meta SET value = x'02000000000000000100000000000000' WHERE name = 'seen.fresh'", "fresh"),
            ("UPDATE meta SET value = x'00' WHERE name = 'seen.fresh'", "fresh"),
            ("DELETE FROM meta WHERE name GLOB 'seen.new.*'", "new"),
            ("UPDATE meta SET value = x'00' WHERE name GLOB 'seen.new.*'", "new"),
            ("UPDATE meta SET name = 'seen.new.9' WHERE name GLOB 'seen.new.*'", "new"),
        ],
    )
    def test_a_damaged_value_is_refused(self, tmp_path, change, table):
        """What is kept of F and of the verdicts in the database has the form it was written in."""
        job = make(tmp_path, ROOMY)
        job.submit(1, 2, 3)
        job.store.merge()
        job.checkpoint()
        job.tamper(change)
        with pytest.raises(DamagedFile, match=f"seen.{table}"):
            job.open()


PAGES = [[(page * 7 + link * link) % 31 for link in range(7)] for page in range(8)]
WANTED = [b"%d" % key for key in dict.fromkeys(key for page in PAGES for key in page)]


class Crawl:
    """Submits the pages, with a checkpoint after each; after a failure it goes on from the last one."""

    def __init__(self, job):
        self.job, self.taken, self.saved = job, [], (0, 0)

    def run(self):
        """Whether it came to its end."""
        try:
            for page in range(self.saved[0], len(PAGES)):
                self.job.submit(*PAGES[page])
                self.job.wait()
                self.taken += self.job.store.take(4)
                self.job.checkpoint()
                self.saved = page + 1, len(self.taken)
            self.taken += self.job.settle()
        except StoreError:
            del self.taken[self.saved[1] :]
            return False
        return True


class TestFailures:
    def test_whatever_operation_fails_nothing_is_lost(self, tmp_path):
        """Each create, write, sync and unlink fails in turn: the crawl goes on from its last checkpoint."""
        fs, failures = BreakingDisk(), 0
        job = make(tmp_path, fs=fs)
        assert Crawl(job).run()
        job.close()
        assert fs.operations > 100
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
            assert list(job.store.check()) == []
            job.close()
        assert failures > 40

    def test_a_failed_thread_is_heard_of_at_the_next_call(self, tmp_path):
        """A full disk under a merge is a StoreError, and stays one until the crawl is opened again."""
        fs = BreakingDisk(for_good=True)
        job = make(tmp_path, fs=fs)
        job.submit(1, 2)
        job.checkpoint()
        fs.fail_at = fs.operations + 1
        job.submit(3, 4, 5, 6)
        job.wait()
        for call in (lambda: job.submit(99), lambda: job.store.take(1), job.store.merge, job.checkpoint):
            with pytest.raises(StoreError, match="No space left"):
                call()
        fs.fail_at = 0
        job.reopen()

        assert job.settle() == [b"1", b"2"]
        job.close()

    def test_a_failed_spill_is_heard_of_at_the_next_call(self, tmp_path):
        """T that cannot be written to its scratch file is a StoreError before the next merge is due."""
        fs = BreakingDisk()
        job = make(tmp_path, Layout(chunk=4, budget=5, largest=10_000, fresh=0, share=100.0), fs)
        job.submit(*range(4))
        job.settle()
        fs.fail_at = fs.operations + 1
        job.submit(*range(4, 9))
        assert "No space left" in str(job.store._t._spills[0].exception(30))
        with pytest.raises(StoreError, match="No space left"):
            job.store.take(1)
        job.close()

    def test_a_power_cut_takes_nothing_that_was_in_a_checkpoint(self, tmp_path):
        """Files that a checkpoint names were synced, with their folder, before it."""
        fs = ForgetfulDisk()
        job = make(tmp_path, fs=fs)
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
        """A merge stops at its next range of keys; the checkpoint has it as not begun."""
        fs = WaitingDisk()
        job = make(tmp_path, Layout(chunk=500, budget=1, largest=10_000, fresh=0), fs)
        job.submit(*range(500))
        job.checkpoint()
        threading.Timer(0.05, fs.open.set).start()
        job.close()

        assert names(job) == []
        job.open()
        assert len(job.settle()) == 500
        job.close()


class TestLayout:
    @pytest.mark.parametrize("mebibytes", [1, 16, 256, 4096])
    def test_the_parts_fit_in_the_memory(self, mebibytes):
        """T with the orders of its keys, a merge's rows and two merges' verdicts take no more than they are given."""
        memory = mebibytes << 20
        sizes = layout(memory)

        assert 5 * 8 * sizes.chunk + 128 * sizes.budget + 2 * sizes.largest // 8 <= memory

    @pytest.mark.parametrize("mebibytes", [64, 256, 4096])
    def test_all_stores_share_the_memory(self, mebibytes):
        """The URL store, the content store and the URL cache together take what SEEN_MEMORY says."""
        urls, content = shares(mebibytes << 20, 1 << 16)

        assert urls + content + CACHE_ENTRY * (1 << 16) == mebibytes << 20
        assert min(urls, content) >= 1 << 20

    def test_little_memory_is_shared_all_the_same(self):
        """A cache that takes too much of it leaves something for the stores."""
        assert min(shares(16 << 20, 1 << 16)) == 2 << 20
