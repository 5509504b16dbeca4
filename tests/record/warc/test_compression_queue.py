"""An archive whose records are compressed in a thread is the archive that it would be without one."""

import copy
import random
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.support.cdxj import assert_index
from tests.support.faults import BreakingDisk
from tests.support.warc_crawl import Archive, exchange, files, indexes
from tests.support.warc_reader import read
from webcrawl.record.warc import capture as module
from webcrawl.record.warc.capture import CompressionQueue
from webcrawl.store.errors import StoreError

KB = 1 << 10


def bodies(number, size=3000):
    chance = random.Random(5)
    return [chance.randbytes(chance.randrange(size)) for _ in range(number)]


def written(root, queue, **options):
    """The archive of forty exchanges, with a checkpoint after each tenth; some are duplicates."""
    archive = Archive(root, queue=queue, **options)
    for number, body in enumerate(bodies(40)):
        archive.write(exchange(f"http://a.test/{number}", body))
        archive.write(exchange(f"http://b.test/{number}", body), duplicate=True)
        if number % 10 == 9:
            archive.checkpoint()
    archive.stop()
    return {path.name: path.read_bytes() for path in (*files(root), *indexes(root))}


@pytest.mark.parametrize("max_size", [1, 5 * KB, 40 * KB, 1 << 30])
def test_the_same_bytes(tmp_path, max_size):
    """Files, their sizes and their indexes do not depend on whether there is a thread."""
    plain = written(tmp_path / "plain", None, max_size=max_size)
    assert (
        written(
            tmp_path / "queue", CompressionQueue(batch=20 * KB, most=60 * KB), max_size=max_size
        )
        == plain
    )
    for path in files(tmp_path / "queue"):
        assert_index(path)


def test_who_asks_where_a_record_lies_waits_for_it(tmp_path):
    """A place has its file at once; asking for offset or length has all written that came before."""
    archive = Archive(tmp_path, queue=CompressionQueue())
    archive.write(exchange("http://a.test/1"))
    place = archive.write(exchange("http://a.test/2"))
    before = files(tmp_path)[0].stat().st_size
    name, offset, length = place
    assert (before, files(tmp_path)[0].stat().st_size > offset + length) == (0, True)
    assert name == files(tmp_path)[0].name.removesuffix(".open")
    archive.stop()


def test_another_thread_cannot_have_records_written(tmp_path):
    """Where a record lies is refused to another thread until it is written: two threads would write
    records twice.
    """
    archive = Archive(tmp_path, queue=CompressionQueue())
    place = archive.write(exchange("http://a.test/1"))
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(tuple, place)
        with pytest.raises(RuntimeError, match="only the event loop's thread"):
            asked.result()
        assert tuple(place) == other.submit(tuple, place).result()
    archive.stop()
    assert [record.kind for record in read(files(tmp_path)[0])] == [
        "warcinfo",
        "response",
        "request",
        "metadata",
    ]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_knows_the_place(tmp_path, copied):
    """Copying a place, or a page that has one, waits for the record, too."""
    archive = Archive(tmp_path, queue=CompressionQueue())
    place = archive.write(exchange("http://a.test/1"))
    assert tuple(copied(place)) == tuple(place)
    archive.stop()


def test_whoever_follows_the_file(tmp_path):
    """A busy crawl shows what is compressed, any other all that it has, without a checkpoint."""
    archive = Archive(tmp_path, queue=CompressionQueue())
    archive.write(exchange("http://a.test/1"))
    archive.outputs.show()
    assert [
        record.fields["WARC-Target-URI"]
        for record in read(files(tmp_path)[0])
        if record.kind == "response"
    ] == ["http://a.test/1"]
    archive.stop()


def test_a_checkpoint_has_what_was_written_before(tmp_path):
    """After a crash the archive has all captures of the last checkpoint, and none that came later."""
    archive = Archive(tmp_path, queue=CompressionQueue())
    archive.write(exchange("http://a.test/1"))
    archive.checkpoint()
    archive.write(exchange("http://a.test/2"))
    archive.db.close()
    Archive(tmp_path, seed=2).stop()
    assert [record.fields["WARC-Target-URI"] for record in read(files(tmp_path)[0])[1:]] == [
        "http://a.test/1"
    ] * 3


def test_what_waits_is_bounded(tmp_path):
    """More than `most` bytes never wait for the thread: the caller does."""
    queue = CompressionQueue(batch=4 * KB, most=64 * KB)
    archive = Archive(tmp_path, queue=queue)
    sizes = []
    for number in range(200):
        archive.write(exchange(f"http://a.test/{number}", bytes(8 * KB)))
        sizes.append(queue.size)
    archive.stop()
    assert max(sizes) <= 64 * KB + 4 * KB
    assert queue.size == 0


def test_a_body_larger_than_the_bound_is_written(tmp_path):
    """One capture alone may exceed it."""
    archive = Archive(tmp_path, queue=CompressionQueue(batch=KB, most=2 * KB))
    archive.write(exchange(body=bytes(64 * KB)))
    archive.stop()
    assert len(read(files(tmp_path)[0])[1].block) > 64 * KB


class TestErrors:
    def test_what_the_thread_cannot_do_stops_the_checkpoint(self, tmp_path, monkeypatch):
        """A capture that could not be compressed is missed by the next checkpoint, and whatever is
        tried after it.
        """
        archive = Archive(tmp_path, queue=CompressionQueue())
        archive.checkpoint()
        archive.write(exchange("http://a.test/1"))
        monkeypatch.setattr(module, "_pack_all", _no_memory)
        with pytest.raises(MemoryError):
            archive.checkpoint()
        with pytest.raises(
            StoreError, match="cannot be used after an earlier error: out of memory"
        ):
            archive.writer.close()
        archive.close()
        Archive(tmp_path, seed=2).stop()
        assert files(tmp_path) == []

    def test_it_is_raised_by_a_later_write_too(self, tmp_path, monkeypatch):
        """The crawl hears of it as soon as the batch is looked for."""
        go_on = Event()
        monkeypatch.setattr(
            module, "_pack_all", lambda captures: go_on.wait() and _no_memory(captures)
        )
        archive = Archive(tmp_path, queue=CompressionQueue(batch=1, most=1))
        archive.write(exchange("http://a.test/1"))
        go_on.set()
        with pytest.raises(MemoryError):
            archive.write(exchange("http://a.test/2"))
        archive.close()

    def test_nothing_is_written_after_a_gap(self, tmp_path):
        """When the disk took a capture only in part, no other follows, even if there is room again."""
        disk = BreakingDisk()
        archive = Archive(tmp_path, disk, queue=CompressionQueue())
        archive.checkpoint()
        archive.write(exchange("http://a.test/1"))
        disk.fail_at = disk.operations + 1
        with pytest.raises(StoreError):
            archive.writer.save()
        with pytest.raises(StoreError, match="cannot be used after an earlier error"):
            archive.write(exchange("http://a.test/2")).offset  # noqa: B018 - asking waits
        archive.close()
        assert disk.broken == ["write"]


def _no_memory(captures):
    raise MemoryError("not enough")
