"""The outbox: when batches are closed, written, sent and forgotten, and what a restart leaves of
them.
"""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.saving import prepared
from webcrawl.crawl.hive.batch import MAX_ITEMS_BYTES, Kind, unpack_batch
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.outbox import MAX_ITEMS, Outbox, batch_age
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

HIVE = b"sixteen bytes 16"
ROWS = "SELECT count(*) FROM meta WHERE name GLOB 'hive/out/*'"


def link(number):
    return b"http://a.test/%d L http://b.test/  0   " % number


def links(count, start=0):
    return [link(number) for number in range(start, start + count)]


class Job:
    """An outbox with a clock that the test sets; `reopen` is what a kill leaves."""

    def __init__(self, folder, memory=1 << 20):
        self.folder, self.memory, self.now = folder, memory, 0.0
        self.places = itertools.count(1)
        self.open()

    def open(self):
        self.db = CrawlDB(self.folder)
        self.outbox = Outbox(
            self.db,
            7,
            HIVE,
            memory=self.memory,
            clock=lambda: self.now,
            chance=random.Random(self.now),
        )

    def reopen(self):
        self.db.close()
        self.now += 1
        self.open()

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        self.outbox.committed()

    def send(self, drone=1, most=1000):
        """Sends what is due; returns the messages. Their places are 1-0, 2-0 and so on."""
        batches = self.outbox.due_batches(drone, most)
        for batch in batches:
            self.outbox.note_sent(drone, batch, f"{next(self.places)}-0")
        return [unpack_batch(batch.data, HIVE) for batch in batches]

    @property
    def rows(self):
        return self.db.query(ROWS)[0][0]


def items(messages):
    return [item for message in messages for item in message.items]


@pytest.fixture(name="job")
def _job(tmp_path):
    job = Job(tmp_path / "state")
    yield job
    job.db.close()


class TestCollecting:
    def test_a_full_batch_is_closed_at_once(self, job):
        """256 items are a batch; the rest waits for more."""
        job.outbox.put(1, Kind.LINKS, links(2 * MAX_ITEMS + 1))

        assert [len(message.items) for message in job.send()] == [MAX_ITEMS, MAX_ITEMS]

    def test_a_second_old(self, job):
        """A batch is closed when its first item is a second old, with all for the same drone."""
        job.outbox.put(1, Kind.LINKS, links(1))
        job.now = 0.9
        job.outbox.put(1, Kind.LINKS, links(1, 1))
        job.outbox.put(1, Kind.VOTES, [["a.test", "http://b.test/"]])

        job.outbox.close_old(0.99)
        assert job.outbox.due_batches(1, 9) == []
        job.outbox.put(2, Kind.LINKS, links(1))
        job.outbox.close_old(1.0)
        assert [message.items for message in job.send()] == [
            links(2),
            [["a.test", "http://b.test/"]],
        ]
        assert job.send(2) == []

    def test_as_old_as_the_hive_lets_them_be(self, job):
        """In a large hive batches wait for longer, but not those for drones without work."""
        job.outbox.age, job.outbox.hungry = 15.0, frozenset((2, 3))
        for drone in (1, 2):
            job.outbox.put(drone, Kind.LINKS, links(1))

        job.outbox.close_old(1.0)
        assert (len(job.send(1)), len(job.send(2))) == (0, 1)
        job.outbox.close_old(14.9)
        assert job.send(1) == []
        job.outbox.close_old(15.0)
        assert len(job.send(1)) == 1

    @pytest.mark.parametrize(
        ("drones", "most", "seconds"),
        [(1, 15, 1), (64, 15, 1), (320, 15, 5), (1000, 15, 15), (65_535, 15, 15), (320, 2, 2)],
    )
    def test_how_long_batches_wait(self, drones, most, seconds):
        """A second in small hives; in others so long that a drone sends 64 batches in a second."""
        assert batch_age(drones, most) == seconds

    def test_all(self, job):
        """All collections are closed on demand."""
        job.outbox.put(1, Kind.LINKS, links(1))
        job.outbox.put(2, Kind.VOTES, [["a.test", "http://b.test/"]])

        job.outbox.close_all()

        assert len(job.outbox.due_batches(1, 9)) == len(job.outbox.due_batches(2, 9)) == 1

    def test_nothing_is_no_collection(self, job):
        """A page without links for a drone leaves nothing."""
        job.outbox.put(1, Kind.LINKS, [])

        assert (list(job.outbox.drones()), job.outbox.unacknowledged) == ([], 0)

    def test_what_a_batch_says(self, job):
        """A batch has its sender and the generation of the map at its closing."""
        job.outbox.put(1, Kind.LINKS, links(1))
        job.outbox.generation = 5
        job.outbox.close_all()

        (message,) = job.send()

        assert (message.sender, message.generation, message.number, message.channel) == (7, 5, 0, 0)

    def test_large_items(self, job):
        """Items that are a mebibyte together are batches of fewer items."""
        job.outbox.put(1, Kind.ROBOTS, [bytes(400_000)] * 7)
        job.outbox.close_all()

        messages = job.send()

        assert [len(message.items) for message in messages] == [1, 2, 2, 2]
        assert items(messages) == [bytes(400_000)] * 7

    def test_an_item_that_no_batch_has_room_for(self, job):
        """An item above 16 MiB is an error, in one line."""
        job.outbox.put(1, Kind.ROBOTS, [bytes(MAX_ITEMS_BYTES)])

        with pytest.raises(HiveError, match="1 items for another drone take"):
            job.outbox.close_all()


