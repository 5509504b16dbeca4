"""The inbox: what is handled, how far it is, and what a checkpoint keeps of that."""

import pytest

from tests.support.saving import prepared
from webcrawl.crawl.hive.errors import ForeignMessage, HiveError
from webcrawl.crawl.hive.inbox import Inbox
from webcrawl.crawl.hive.letter import Kind, Letter, pack
from webcrawl.store.crawldb import CrawlDB

HIVE = b"sixteen bytes 16"


def plain(item, sender=1):
    return pack(Letter(Kind.VOTES, sender, 1, 0, [item]), HIVE)


def exact(number, sender=1, channel=5):
    return pack(Letter(Kind.SLOT, sender, 1, number, [f"{sender} {channel} {number}"], channel), HIVE)


class Job:
    """An inbox; `reopen` is what a kill leaves."""

    def __init__(self, folder):
        self.folder = folder
        self.open()

    def open(self):
        self.handled = []
        self.db = CrawlDB(self.folder)
        self.inbox = Inbox(self.db, HIVE, lambda message: self.handled.extend(message.items))

    def reopen(self):
        self.db.close()
        self.open()

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        self.inbox.committed()

    @property
    def at(self):
        return self.inbox.epoch, self.inbox.place, self.inbox.committed_place


@pytest.fixture(name="job")
def _job(tmp_path):
    job = Job(tmp_path / "state")
    yield job
    job.db.close()


class TestReceiving:
    def test_a_message_is_handled(self, job):
        """A message is handled once it is received, and the place advances to it."""
        assert job.inbox.received("3-0", plain("one"))

        assert (job.handled, job.at) == (["one"], ("", "3-0", "0-0"))

    def test_what_cannot_be_handled_yet_comes_again(self, job):
        """If the handler raises, the message was not received: neither its place nor its number is kept."""
        handle, job.inbox._handle = job.inbox._handle, lambda _: 1 / 0
        with pytest.raises(ZeroDivisionError):
            job.inbox.received("3-0", exact(1))
        job.inbox._handle = handle

        assert job.inbox.received("3-0", exact(1))
        assert job.handled == ["1 5 1"]

    def test_what_was_read_is_not_handled_again(self, job):
        """A place up to the present one was read; places compare as numbers."""
        job.inbox.received("10-2", plain("one"))

        assert not job.inbox.received("10-2", plain("one"))
        assert not job.inbox.received("9-9", plain("two"))
        assert job.inbox.received("10-10", plain("three"))
        assert job.handled == ["one", "three"]

    def test_known_numbers(self, job):
        """An exact message that came before is passed over; ordinary ones are handled as often as they come."""
        for place, data in enumerate([exact(1), exact(2), exact(1), plain("x"), plain("x"), exact(2), exact(3)], 1):
            job.inbox.received(f"{place}-0", data)

        assert job.handled == ["1 5 1", "1 5 2", "x", "x", "1 5 3"]
        assert job.inbox.place == "7-0"

    def test_who_waits_for_a_checkpoint(self, job):
        """It knows whose messages no checkpoint has yet; one that comes again is in one."""
        job.inbox.received("1-0", plain("one", sender=1))
        job.inbox.received("2-0", exact(1, sender=2))
        assert job.inbox.senders == {1, 2}
        job.checkpoint()
        job.inbox.received("3-0", exact(1, sender=2))
        assert job.inbox.senders == set()

    def test_senders_have_numbers_of_their_own(self, job):
        """Numbers are those of one sender."""
        for place, data in enumerate([exact(1), exact(1, sender=2), exact(2), exact(2, sender=2)], 1):
            assert job.inbox.received(f"{place}-0", data)

    def test_a_new_channel(self, job):
        """In another channel a sender's numbers begin anew."""
        for place, data in enumerate([exact(1), exact(2), exact(1, channel=6), exact(2, channel=6)], 1):
            assert job.inbox.received(f"{place}-0", data)

    @pytest.mark.parametrize(("data", "expected"), [(exact(3), 2), (exact(2, channel=6), 1), (exact(2, sender=2), 1)])
    def test_a_gap(self, job, data, expected):
        """A number that is not the next one means that messages were lost: one line, and nothing is passed over."""
        job.inbox.received("1-0", exact(1))

        with pytest.raises(HiveError, match=f"but {expected} has not come: messages were lost"):
            job.inbox.received("2-0", data)
        assert (job.handled, job.inbox.place) == (["1 5 1"], "1-0")

    def test_a_foreign_message(self, job):
        """What is not of this hive is neither handled nor passed over."""
        with pytest.raises(ForeignMessage):
            job.inbox.received("1-0", b"xadd")

        assert (job.handled, job.inbox.place) == ([], "0-0")

    def test_a_handler_that_fails(self, job):
        """A message that could not be handled is not passed over."""
        job.inbox = Inbox(job.db, HIVE, lambda message: 1 / 0)

        with pytest.raises(ZeroDivisionError):
            job.inbox.received("1-0", exact(1))
        assert job.inbox.place == "0-0"


class TestCheckpoints:
    def test_what_may_be_acknowledged(self, job):
        """The committed place advances after COMMIT, to what the checkpoint has."""
        job.inbox.new_epoch("e")
        job.inbox.received("1-0", plain("one"))
        job.db.checkpoint()
        job.inbox.received("2-0", plain("two"))
        assert job.at == ("e", "2-0", "0-0")

        job.inbox.committed()

        assert job.at == ("e", "2-0", "1-0")

    def test_a_restart(self, job):
        """Epoch, place and numbers are those of the last checkpoint."""
        job.inbox.new_epoch("e")
        job.inbox.received("1-0", exact(1))
        job.checkpoint()
        job.inbox.received("2-0", exact(2))

        job.reopen()

        assert job.at == ("e", "1-0", "1-0")
        assert not job.inbox.received("2-0", exact(1))
        assert job.inbox.received("3-0", exact(2))

    def test_nothing_new_is_not_written(self, job):
        """A checkpoint without messages writes nothing."""
        job.inbox.received("1-0", plain("one"))
        job.checkpoint()
        job.db.set = None

        job.checkpoint()

    def test_a_new_epoch(self, job):
        """The place begins anew, the numbers do not."""
        job.inbox.new_epoch("1")
        job.inbox.received("9-0", exact(1))
        job.checkpoint()

        job.inbox.new_epoch("2")
        assert job.at == ("2", "0-0", "0-0")
        assert not job.inbox.received("1-0", exact(1))
        assert job.inbox.received("2-0", exact(2))

    def test_the_same_epoch(self, job):
        """The epoch that it has already changes nothing."""
        job.inbox.new_epoch("1")
        job.inbox.received("9-0", plain("one"))

        job.inbox.new_epoch("1")

        assert job.inbox.place == "9-0"

    def test_an_epoch_that_ends_during_a_checkpoint(self, job):
        """A place of the former epoch is never acknowledged in the new one."""
        job.inbox.new_epoch("1")
        job.inbox.received("9-0", plain("one"))
        job.db.checkpoint()
        job.inbox.new_epoch("2")

        job.inbox.committed()

        assert job.inbox.committed_place == "0-0"
