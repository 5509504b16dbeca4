"""Finished files in a store: what is sent and when, what may go, after a crash
(docs/storage.md).
"""

import logging
from contextlib import closing
from hashlib import md5

import pytest

from tests.support.objectstore import ADDRESS, FakePlace, StoredCrawl
from tests.support.outputs import Crawl
from webcrawl.record.objectstore import storing as module
from webcrawl.record.objectstore.storing import (
    POLL_SECONDS,
    NoStore,
    StoredFile,
    belongs_in_store,
    copy_to_store,
    read_stored_files,
)
from webcrawl.record.objectstore.upload import MAX_RETRY_SECONDS
from webcrawl.store.disk import Disk
from webcrawl.store.outputs import STORED

NAME = "warc/a.warc.gz"


@pytest.fixture(name="place")
def _place():
    return FakePlace()


def stored(crawl):
    return read_stored_files(crawl.db.named(STORED))


class TestWhatIsSent:
    def test_a_file_is_sent_when_a_checkpoint_has_noted_its_end(self, tmp_path, place):
        """Before that, a crash would truncate it: nothing of it goes to the store."""
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            output = crawl.outputs.open(f"{NAME}.open")
            output.write(b"record")
            crawl.rounds(2)
            output.finish()
            crawl.sent()
            assert place.files == {}
            crawl.rounds()

            assert place.files == {NAME: b"record"}
            assert crawl.storing.stats() == {
                "store/files": 1,
                "store/bytes": 6,
                "store/waiting": 0,
                "store/failures": 0,
            }

    def test_the_files_that_go(self):
        """The archive, its index and the tables go; logs, text and what is being written stay."""
        names = [NAME, "warc/a.cdxj", "tables/pages-00000.parquet"]
        others = [
            "logs/crawl.log",
            "text/a.jsonl.gz",
            "warc/a.warc.gz.open",
            "tables/pages-00000.arrows",
            "stats.json",
        ]

        assert [name for name in [*names, *others] if belongs_in_store(name)] == names

    def test_an_index_is_sent_sorted(self, tmp_path, place):
        """The copy is the file under its final name, whose lines are sorted."""
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish("warc/a.cdxj", b"b\na\n")
            crawl.rounds()

        assert place.files == {"warc/a.cdxj": b"a\nb\n"}

    def test_nothing_is_sent_twice(self, tmp_path, place):
        """What a checkpoint has noted as stored is not sent by later checkpoints, nor by the next
        run.
        """
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds(8)
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.rounds()

        assert place.sent == [NAME]

    def test_what_was_finished_without_a_store_is_sent(self, tmp_path, place):
        """A store that is set for the next run gets the files of the runs before."""
        with closing(Crawl(tmp_path)) as crawl:
            output = crawl.outputs.open(f"{NAME}.open")
            output.write(b"record")
            output.finish()
            crawl.checkpoint()
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.rounds()

        assert place.files == {NAME: b"record"}

    def test_a_damaged_file_is_not_sent(self, tmp_path, place, caplog):
        """Its checksum is not the noted one: its copy would pass for sound."""
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.checkpoint()
            (tmp_path / f"{NAME}.open").write_bytes(b"recorx")
            crawl.rounds()

            assert place.files == {}
            assert crawl.storing.is_behind
            assert (tmp_path / NAME).exists()
        assert "is damaged, so it was not stored" in caplog.text

    def test_a_file_that_was_replaced_is_removed_there(self, tmp_path, place):
        """A table that a later run writes anew would be in the store twice."""
        old, new = "tables/hosts-00000.parquet", "tables/hosts-00001.parquet"
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish(old, b"hosts")
            crawl.rounds()
            assert place.files == {old: b"hosts"}
            (tmp_path / f"{new}.open").write_bytes(b"more!")
            crawl.outputs.adopt(new, (5, 0x12345678), old)
            crawl.rounds(6)

            assert (place.removed, old in stored(crawl)) == ([old], False)


