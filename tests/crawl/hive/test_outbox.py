"""The outbox: when letters are closed, written, sent and forgotten, and what a restart leaves of them."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.saving import prepared
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.letter import EXACT, LARGEST, Kind, unpack
from webcrawl.crawl.hive.outbox import SIZE, Outbox
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
            self.db, 7, HIVE, memory=self.memory, clock=lambda: self.now, chance=random.Random(self.now)
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
        letters = self.outbox.due(drone, most)
        for letter in letters:
            self.outbox.sent(drone, letter, f"{next(self.places)}-0")
        return [unpack(letter.data, HIVE) for letter in letters]

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
    def test_a_full_letter_is_closed_at_once(self, job):
        """256 items are a letter; the rest waits for more."""
        job.outbox.put(1, Kind.LINKS, links(2 * SIZE + 1))

        assert [len(message.items) for message in job.send()] == [SIZE, SIZE]

    def test_a_second_old(self, job):
        """A letter is closed when its first item is a second old."""
        job.outbox.put(1, Kind.LINKS, links(1))
        job.now = 0.9
        job.outbox.put(1, Kind.LINKS, links(1, 1))
        job.outbox.put(1, Kind.VOTES, [["a.test", "http://b.test/"]])

        job.outbox.close(0.99)
        assert job.outbox.due(1, 9) == []
        job.outbox.close(1.0)
        assert [message.items for message in job.send()] == [links(2)]
        job.outbox.close(2.0)
        assert [message.kind for message in job.send()] == [Kind.VOTES]

    def test_all(self, job):
        """All collections are closed on demand."""
        job.outbox.put(1, Kind.LINKS, links(1))
        job.outbox.put(2, Kind.VOTES, [["a.test", "http://b.test/"]])

        job.outbox.close(0.0, all=True)

        assert len(job.outbox.due(1, 9)) == len(job.outbox.due(2, 9)) == 1

    def test_nothing_is_no_collection(self, job):
        """A page without links for a drone leaves nothing."""
        job.outbox.put(1, Kind.LINKS, [])

        assert (list(job.outbox.drones()), job.outbox.unacknowledged) == ([], 0)

    def test_what_a_letter_says(self, job):
        """A letter has its sender and the generation of the map at its closing."""
        job.outbox.put(1, Kind.LINKS, links(1))
        job.outbox.generation = 5
        job.outbox.close(0.0, all=True)

        (message,) = job.send()

        assert (message.sender, message.generation, message.number, message.channel) == (7, 5, 0, 0)

    def test_large_items(self, job):
        """Items that are a mebibyte together are letters of fewer items."""
        job.outbox.put(1, Kind.ROBOTS, [bytes(400_000)] * 7)
        job.outbox.close(0.0, all=True)

        messages = job.send()

        assert [len(message.items) for message in messages] == [1, 2, 2, 2]
        assert items(messages) == [bytes(400_000)] * 7

    def test_an_item_that_no_letter_has_room_for(self, job):
        """An item above 16 MiB is an error, in one line."""
        job.outbox.put(1, Kind.ROBOTS, [bytes(LARGEST)])

        with pytest.raises(HiveError, match="1 items for another drone take"):
            job.outbox.close(0.0, all=True)


class TestSending:
    def test_in_order(self, job):
        """Letters are due in the order in which they were closed, as many as are wanted, until they are sent."""
        job.outbox.put(1, Kind.LINKS, links(5 * SIZE))

        assert [letter.number for letter in job.outbox.due(1, 2)] == [1, 2]
        assert items(job.send(most=2)) == links(2 * SIZE)
        assert items(job.send()) == links(3 * SIZE, 2 * SIZE)

    def test_out_of_turn(self, job):
        """A letter that was sent before its turn is a mistake of the caller."""
        job.outbox.put(1, Kind.LINKS, links(2 * SIZE))

        with pytest.raises(ValueError, match="when it was the turn of 1"):
            job.outbox.sent(1, job.outbox.due(1, 2)[1], "1-0")

    def test_not_too_much_at_once(self, job):
        """What is due at once is some 4 MiB, or one letter."""
        chance = random.Random(1)
        for size in (900_000, 900_000, 900_000, 900_000, 900_000, 5_000_000):
            job.outbox.put(1, Kind.ROBOTS, [chance.randbytes(size)])
            job.outbox.close(0.0, all=True)

        assert [len(job.send()) for _ in range(3)] == [4, 1, 1]

    def test_exact_letters_wait_for_a_checkpoint(self, job):
        """An exact letter is due once a checkpoint has it; ordinary ones pass it."""
        job.outbox.put(1, Kind.QUEUED, links(SIZE))
        job.outbox.put(1, Kind.LINKS, links(SIZE))
        assert [message.kind for message in job.send()] == [Kind.LINKS]

        assert job.outbox.awaits_checkpoint

        job.db.checkpoint()
        assert job.send() == []
        job.outbox.committed()
        assert not job.outbox.awaits_checkpoint
        job.outbox.put(1, Kind.QUEUED, links(SIZE))
        assert [message.number for message in job.send()] == [1]

        job.checkpoint()
        assert [message.number for message in job.send()] == [2]

    def test_exact_items_keep_their_order(self, job):
        """Exact items arrive in the order in which they were put, whatever their kinds."""
        kinds = Kind.QUEUED, Kind.SLOT, Kind.SLOT, Kind.QUEUED, Kind.REQUESTS
        put = [(kind, link(number)) for number, kind in enumerate(kinds)]
        for kind, item in put:
            job.outbox.put(1, kind, [item])
        job.checkpoint()

        messages = job.send()

        assert [(message.kind, item) for message in messages for item in message.items] == put
        assert [message.number for message in messages] == [1, 2, 3, 4]

    def test_receivers_have_numbers_of_their_own(self, job):
        """The numbers of exact messages ascend from 1 for each receiver."""
        for drone in (1, 2, 1):
            job.outbox.put(drone, Kind.SLOT, [b"piece"])
            job.outbox.close(0.0, all=True)
        job.checkpoint()

        assert [[message.number for message in job.send(drone)] for drone in (1, 2)] == [[1, 2], [1]]


class TestAcknowledging:
    def test_places_compare_as_numbers(self, job):
        """What was sent to places up to the acknowledged one is forgotten: 9-9 is before 10-2, and before 10-10."""
        job.outbox.put(1, Kind.LINKS, links(3 * SIZE))
        for letter, place in zip(job.outbox.due(1, 3), ["9-9", "10-2", "10-10"], strict=True):
            job.outbox.sent(1, letter, place)

        left = []
        for place in ("9-8", "9-10", "10-9", "10-10"):
            job.outbox.acknowledged(1, place)
            left.append(job.outbox.unacknowledged)
        assert left == [3, 2, 1, 0]

    def test_never_written(self, job):
        """Letters that are acknowledged before a checkpoint leave no row."""
        job.outbox.put(1, Kind.LINKS, links(2 * SIZE))
        job.send()
        job.outbox.acknowledged(1, "2-0")

        job.checkpoint()

        assert (job.rows, job.outbox.stats()["memory"]) == (0, 0)

    def test_rows_go(self, job):
        """The rows of letters that are acknowledged are removed, and no others."""
        job.outbox.put(1, Kind.LINKS, links(3 * SIZE))
        job.checkpoint()
        job.send(most=2)

        job.outbox.acknowledged(1, "2-0")
        job.checkpoint()

        assert job.rows == 1
        assert items(job.send()) == links(SIZE, 2 * SIZE)

    def test_another_drones_place(self, job):
        """A place is that of one drone's stream."""
        job.outbox.put(1, Kind.LINKS, links(SIZE))
        job.outbox.put(2, Kind.LINKS, links(SIZE))
        job.send(1)
        job.send(2)

        job.outbox.acknowledged(2, "9-0")

        assert list(job.outbox.drones()) == [1]

    def test_an_acknowledgement_that_overtakes(self, job):
        """A letter whose place was acknowledged before its sender learned the place is forgotten at once."""
        job.outbox.put(1, Kind.LINKS, links(SIZE))
        (letter,) = job.outbox.due(1, 1)
        job.outbox.acknowledged(1, "5-0")

        job.outbox.sent(1, letter, "5-0")

        assert job.outbox.unacknowledged == 0


