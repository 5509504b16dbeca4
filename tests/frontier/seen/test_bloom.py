"""The Bloom filter: its errors, its capacity, its file."""

import logging

import pytest

from tests.support.faults import BreakingDisk
from tests.support.seens import Reopenable
from webcrawl.frontier.seen.bloom import BloomSeen
from webcrawl.frontier.seen.caches.policies import StaticCache
from webcrawl.store.errors import DamagedFile, StoreError


def make(tmp_path, *, memory=1 << 16, snapshot=100, fs=None):
    def store(db):
        return BloomSeen(db, memory=memory, cache=StaticCache(0), snapshot=snapshot)

    return Reopenable(tmp_path / "state", store, fs)


def written(job):
    """Waits until a file that is due is written, and lets the store name it."""
    job.store.merge()
    while job.store._writing is not None:
        job.store._writing.result()
        job.store.merge()


class TestErrors:
    def test_no_seen_url_is_taken_for_new(self, tmp_path):
        """A Bloom filter never takes a seen URL for new."""
        job = make(tmp_path)
        job.submit(*range(5000))
        job.settle()
        job.submit(*range(5000))

        assert job.settle() == []
        job.close()

    def test_new_urls_are_lost_at_the_stated_rate(self, tmp_path):
        """At capacity, about one new URL in a thousand is taken for seen; while filling, 3.7 of
        36,000.
        """
        job = make(tmp_path, snapshot=10**9)
        capacity = job.store.stats()["capacity"]
        job.submit(*range(capacity))
        lost = capacity - len(job.settle())
        at_capacity = job.store.stats()["error_rate"]
        job.submit(*range(10**6, 10**6 + 10_000))
        lost_then = 10_000 - len(job.settle())

        assert lost <= 20
        assert 0.0009 <= at_capacity <= 0.0011
        assert 1 <= lost_then <= 60
        job.close()

    def test_keys_beyond_the_capacity_are_counted_and_logged(self, tmp_path, caplog):
        """A crawl that outgrows its filter continues, and logs the error rate."""
        job = make(tmp_path, memory=1 << 10)
        capacity = job.store.stats()["capacity"]
        with caplog.at_level(logging.WARNING):
            for key in range(0, 2 * capacity, 20):
                job.submit(*range(key, key + 20))
        stats = job.store.stats()

        assert stats["over_capacity"] == stats["keys"] - capacity > capacity // 2
        assert stats["error_rate"] > 0.01
        line = f" keys, but was made for {capacity}: about one new URL in "
        assert 5 <= sum(line in one and one.endswith(" is lost") for one in caplog.messages) <= 11
        job.close()


class TestFile:
    def test_the_bits_outlive_the_process(self, tmp_path):
        """File and key log together hold all keys of the last checkpoint, and no later ones."""
        job = make(tmp_path)
        for key in range(0, 1000, 10):
            job.submit(*range(key, key + 10))
            job.store.pop_new(99)
            written(job)
            job.checkpoint()
        job.submit(*range(1000, 1400))
        job.settle()
        written(job)
        job.reopen()
        assert job.store.stats()["runs"] == 1
        job.submit(*range(1400))

        assert job.settle() == [b"%d" % key for key in range(1000, 1400)]
        job.close()

    def test_a_written_file_shortens_the_key_log(self, tmp_path):
        """A new file shortens the key log and replaces the file before it."""
        job = make(tmp_path)
        for key in range(0, 1000, 50):
            job.submit(*range(key, key + 50))
            written(job)
            job.checkpoint()
        logged = job.db.query(
            "SELECT ifnull(sum(length(value)), 0) / 8 FROM meta WHERE name GLOB 'seen.keys.*'"
        )[0][0]

        assert logged <= 100
        assert len(list((job.folder / "seen").iterdir())) == 1
        job.close()

    @pytest.mark.parametrize("harm", ["missing", "short", "foreign", "flipped"])
    def test_a_damaged_file_is_refused(self, tmp_path, harm):
        """An altered file stops the crawl before it starts."""
        job = make(tmp_path)
        job.submit(*range(200))
        written(job)
        job.checkpoint()
        job.close()
        assert job.damages() == []
        (path,) = (job.folder / "seen").iterdir()
        data = path.read_bytes()
        path.unlink()
        if harm == "short":
            path.write_bytes(data[:-1])
        elif harm == "foreign":
            path.write_bytes(b"x" * len(data))
        elif harm == "flipped":
            path.write_bytes(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])

        assert [damage.path for damage in job.damages()] == [path]
        with pytest.raises(DamagedFile):
            job.open()

    def test_a_missing_row_of_the_key_log_is_damage(self, tmp_path):
        """A gap between rows of the key log raises DamagedFile."""
        job = make(tmp_path, snapshot=10**9)
        job.submit(*range(20_000))
        job.submit(*range(20_000, 30_000))
        job.checkpoint()
        job.tamper("DELETE FROM meta WHERE name = 'seen.keys.20000'")
        job.open()
        job.submit(30_000)
        job.checkpoint()
        job.tamper("UPDATE meta SET name = 'seen.keys.5' WHERE name = 'seen.keys.20000'")
        with pytest.raises(DamagedFile):
            job.open()

    def test_a_full_disk_is_heard_of(self, tmp_path):
        """If the file could not be written, the next call raises StoreError."""
        fs = BreakingDisk(for_good=True)
        job = make(tmp_path, fs=fs)
        job.submit(*range(50))
        job.checkpoint()
        fs.fail_at = fs.operations + 1
        job.submit(*range(50, 300))
        job.store.merge()
        with pytest.raises(OSError, match="No space left"):
            job.store._writing.result()
        with pytest.raises(StoreError, match="No space left"):
            job.submit(300)
        fs.fail_at = 0
        job.reopen()
        job.submit(*range(60))

        assert job.settle() == [b"%d" % key for key in range(60)]
        job.close()