class TestWhatMayGo:
    def test_the_file_stays_by_default(self, tmp_path, place):
        """A copy alone removes nothing."""
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()

        assert (tmp_path / NAME).read_bytes() == place.files[NAME]

    def test_the_file_goes_when_its_verified_copy_is_noted(self, tmp_path, place):
        """Not before the checkpoint that notes the copy: until then a crash would leave nobody who
        knows of it.
        """
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds(2)
            assert place.files == {NAME: b"record"}
            assert (tmp_path / NAME).exists()
            crawl.checkpoint()

            assert not (tmp_path / NAME).exists()
            assert stored(crawl)[NAME].by == "read back"

    @pytest.mark.parametrize("most_bytes", [0, 3])
    def test_a_copy_that_was_truncated_is_sent_again(self, tmp_path, place, most_bytes):
        """The size there is compared, so that a file whose upload ended early stays here, and is
        sent once more.
        """
        place.most_bytes = most_bytes
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds()
            assert (tmp_path / NAME).exists()
            assert crawl.storing.is_behind
            place.most_bytes, crawl.now = None, crawl.now + MAX_RETRY_SECONDS
            crawl.rounds()

            assert place.files == {NAME: b"record"}
            assert not (tmp_path / NAME).exists()

    def test_a_copy_with_other_bytes_is_sent_again(self, tmp_path, place):
        """What is read back is compared, byte for byte by its digest."""
        place.on_piece = lambda name: None
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            put = place.put
            place.put = lambda name, size, pieces, new: (
                put(name, size, pieces, new=new),
                place.files.update({name: b"recorx"}),
            )
            crawl.finish()
            crawl.rounds()
            assert (tmp_path / NAME).exists()
            place.put, crawl.now = put, crawl.now + MAX_RETRY_SECONDS
            crawl.rounds()

        assert place.files == {NAME: b"record"}

    def test_files_that_were_kept_go_later(self, tmp_path, place):
        """With the setting off, what an earlier run stored and kept is verified once more, and then
        goes.
        """
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.sent()
            crawl.rounds()

        assert not (tmp_path / NAME).exists()
        assert place.sent == [NAME]

    def test_files_whose_copies_are_gone_stay(self, tmp_path, place):
        """A copy that is no longer there is sent anew before the file goes."""
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()
        place.files.clear()
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.sent()
            crawl.rounds()

        assert place.files == {NAME: b"record"}
        assert not (tmp_path / NAME).exists()


class TestOtherCrawls:
    def test_another_content_is_never_replaced(self, tmp_path, place, caplog):
        """A file of this name may be another crawl's: the own one stays here, and that is said."""
        place.files[NAME] = b"another"
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds(6)

            assert place.files == {NAME: b"another"}
            assert (tmp_path / NAME).exists()
            assert crawl.storing.is_behind
        assert caplog.text.count("is in the store already with different content") == 1
        assert (
            "1 file (6 bytes) refused for the reasons above: fix them, then run `scrapy export store"
            in caplog.text
        )

    def test_neither_is_one_of_the_same_length(self, tmp_path, place):
        """Lengths that agree by chance prove nothing."""
        place.files[NAME] = b"recorx"
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds()

        assert place.files == {NAME: b"recorx"}
        assert (tmp_path / NAME).exists()

    @pytest.mark.parametrize("fails", [None, ConnectionError("reset")])
    def test_not_even_if_it_comes_while_ours_is_sent(self, tmp_path, place, fails):
        """Whether our upload arrives or not: without its file here, the other crawl would have lost
        it.
        """

        def another_comes(name):
            place.on_piece, place.files[name], place.away = lambda _: None, b"another", fails

        place.on_piece = another_comes
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds(3)
            place.away = None
            for _ in range(4):
                crawl.now += MAX_RETRY_SECONDS
                crawl.rounds(2)

            assert place.files == {NAME: b"another"}
            assert (tmp_path / NAME).exists()


class TestCrashes:
    def test_a_copy_that_nobody_noted_is_found(self, tmp_path, place):
        """Killed between the upload and the checkpoint: the next run verifies what is there, and
        does not send it.
        """
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds(2)
        assert place.sent == [NAME]
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.sent()
            crawl.checkpoint()

            assert stored(crawl)[NAME].length == len(b"record")
        assert place.sent == [NAME]
        assert not (tmp_path / NAME).exists()

    def test_half_a_copy_is_sent_anew(self, tmp_path, place):
        """Killed in the middle, where a store shows what came so far: the beginning of a file is
        this crawl's own.
        """
        place.files[NAME] = b"rec"
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()

        assert place.files == {NAME: b"record"}

    def test_a_file_that_could_not_be_removed_goes_later(self, tmp_path, place):
        """Killed between the COMMIT and the removal: the next run verifies the copy again first."""

        class Refusing(Disk):
            def unlink(self, path):
                if path.suffix == ".gz":
                    raise PermissionError(13, "Permission denied")
                super().unlink(path)

        with closing(StoredCrawl(tmp_path, place, keep=False, disk=Refusing())) as crawl:
            crawl.finish()
            crawl.rounds()
        assert (tmp_path / NAME).exists()
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.sent()
            crawl.checkpoint()

        assert not (tmp_path / NAME).exists()

    def test_a_checkpoint_that_fails_removes_nothing(self, tmp_path, place, monkeypatch):
        """The file goes after the COMMIT alone."""
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.rounds(2)
            monkeypatch.setattr(
                crawl.db.presence, "check", lambda: (_ for _ in ()).throw(OSError("taken away"))
            )
            with pytest.raises(Exception, match="taken away"):
                crawl.checkpoint()

        assert (tmp_path / NAME).exists()


