"""The contract of all seen stores."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.seens import OF_CRAWLS, STORES, Reopenable
from webcrawl.store.errors import DamagedFile, StoreError


@pytest.fixture(name="kind", params=sorted(STORES))
def _kind(request):
    return request.param


@pytest.fixture(name="job")
def _job(tmp_path, kind):
    job = Reopenable(tmp_path / "state", STORES[kind])
    yield job
    job.close()


class TestEverySeenStore:
    def test_take_gives_no_more_than_asked_for(self, job):
        """New records come in slices, so that the event loop is not blocked."""
        job.submit(*range(20))
        job.store.merge()
        job.wait()

        assert [len(job.store.pop_new(7)) for _ in range(4)] == [7, 7, 6, 0]

    def test_the_figures_outlive_the_store(self, job):
        """The stats of a closed store are its last ones: stats.json is written after closing."""
        job.submit(*range(30), 3)
        job.settle()
        before = job.store.stats()

        job.store.close()

        assert job.store.stats() == before
        assert before["keys"] == 30

    @pytest.mark.parametrize(
        ("keys", "records", "error"),
        [
            ([1, 2], [b"1"], ValueError),
            ([7, -1], [b"7", b""], OverflowError),
            ([7, 2**64], [b"7", b""], OverflowError),
            ([7, 1.5], [b"7", b""], TypeError),
        ],
    )
    def test_a_bad_batch_is_refused_whole(self, job, keys, records, error):
        """Anything but a 64-bit key is refused before any change, and the store remains usable."""
        with pytest.raises(error):
            job.store.submit(keys, records)
        job.submit(7)

        assert job.settle() == [b"7"]

    def test_records_are_opaque(self, job):
        """A record may be any bytes."""
        records = [b"", b"\0" * 9, b"\xff\n ", b"x" * (1 << 20), bytes(range(256))]
        job.store.submit(range(5), records)

        assert job.settle() == records

    def test_what_was_not_taken_comes_after_a_restart(self, job):
        """After a restart, the records not taken at the checkpoint come out, and no others."""
        job.submit(*range(10))
        job.store.merge()
        job.wait()
        taken = job.store.pop_new(4)
        job.checkpoint()
        job.reopen()
        job.submit(*range(12))

        assert taken + job.settle() == [b"%d" % key for key in range(12)]

    def test_a_crash_goes_back_to_the_checkpoint(self, job):
        """After a crash, keys submitted since the last checkpoint are unknown again: their pages
        come again.
        """
        job.submit(1, 2)
        job.settle()
        job.checkpoint()
        job.submit(3)
        job.settle()
        job.reopen()
        job.submit(1, 2, 3)

        assert job.settle() == [b"3"]

    def test_counters_go_on_after_a_restart(self, job):
        """Counters continue after a restart: they belong to the crawl, not to the process."""
        job.submit(1, 2, 1)
        job.settle()
        job.checkpoint()
        job.reopen()
        job.submit(2, 3)
        job.settle()
        stats = job.store.stats()

        assert [stats[name] for name in ("submitted", "new", "duplicates", "keys")] == [5, 3, 2, 3]

    def test_cache_hits_are_counted(self, tmp_path, kind):
        """The stats include the hit rate of the URL cache."""
        cache = FakeCache()
        job = Reopenable(tmp_path / "other", lambda db: STORES[kind](db, cache=cache))
        job.submit(8, 9, 8, 8)
        stats = job.store.stats()
        job.close()

        assert (stats["cache_hits"], stats["cache_hit_rate"]) == (2, 0.5)

    @pytest.mark.parametrize("kind", OF_CRAWLS)
    def test_sound_state_has_no_damage(self, job):
        """`verify` finds no damage in what a store has just written."""
        for page in range(30):
            job.submit(*range(page * 5, page * 5 + 9))
            job.store.merge()
            job.checkpoint()

        job.close()
        assert job.damages() == []
        job.open()

    @pytest.mark.parametrize("kind", OF_CRAWLS)
    def test_damaged_records_are_found(self, job):
        """An altered row is found by `verify`, and raises DamagedFile when it is read."""
        job.submit(*range(5))
        job.checkpoint()
        job.tamper("UPDATE waiting SET records = zeroblob(length(records))")

        assert job.damages() != []
        job.open()
        with pytest.raises(DamagedFile):
            job.settle()

    @pytest.mark.parametrize(
        "change",
        [
            "DELETE FROM waiting WHERE seq = (SELECT min(seq) FROM waiting)",
            "UPDATE waiting SET keys = x'00'",
            "UPDATE meta SET value = x'5b5d' WHERE name = 'seen.state'",
            "UPDATE meta SET value = x'7b' WHERE name = 'seen.state'",
        ],
    )
    def test_missing_state_is_damage(self, job, change):
        """Opening a crawl whose state is inconsistent raises DamagedFile."""
        job.submit(*range(5))
        job.checkpoint()
        job.tamper(change)
        with pytest.raises(DamagedFile):
            job.open()
        job.make = lambda db: Nothing()
        job.open()

    def test_a_value_with_another_checksum(self, job):
        """Opening a crawl with a well-formed but altered value raises DamagedFile."""
        job.submit(*range(5))
        job.checkpoint()
        job.tamper("UPDATE meta SET crc = crc + 1", sealed=False)
        with pytest.raises(DamagedFile, match=r"table meta, seen\.\S+: wrong checksum"):
            job.open()
        job.make = lambda db: Nothing()
        job.open()

    def test_keys_with_another_checksum(self, job, kind):
        """Altered keys of waiting records are found by `verify`, and at the start by a store that
        reads them.
        """
        job.submit(*range(5))
        job.checkpoint()
        job.tamper("UPDATE waiting SET keys = zeroblob(length(keys))", sealed=False)
        if kind in OF_CRAWLS:
            assert job.damages()[0].why == "table waiting, record 0: wrong checksum of the keys"
        if kind == "disk":
            with pytest.raises(
                DamagedFile, match="table waiting, record 0: wrong checksum of the keys"
            ):
                job.open()
            job.make = lambda db: Nothing()
        job.open()

    def test_another_kind_of_store_is_refused(self, job, kind):
        """A crawl keeps the kind of store that it was started with, otherwise it would forget what
        it has seen.
        """
        job.checkpoint()
        job.close()
        job.make = STORES[next(name for name in STORES if name != kind)]
        with pytest.raises(StoreError, match="was started with the seen store"):
            job.open()
        job.make = STORES[kind]
        job.open()

    def test_closing_twice_is_closing_once(self, job):
        """Closing a store twice is not an error."""
        job.submit(*range(30))
        job.store.close()
        job.store.close()

    def test_its_repr_says_what_is_pending(self, job):
        """The repr shows the number of pending records."""
        job.submit(1, 2)

        assert "pending=2" in repr(job.store)

    @examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        pages=st.lists(st.lists(st.integers(0, 60), max_size=12), max_size=12),
        at=st.integers(0, 12),
    )
    def test_the_records_are_those_of_a_set(self, tmp_path_factory, kind, pages, at):
        """Whatever is submitted, the new records are those that are new to a plain set."""
        job = Reopenable(tmp_path_factory.mktemp("state"), STORES[kind])
        taken = []
        for number, page in enumerate(pages):
            job.submit(*page)
            taken += job.store.pop_new(3)
            if number == at:
                job.checkpoint()
                job.reopen()
        taken += job.settle()
        job.close()

        assert taken == [
            b"%d" % key for key in dict.fromkeys(key for page in pages for key in page)
        ]


class FakeCache:
    """Holds everything."""

    def __init__(self):
        self.held = set()

    def misses(self, keys):
        return [
            at for at, key in enumerate(keys) if key not in self.held and not self.held.add(key)
        ]

    def __len__(self):
        return len(self.held)


class Nothing:
    """No store at all."""

    def close(self):
        pass