class TestEpochs:
    def test_all_again(self, job):
        """In a new epoch everything that is not acknowledged is sent again, in order, and places begin anew."""
        job.outbox.put(1, Kind.LINKS, links(3 * SIZE))
        job.send()
        job.outbox.acknowledged(1, "1-0")

        job.outbox.new_epoch("2")
        assert items(job.send()) == links(2 * SIZE, SIZE)
        job.outbox.acknowledged(1, "3-0")
        assert job.outbox.unacknowledged == 2

    def test_places_of_the_former_epoch(self, job):
        """What was acknowledged in the former epoch says nothing of places in the new one."""
        job.outbox.put(1, Kind.LINKS, links(2 * SIZE))
        (first, _) = job.outbox.due(1, 2)
        job.outbox.sent(1, first, "9-0")
        job.outbox.acknowledged(1, "9-0")
        job.outbox.new_epoch("2")

        job.outbox.sent(1, job.outbox.due(1, 1)[0], "3-0")

        assert job.outbox.unacknowledged == 1

    def test_the_same_epoch(self, job):
        """The epoch that it has already changes nothing."""
        job.outbox.new_epoch("1")
        job.outbox.put(1, Kind.LINKS, links(SIZE))
        job.send()

        job.outbox.new_epoch("1")

        assert job.outbox.due(1, 1) == []

    def test_a_letter_on_its_way(self, job):
        """A place of the former epoch that comes late does not count: the letter is sent again."""
        job.outbox.put(1, Kind.LINKS, links(SIZE))
        (letter,) = job.outbox.due(1, 1)
        job.outbox.new_epoch("2")

        job.outbox.sent(1, letter, "9-0")

        assert len(job.outbox.due(1, 1)) == 1