class TestStoreAway:
    def test_it_is_said_once_and_counted(self, tmp_path, place, caplog):
        """One line when it goes and one when it is back, however many tries there are between."""
        caplog.set_level(logging.INFO)
        place.away = ConnectionError("refused")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            for _ in range(6):
                crawl.now += MAX_RETRY_SECONDS
                crawl.rounds(1)
            assert crawl.storing.stats()["store/failures"] >= 3
            assert caplog.text.count(": refused; finished files stay here for now") == 1
            place.away, crawl.now = None, crawl.now + MAX_RETRY_SECONDS
            crawl.rounds()

        assert place.files == {NAME: b"record"}
        assert caplog.text.count("accepts files again") == 1

    def test_tries_are_further_and_further_apart(self, tmp_path, place):
        """A store that is away is not asked at each checkpoint."""
        place.away = ConnectionError("refused")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            for _ in range(100):
                crawl.now += 1.0
                crawl.rounds(1)

            assert 5 <= crawl.storing.stats()["store/failures"] <= 9

    def test_credentials_in_an_error_are_not_logged(self, tmp_path, place, caplog):
        """What a store's package says may quote an address."""
        place.away = ConnectionError("cannot reach https://user:secret@127.0.0.1/")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()

        assert "cannot reach" in caplog.text
        assert "secret" not in caplog.text


class TestTheCommand:
    def test_files_at_an_earlier_address(self, tmp_path, place):
        """What an earlier address has is not said to be at this one."""
        with closing(StoredCrawl(tmp_path, place, address="test://earlier")) as crawl:
            crawl.finish()
            crawl.rounds()
        said = [*copy_to_store(tmp_path, ADDRESS, keep=True, open_folder=lambda _: FakePlace())]

        assert said == [(f"{ADDRESS}: 0 files stored, 0 bytes; 1 file at earlier addresses", True)]

    def test_no_address(self, tmp_path):
        """Where neither the settings nor the last run name a store, that is said."""
        with closing(Crawl(tmp_path)) as crawl:
            crawl.checkpoint()

        with pytest.raises(NoStore, match="OUTPUT_STORE is not set, and the last run had none"):
            [*copy_to_store(tmp_path, None, keep=True, open_folder=lambda _: FakePlace())]

    def test_the_last_file_of_a_killed_crawl(self, tmp_path, place):
        """It is named, for nobody but the crawl can finish it; with all others in the store that is
        bad news, too.
        """
        unfinished = ("tables/pages-00000.arrows.open", "warc/b.warc.gz.open")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            for name in unfinished:
                crawl.outputs.open(name).write(b"record")
            crawl.rounds()
        left = "is not finished: start the crawl again to finish it"
        said = [*copy_to_store(tmp_path, None, keep=True, open_folder=lambda _: place)]

        assert said == [
            (f"{ADDRESS}: 1 file stored, 6 bytes", True),
            *((f"{tmp_path / name}: {left}", False) for name in unfinished),
        ]

    def test_a_copy_that_cannot_be_verified_once_more(self, tmp_path, place, monkeypatch):
        """A file that has a copy is counted once more before it goes: nobody says that it is not
        stored.
        """
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()
        place.away = ConnectionError("refused")
        ((said, is_good),) = copy_to_store(tmp_path, None, keep=False, open_folder=lambda _: place)

        assert (said, is_good) == (
            f"{ADDRESS}: 1 file stored, 6 bytes; 1 not sent or verified yet",
            False,
        )