class TestSending:
    def test_out_of_turn(self, job):
        """A batch that was sent before its turn is a mistake of the caller."""
        job.outbox.put(1, Kind.LINKS, links(2 * MAX_ITEMS))

        with pytest.raises(ValueError, match="but batch 1 was next"):
            job.outbox.note_sent(1, job.outbox.due_batches(1, 2)[1], "1-0")

    def test_not_too_much_at_once(self, job):
        """What is due at once is some 4 MiB, or one batch."""
        chance = random.Random(1)
        for size in (900_000, 900_000, 900_000, 900_000, 900_000, 5_000_000):
            job.outbox.put(1, Kind.ROBOTS, [chance.randbytes(size)])
            job.outbox.close_all()

        assert [len(job.send()) for _ in range(3)] == [4, 1, 1]

    def test_exact_batches_wait_for_a_checkpoint(self, job):
        """An exact batch is due once a checkpoint has it; ordinary ones pass it."""
        job.outbox.put(1, Kind.QUEUED, links(MAX_ITEMS))
        job.outbox.put(1, Kind.LINKS, links(MAX_ITEMS))
        assert [message.kind for message in job.send()] == [Kind.LINKS]

        assert job.outbox.awaits_checkpoint

        job.db.checkpoint()
        assert job.send() == []
        job.outbox.committed()
        assert not job.outbox.awaits_checkpoint
        job.outbox.put(1, Kind.QUEUED, links(MAX_ITEMS))
        assert [message.number for message in job.send()] == [1]

        job.checkpoint()
        assert [message.number for message in job.send()] == [2]


class TestAcknowledging:
    def test_an_acknowledgement_that_overtakes(self, job):
        """A batch whose place was acknowledged before its sender learned the place is forgotten at
        once.
        """
        job.outbox.put(1, Kind.LINKS, links(MAX_ITEMS))
        (batch,) = job.outbox.due_batches(1, 1)
        job.outbox.acknowledge(1, "5-0")

        job.outbox.note_sent(1, batch, "5-0")

        assert job.outbox.unacknowledged == 0


class TestRestarts:
    def test_numbers_go_on(self, job):
        """Exact numbers and their channel survive a restart, even when all batches were
        acknowledged.
        """
        job.outbox.put(1, Kind.SLOT, [b"one"])
        job.checkpoint()
        (first,) = job.send()
        job.outbox.acknowledge(1, "1-0")
        job.checkpoint()
        job.reopen()

        job.outbox.put(1, Kind.SLOT, [b"two"])
        job.checkpoint()
        (second,) = job.send()

        assert (first.number, second.number) == (1, 2)
        assert first.channel == second.channel > 0

    def test_a_lost_row_is_damage(self, job):
        """Rows that are missing among others are not passed over."""
        job.outbox.put(1, Kind.LINKS, links(3 * MAX_ITEMS))
        job.checkpoint()
        job.db.execute("DELETE FROM meta WHERE name GLOB 'hive/out/*2'")

        with pytest.raises(DamagedFile, match="batches are missing"):
            job.outbox.due_batches(1, 3)

    @pytest.mark.parametrize(
        "name", ["hive/out/one", "hive/out/1/odd/01", "hive/out/x/plain/01", "hive/out/1/plain/x"]
    )
    def test_a_row_of_another_name_is_damage(self, job, name):
        """A row that no outbox writes is refused at the opening."""
        job.db.set(name, b"")
        job.checkpoint()

        with pytest.raises(DamagedFile, match=f"{name}: not a valid name of a batch"):
            job.reopen()


