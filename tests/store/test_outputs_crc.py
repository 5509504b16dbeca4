"""The crc32 stored with an output's length is always that of the file's first `length` bytes."""

import zlib
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.faults import BreakingDisk
from tests.support.outputs import Crawl
from webcrawl.store.errors import DamagedFile, StoreError


def noted(crawl):
    """The lengths of noted files; asserts that their crcs are right."""
    lengths = {}
    for name, length, crc in crawl.db.query("SELECT path, length, bytes_crc FROM output"):
        path = crawl.outputs._where(name)
        assert zlib.crc32(path.read_bytes()[:length]) == crc, name
        lengths[name] = length
    return lengths


class TestCrc:
    def test_across_restarts(self, tmp_path):
        """After a restart the crc continues from the noted one, without what was truncated."""
        for step in range(1, 4):
            with closing(Crawl(tmp_path)) as crawl:
                log = crawl.outputs.open("log")
                log.write(b"counts\n")
                crawl.checkpoint()
                log.write(b"cut off\n")
                log.flush()
                assert noted(crawl) == {"log": 7 * step}

    def test_a_file_that_is_finished(self, tmp_path):
        """The crc stays with the file when it gets its final name."""
        with closing(Crawl(tmp_path)) as crawl:
            output = crawl.outputs.open("a.open")
            output.write(b"one")
            crawl.checkpoint()
            output.write(b"two")
            output.finish()
            crawl.checkpoint()

            assert noted(crawl) == {"a": 6}

    def test_a_file_that_is_opened_again(self, tmp_path):
        """Closing a file and opening it again does not affect the crc, before or after a checkpoint."""
        with closing(Crawl(tmp_path)) as crawl:
            for _ in range(3):
                for _ in range(2):
                    output = crawl.outputs.open("a")
                    output.write(b"abc")
                    output.close()
                crawl.checkpoint()

            assert noted(crawl) == {"a": 18}

    def test_a_full_disk(self, tmp_path):
        """Bytes that could not be written to a full disk do not count."""
        disk = BreakingDisk()
        with closing(Crawl(tmp_path, disk)) as crawl:
            output = crawl.outputs.open("a")
            output.write(b"abc")
            disk.fail_at = disk.operations + 1
            with pytest.raises(StoreError):
                output.write(b"d" * 1000)
            output.write(b"efg")
            crawl.checkpoint()

            assert noted(crawl) == {"a": 6}

    @given(steps=st.lists(st.one_of(st.binary(max_size=9), st.sampled_from(["checkpoint", "crash", "flush"]))))
    @examples(25)
    def test_any_order(self, tmp_path_factory, steps):
        """Writes, checkpoints and crashes in any order."""
        root = tmp_path_factory.mktemp("crawl")
        crawl = Crawl(root)
        crawl.outputs._at_once = 5
        output = crawl.outputs.open("a")
        for step in [*steps, "checkpoint"]:
            if isinstance(step, bytes):
                output.write(step)
            elif step == "flush":
                output.flush()
            elif step == "checkpoint":
                crawl.checkpoint()
                noted(crawl)
            else:
                crawl.close()
                crawl = Crawl(root)
                output = crawl.outputs.open("a")
        assert noted(crawl) == {"a": output.tell()}
        crawl.close()

    @pytest.mark.parametrize("change", ["length = 3", "path = 'b'", "bytes_crc = 1", "length = 'x'"])
    def test_a_damaged_row(self, tmp_path, change):
        """An altered length is refused before anything is truncated."""
        with closing(Crawl(tmp_path)) as crawl:
            crawl.outputs.open("a").write(b"abcdef")
            crawl.checkpoint()
            crawl.db.execute(f"UPDATE output SET {change}")
            crawl.db.checkpoint()
        (tmp_path / "b").write_bytes(b"abcdefg")

        with pytest.raises(DamagedFile, match=r"table output, [ab]: checksum"):
            Crawl(tmp_path)
        assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (b"abcdef", b"abcdefg")