class TestTheEnd:
    def test_all_is_stored_before_the_crawl_ends(self, tmp_path, place):
        """The last file too, which gets its name after the last checkpoint."""
        with closing(StoredCrawl(tmp_path, place, keep=False)) as crawl:
            crawl.finish()
            crawl.checkpoint()
            crawl.rest(tick=0.001)

            assert not crawl.storing.is_behind
        assert place.files == {NAME: b"record"}
        assert not (tmp_path / NAME).exists()

    def test_what_is_not_stored_is_said(self, tmp_path, place, caplog):
        """With the command that does it; a store that stays away is waited for no longer than half
        a minute.
        """
        place.away = ConnectionError("refused")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.checkpoint()
            begun = crawl.now
            crawl.rest()

            assert 30 <= crawl.now - begun <= 60
            assert crawl.storing.is_behind
        left = f"scrapy export store {tmp_path}`, or start the crawl again"
        assert f"{ADDRESS}: 1 file (6 bytes) not sent or verified yet: run `{left}" in caplog.text

    def test_waiting_costs_no_processor(self, tmp_path, place):
        """While files are on their way, or the store is away, one look in a tenth of a second is
        enough.
        """
        place.away = ConnectionError("refused")
        pauses = []
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.checkpoint()
            for pause in crawl.storing.finish_work():
                crawl.now += pause or 0.0
                pauses.append(pause)

        waits = [pause for pause in pauses if pause is not None]
        assert waits
        assert set(waits) == {POLL_SECONDS}

    def test_a_crawl_that_is_told_to_stop_waits_for_seconds(self, tmp_path, place):
        """What is under way is given up at its next piece, and nothing is left of it in the store."""
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.hurries = True
            place.on_piece = lambda _: place_waits(crawl)
            crawl.finish()
            crawl.checkpoint()
            begun = crawl.now
            crawl.rest(tick=0.5)

            assert crawl.now - begun <= 10
        assert place.files == {}

    def test_a_store_that_is_away_holds_up_nobody_who_stops(self, tmp_path, place):
        """Told to stop, and the last try failed: there is nothing to wait for."""
        place.away = ConnectionError("refused")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.hurries = True
            crawl.finish()
            crawl.rounds(3)
            begun = crawl.now
            crawl.rest(tick=0.01)

            assert crawl.now - begun <= 1


def place_waits(crawl):
    """Until the crawl has given up."""
    while not crawl.storing._sender._stopped:
        pass
    crawl.storing._sender._on_piece()


class TestWhatIsWhere:
    def test_a_row_says_what_was_verified(self, tmp_path, place):
        """Address, length, digest, time and way of each copy, as part of the checkpoint."""
        place.sums[NAME] = "de17f0f2cb0c1f2d3b2d0d6ed5d5c4b8"
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()
            one = stored(crawl)[NAME]

        assert one == StoredFile(ADDRESS, 6, one.sha256, "2023-11-14T22:13:20Z", "read back")
        assert StoredFile.unpack(one.pack()) == one

    def test_the_stores_own_checksum_counts_if_it_is_that_of_the_content(self, tmp_path, place):
        """S3's ETag of a file that was sent at once is its MD5: then it is not read back."""
        place.read = None
        place.sums[NAME] = md5(b"record", usedforsecurity=False).hexdigest()
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()

            assert stored(crawl)[NAME].by == "checksum"

    def test_what_its_owner_took_before_is_not_missed(self, tmp_path, place):
        """A file that left JOBDIR before the crawl had a store is noted as taken, not as lost."""
        with closing(Crawl(tmp_path)) as crawl:
            output = crawl.outputs.open(f"{NAME}.open")
            output.write(b"record")
            output.finish()
            crawl.checkpoint()
        (tmp_path / NAME).unlink()
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.rounds()

            assert stored(crawl)[NAME].is_taken
            assert not crawl.storing.is_behind

    def test_a_file_that_is_gone_before_it_was_stored_is_missed(self, tmp_path, place, caplog):
        """Once the crawl has a store, a file in neither place is no longer anybody's."""
        place.away = ConnectionError("refused")
        with closing(StoredCrawl(tmp_path, place)) as crawl:
            crawl.finish()
            crawl.rounds()
            (tmp_path / NAME).unlink()
            place.away = None
            crawl.now += 600.0  # the next try
            crawl.rounds()

            assert crawl.storing.is_behind
        assert "No such file or directory; the file was not stored" in caplog.text