class TestALostDrone:
    def test_a_drone_that_left(self, job):
        """The same holds for a drone that left with everything acknowledged, also after a restart."""
        job.outbox.put(1, Kind.SLOT, [b"one"])
        job.checkpoint()
        job.send()
        job.outbox.acknowledge(1, "1-0")
        list(job.outbox.reroute(1, lambda kind, item: 2))
        job.checkpoint()
        job.reopen()

        job.outbox.put(1, Kind.SLOT, [b"two"])
        job.checkpoint()

        assert [message.number for message in job.send()] == [1]

    def test_a_checkpoint_between_exact_and_plain_batches(self, job):
        """Once its exact batches have gone to others, a checkpoint knows no channel to a lost drone
        any more.
        """
        job.outbox.put(1, Kind.QUEUED, links(1))
        job.outbox.put(1, Kind.LINKS, links(2 * MAX_ITEMS, 1))
        job.checkpoint()
        slices = job.outbox.reroute(1, lambda kind, item: 2)
        next(slices)
        next(slices)
        job.checkpoint()

        job.reopen()

        assert sorted(items(job.send(2))) == sorted(links(MAX_ITEMS + 1))
        assert items(job.send(1)) == links(MAX_ITEMS, MAX_ITEMS + 1)

    def test_nothing_goes_to_a_lost_drone(self, job):
        """From the first slice on nothing is sent to it: somebody else may get its stream."""
        job.outbox.put(1, Kind.LINKS, links(4 * MAX_ITEMS))
        slices = job.outbox.reroute(1, lambda kind, item: 2)

        assert job.send(1) == []
        next(slices)
        assert job.send(1) == []

    def test_back_to_the_lost_drone(self, job):
        """A route to the lost drone itself is a mistake of the caller."""
        job.outbox.put(1, Kind.LINKS, links(1))

        with pytest.raises(ValueError, match="drone 1, which is lost"):
            list(job.outbox.reroute(1, lambda kind, item: 1))

    @given(puts=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(Kind), st.integers(1, 300)), max_size=9),
           sent=st.integers(0, 9), memory=st.sampled_from([0, 3000, 1 << 20]), saved=st.booleans())  # fmt: skip
    @examples(50)
    def test_nothing_is_lost_on_the_way(self, tmp_path_factory, puts, sent, memory, saved):
        """Whatever was written, sent or only collected, each item for a lost drone reaches another
        one exactly once.
        """
        job = Job(tmp_path_factory.mktemp("job"), memory)
        number = itertools.count()
        expected = []
        for drone, kind, count in puts:
            some = [link(next(number)) for _ in range(count)]
            job.outbox.put(drone, kind, some)
            expected += some
        if saved:
            job.checkpoint()
        job.send(0, sent)

        list(job.outbox.reroute(0, lambda kind, item: 1 + item[16] % 2))
        job.checkpoint()

        assert 0 not in job.outbox.drones()
        assert sorted(items(job.send(1)) + items(job.send(2))) == sorted(expected)
        job.db.close()


def test_for_whom_a_kill_would_bring_batches_back(job):
    """Drones for which the last checkpoint has batches are known, after acknowledgement and a start
    too.
    """
    job.outbox.put(1, Kind.QUEUED, links(1))
    assert job.outbox.saved_receivers == set()
    job.checkpoint()
    job.send(1)
    job.outbox.acknowledge(1, "1-0")
    assert (set(job.outbox.drones()), job.outbox.saved_receivers) == (set(), {1})
    job.reopen()
    assert job.outbox.saved_receivers == {1}
    job.send(1)
    job.outbox.acknowledge(1, "9-0")
    job.checkpoint()
    assert job.outbox.saved_receivers == set()