class TestRestarts:
    def test_collections_are_in_the_checkpoint(self, job):
        """What is only collected is closed by a checkpoint, also what was put after its preparation."""
        job.outbox.put(1, Kind.LINKS, links(1))
        prepared(job.db)
        job.outbox.put(1, Kind.LINKS, links(1, 1))
        job.db.checkpoint()

        job.reopen()

        assert items(job.send()) == links(2)

    def test_what_a_checkpoint_has_is_sent_again(self, job):
        """After a restart all letters of the last checkpoint are due again, and none that came later."""
        job.outbox.put(1, Kind.LINKS, links(SIZE + 1))
        job.checkpoint()
        job.send()
        job.outbox.put(1, Kind.LINKS, links(SIZE))

        job.reopen()

        assert items(job.send()) == links(SIZE + 1)

    def test_numbers_go_on(self, job):
        """Exact numbers and their channel survive a restart, even when all letters were acknowledged."""
        job.outbox.put(1, Kind.SLOT, [b"one"])
        job.checkpoint()
        (first,) = job.send()
        job.outbox.acknowledged(1, "1-0")
        job.checkpoint()
        job.reopen()

        job.outbox.put(1, Kind.SLOT, [b"two"])
        job.checkpoint()
        (second,) = job.send()

        assert (first.number, second.number) == (1, 2)
        assert first.channel == second.channel > 0

    def test_an_acknowledgement_may_be_forgotten(self, job):
        """An acknowledgement since the last checkpoint is rolled back with everything else."""
        job.outbox.put(1, Kind.SLOT, [b"one"])
        job.checkpoint()
        job.send()
        job.outbox.acknowledged(1, "1-0")

        job.reopen()

        assert [message.number for message in job.send()] == [1]

    def test_a_lost_row_is_damage(self, job):
        """Rows that are missing among others are not passed over."""
        job.outbox.put(1, Kind.LINKS, links(3 * SIZE))
        job.checkpoint()
        job.db.execute("DELETE FROM meta WHERE name GLOB 'hive/out/*2'")

        with pytest.raises(DamagedFile, match="letters are missing"):
            job.outbox.due(1, 3)

    @pytest.mark.parametrize("name", ["hive/out/one", "hive/out/1/odd/01", "hive/out/x/plain/01", "hive/out/1/plain/x"])
    def test_a_row_of_another_name_is_damage(self, job, name):
        """A row that no outbox writes is refused at the opening."""
        job.db.set(name, b"")
        job.checkpoint()

        with pytest.raises(DamagedFile, match=f"{name}: not the name of a letter"):
            job.reopen()


class TestMemory:
    def test_letters_are_written_early(self, tmp_path):
        """Beyond its memory the outbox writes letters, and reads them when they are due."""
        job = Job(tmp_path, memory=20_000)
        most = 0
        for number in range(100):
            job.outbox.put(number % 3, Kind.LINKS, links(SIZE, number * SIZE))
            most = max(most, job.outbox.stats()["memory"])

        assert most <= 20_000
        assert job.rows > 40
        assert items(job.send(0)) == [link for number in range(0, 100, 3) for link in links(SIZE, number * SIZE)]
        job.db.close()

    def test_a_checkpoint_writes_only_what_is_new(self, job):
        """A letter is written once, however long it stays."""
        written = []
        job.db.set_all = written.extend
        for number in range(1, 4):
            job.outbox.put(1, Kind.LINKS, links(SIZE))
            job.outbox.save()

            assert len(written) == number


class TestALostDrone:
    def test_items_go_to_others(self, job):
        """What a lost drone has not acknowledged goes to the drones that the route names, each kind as it was."""
        job.outbox.put(1, Kind.LINKS, links(SIZE))
        job.send()
        job.outbox.acknowledged(1, "1-0")
        job.outbox.put(1, Kind.LINKS, links(SIZE, SIZE))
        job.outbox.put(1, Kind.QUEUED, links(3))
        job.checkpoint()
        job.send()
        job.outbox.put(1, Kind.LINKS, links(2, 2 * SIZE))

        list(job.outbox.rerouting(1, lambda kind, item: 2 if kind in EXACT else 3))
        job.checkpoint()

        assert list(job.outbox.drones()) == [2, 3]
        assert items(job.send(2)) == links(3)
        assert sorted(items(job.send(3))) == sorted(links(SIZE + 2, SIZE))
        assert job.rows == 3

    def test_a_drone_of_the_same_number(self, job):
        """A new drone under the number of a lost one gets exact numbers from 1, in another channel."""
        job.outbox.put(1, Kind.SLOT, [b"one"])
        job.checkpoint()
        (first,) = job.send()
        list(job.outbox.rerouting(1, lambda kind, item: 2))
        job.outbox.put(1, Kind.SLOT, [b"two"])
        job.checkpoint()

        (second,) = job.send()

        assert (first.number, second.number) == (1, 1)
        assert first.channel != second.channel

    def test_a_drone_that_left(self, job):
        """The same holds for a drone that left with everything acknowledged, also after a restart."""
        job.outbox.put(1, Kind.SLOT, [b"one"])
        job.checkpoint()
        job.send()
        job.outbox.acknowledged(1, "1-0")
        list(job.outbox.rerouting(1, lambda kind, item: 2))
        job.checkpoint()
        job.reopen()

        job.outbox.put(1, Kind.SLOT, [b"two"])
        job.checkpoint()

        assert [message.number for message in job.send()] == [1]

    def test_a_kill_half_way(self, job):
        """A checkpoint between two slices has each letter once: as it was, or as it is now."""
        job.outbox.put(1, Kind.QUEUED, links(4 * SIZE))
        job.checkpoint()
        slices = job.outbox.rerouting(1, lambda kind, item: 2)
        next(slices)
        next(slices)
        job.checkpoint()
        next(slices)

        job.reopen()

        assert items(job.send(2)) == links(2 * SIZE)
        assert items(job.send(1)) == links(2 * SIZE, 2 * SIZE)

    def test_a_checkpoint_between_exact_and_plain_letters(self, job):
        """Once its exact letters have gone to others, a checkpoint knows no channel to a lost drone any more."""
        job.outbox.put(1, Kind.QUEUED, links(1))
        job.outbox.put(1, Kind.LINKS, links(2 * SIZE, 1))
        job.checkpoint()
        slices = job.outbox.rerouting(1, lambda kind, item: 2)
        next(slices)
        next(slices)
        job.checkpoint()

        job.reopen()

        assert sorted(items(job.send(2))) == sorted(links(SIZE + 1))
        assert items(job.send(1)) == links(SIZE, SIZE + 1)

    def test_nothing_goes_to_a_lost_drone(self, job):
        """From the first slice on nothing is sent to it: somebody else may get its stream."""
        job.outbox.put(1, Kind.LINKS, links(4 * SIZE))
        slices = job.outbox.rerouting(1, lambda kind, item: 2)

        assert job.send(1) == []
        next(slices)
        assert job.send(1) == []

    def test_back_to_the_lost_drone(self, job):
        """A route to the lost drone itself is a mistake of the caller."""
        job.outbox.put(1, Kind.LINKS, links(1))

        with pytest.raises(ValueError, match="lost drone 1"):
            list(job.outbox.rerouting(1, lambda kind, item: 1))

    @given(puts=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(Kind), st.integers(1, 300)), max_size=9),
           sent=st.integers(0, 9), memory=st.sampled_from([0, 3000, 1 << 20]), saved=st.booleans())  # fmt: skip
    @examples(50)
    def test_nothing_is_lost_on_the_way(self, tmp_path_factory, puts, sent, memory, saved):
        """Whatever was written, sent or only collected, each item for a lost drone reaches another one exactly once."""
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

        list(job.outbox.rerouting(0, lambda kind, item: 1 + item[16] % 2))
        job.checkpoint()

        assert 0 not in job.outbox.drones()
        assert sorted(items(job.send(1)) + items(job.send(2))) == sorted(expected)
        job.db.close()


def test_for_whom_a_kill_would_bring_letters_back(job):
    """Drones for which the last checkpoint has letters are known, after acknowledgement and a start too."""
    job.outbox.put(1, Kind.QUEUED, links(1))
    assert job.outbox.kept == set()
    job.checkpoint()
    job.send(1)
    job.outbox.acknowledged(1, "1-0")
    assert (set(job.outbox.drones()), job.outbox.kept) == (set(), {1})
    job.reopen()
    assert job.outbox.kept == {1}
    job.send(1)
    job.outbox.acknowledged(1, "9-0")
    job.checkpoint()
    assert job.outbox.kept == set()
