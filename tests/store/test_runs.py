"""Sorted fingerprint files: written keys are found, damage is noticed."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.faults import BreakingDisk
from webcrawl.store import runs
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import HEADER, PAGE, TRAILER, Run, RunWriter

TOP = 2**64 - 1
KEYS = st.one_of(st.integers(0, 50), st.integers(0, TOP), st.integers(TOP - 3, TOP))


def _array(values):
    return np.array(sorted(values), np.uint64)


def _write(path, *columns, pieces=1):
    writer = RunWriter(Disk(), path, len(columns))
    for piece in range(pieces):
        writer.append(
            *(
                column[len(column) * piece // pieces : len(column) * (piece + 1) // pieces]
                for column in columns
            )
        )
    writer.finish()
    return Run(path)


def _pages_read(monkeypatch):
    """The pages that each system call reads from now on, of files with one column."""
    read, original = [], os.preadv
    monkeypatch.setattr(
        os,
        "preadv",
        lambda fd, views, at: (
            read.append(sum(view.nbytes for view in views) // (8 * PAGE)),
            original(fd, views, at),
        )[1],
    )
    return read


def _many(count, seed=1):
    return np.unique(np.random.default_rng(seed).integers(0, 2**64, count, np.uint64))


class TestOneColumn:
    @pytest.mark.parametrize("count", [0, 1, 2, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, 200_000])
    @pytest.mark.parametrize("pieces", [1, 7])
    def test_what_was_written_is_found_and_nothing_else(self, tmp_path, count, pieces):
        """Files of any size contain the keys written, and not their neighbours."""
        keys = np.arange(count, dtype=np.uint64) * np.uint64(3)
        run = _write(tmp_path / "a.run", keys, pieces=pieces)

        assert len(run) == count
        assert run.contains(keys).all()
        assert not run.contains(keys + np.uint64(1)).any()
        assert list(run.check()) == []
        run.close()

    @examples(60)
    @given(data=st.data())
    def test_contains_is_numpys(self, tmp_path_factory, data):
        """For any keys, looked up at any density, the answers are those of a set."""
        present = _array(
            data.draw(st.sets(KEYS, max_size=50))
            | set(range(1000, 1000 + data.draw(st.integers(0, 9000))))
        )
        asked = _array(data.draw(st.sets(KEYS | st.integers(990, 11_000), max_size=50)))
        run = _write(tmp_path_factory.mktemp("runs") / "a.run", present)

        assert run.contains(asked).tolist() == np.isin(asked, present).tolist()
        run.close()

    @examples(60)
    @given(data=st.data())
    def test_between_is_a_slice(self, tmp_path_factory, data):
        """`between` gives the keys between two bounds, both included, in order."""
        present = _array(
            data.draw(st.sets(KEYS, max_size=50))
            | set(range(1000, 1000 + data.draw(st.integers(0, 9000))))
        )
        low, high = (
            data.draw(KEYS | st.integers(990, 11_000)),
            data.draw(KEYS | st.integers(990, 11_000)),
        )
        run = _write(tmp_path_factory.mktemp("runs") / "a.run", present)

        assert run.between(low, high)[0].tolist() == [
            key for key in present.tolist() if low <= key <= high
        ]
        run.close()

    def test_sparse_questions_read_few_pages(self, tmp_path, monkeypatch):
        """Looking up three keys in a file of many pages reads three pages, not the file."""
        keys = _many(100 * PAGE)
        run = _write(tmp_path / "a.run", keys)
        read = _pages_read(monkeypatch)

        assert run.contains(keys[[5, 200_000, 390_000]]).all()
        assert read == [1, 1, 1]
        run.close()

    def test_dense_questions_read_long_stretches(self, tmp_path, monkeypatch):
        """Looking up all keys reads the file once, SPAN pages at a time."""
        keys = _many(3 * runs.SPAN * PAGE)
        run = _write(tmp_path / "a.run", keys)
        read = _pages_read(monkeypatch)

        assert run.contains(keys).all()
        assert max(read) == runs.SPAN
        assert sum(read) == -(-len(keys) // PAGE)
        run.close()


class TestTwoColumns:
    @examples(80)
    @given(data=st.data())
    def test_a_pair_is_found_only_as_a_pair(self, tmp_path_factory, data):
        """Equal keys are distinguished by the second value, even across several pages."""
        pairs = sorted(data.draw(st.sets(st.tuples(KEYS, KEYS), max_size=30)))
        repeats = data.draw(st.integers(0, 2)) * PAGE
        same = data.draw(KEYS)
        pairs = sorted({*pairs, *((same, second) for second in range(repeats))})
        asked = sorted(
            {
                *data.draw(st.sets(st.tuples(KEYS, KEYS), max_size=10)),
                *pairs[::500],
                (same, 5),
                (same, TOP),
            }
        )
        columns = np.array(pairs, np.uint64).reshape(-1, 2).T
        questions = np.array(asked, np.uint64).T
        run = _write(tmp_path_factory.mktemp("runs") / "a.run", *columns)

        assert run.contains(questions[0], questions[1]).tolist() == [
            pair in set(pairs) for pair in asked
        ]
        assert [run.holds(*pair) for pair in asked] == [pair in set(pairs) for pair in asked]
        assert run.between(0, TOP).tolist() == columns.tolist()
        assert list(run.check()) == []
        run.close()

    def test_what_is_not_there_costs_no_page(self, tmp_path, monkeypatch):
        """For hashes, reading the few keys around the expected position shows that one is absent."""
        keys = _many(100 * PAGE)
        run = _write(tmp_path / "a.run", keys, keys)
        there = [run.holds(key, key) for key in keys[::997].tolist()]
        monkeypatch.setattr(run, "_read", None)

        assert all(there)
        assert not any(run.holds(key + 1, key + 1) for key in keys[::97].tolist())
        run.close()


class TestTheDoor:
    @pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.float64])
    def test_other_numbers_are_refused(self, tmp_path, dtype):
        """Only uint64 keys are accepted: numpy compares uint64 with int64 as float64, with wrong
        results.
        """
        writer = RunWriter(Disk(), tmp_path / "a.run")
        with pytest.raises(TypeError, match="columns of"):
            writer.append(np.array([1, 2], dtype))
        writer.append(_array([1, 2]))
        writer.finish()
        run = Run(tmp_path / "a.run")
        with pytest.raises(TypeError, match="keys must be uint64, not"):
            run.contains(np.array([1, 2], dtype))
        run.close()

    def test_the_number_of_columns_is_kept(self, tmp_path):
        """A file of two columns requires two."""
        writer = RunWriter(Disk(), tmp_path / "a.run", 2)
        with pytest.raises(TypeError, match="got 1 of uint64"):
            writer.append(_array([1]))
        writer.abandon()

    @pytest.mark.parametrize("pieces", [([2, 1],), ([5], [4])])
    def test_disorder_is_refused(self, tmp_path, pieces):
        """Descending keys, within a piece or between two, raise ValueError."""
        writer = RunWriter(Disk(), tmp_path / "a.run")
        for piece in pieces[:-1]:
            writer.append(np.array(piece, np.uint64))
        with pytest.raises(ValueError, match="out of order"):
            writer.append(np.array(pieces[-1], np.uint64))
        writer.abandon()

    def test_a_finished_file_takes_no_more(self, tmp_path):
        """A finished or abandoned file can be neither written nor finished again."""
        writer = RunWriter(Disk(), tmp_path / "a.run")
        writer.finish()
        with pytest.raises(ValueError, match="finished or abandoned"):
            writer.finish()
        with pytest.raises(ValueError, match="finished or abandoned"):
            writer.append(np.arange(PAGE, dtype=np.uint64))

    def test_an_abandoned_file_is_gone(self, tmp_path):
        """Abandon leaves nothing behind, and may be called twice."""
        writer = RunWriter(Disk(), tmp_path / "a.run")
        writer.append(_many(3 * PAGE))
        writer.abandon()
        writer.abandon()

        assert list(tmp_path.iterdir()) == []

    def test_reprs_say_what_it_is(self, tmp_path):
        """The reprs show file name, count and columns."""
        writer = RunWriter(Disk(), tmp_path / "a.run")
        writer.append(_array([1, 2]))
        assert repr(writer) == "<RunWriter a.run count=2 columns=1>"
        writer.finish()
        run = Run(tmp_path / "a.run")
        assert repr(run) == "<Run a.run count=2 columns=1>"
        run.close()


def _damages(path):
    """The damage that opening or checking this file reports."""
    try:
        run = Run(path)
    except DamagedFile as damage:
        return [damage]
    try:
        return list(run.check())
    finally:
        run.close()


class TestDamage:
    @pytest.fixture(name="small")
    def _small(self, tmp_path, monkeypatch):
        """A file with small pages, so that every byte can be tested."""
        monkeypatch.setattr("webcrawl.store.runs.PAGE", 8)
        monkeypatch.setattr("webcrawl.store.runs.PAGE", 8)
        path = tmp_path / "a.run"
        keys = np.arange(30, dtype=np.uint64) * np.uint64(1 << 40)
        _write(path, keys, keys + np.uint64(7)).close()
        assert _damages(path) == []
        return path

    def test_every_flipped_byte_is_noticed(self, small):
        """A change of any byte, including padding and trailer, is noticed."""
        whole = small.read_bytes()
        assert len(whole) == HEADER.size + 4 * 8 * 16 + 4 * 12 + TRAILER.size
        for at in range(len(whole)):
            small.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 7]) + whole[at + 1 :])
            assert _damages(small), at

    def test_every_truncation_is_noticed(self, small):
        """A file truncated anywhere, or with an extra byte, raises DamagedFile."""
        whole = small.read_bytes()
        for length in range(len(whole)):
            small.write_bytes(whole[:length])
            assert _damages(small), length
        small.write_bytes(whole + b"\0")
        assert _damages(small)

    def test_every_lost_piece_is_noticed(self, small):
        """Bytes missing from the middle are noticed."""
        whole = small.read_bytes()
        for at in range(0, len(whole) - 16, 8):
            small.write_bytes(whole[:at] + whole[at + 8 :])
            assert _damages(small), at

    def test_a_file_truncated_while_it_is_read_is_noticed(self, tmp_path):
        """Reading pages that have been truncated raises DamagedFile instead of looping."""
        keys = _many(5 * PAGE)
        run = _write(tmp_path / "a.run", keys)
        with (tmp_path / "a.run").open("r+b") as file:
            file.truncate(HEADER.size + PAGE * 8)
        with pytest.raises(DamagedFile, match="ends early"):
            run.contains(keys)
        assert len(list(run.check())) >= 4
        run.close()

    def test_damage_says_where(self, small):
        """The error for a damaged page gives its offset."""
        whole = bytearray(small.read_bytes())
        whole[HEADER.size + 8 * 16 + 3] ^= 1
        small.write_bytes(whole)

        assert [(damage.offset, damage.why) for damage in _damages(small)] == [
            (HEADER.size + 8 * 16, "wrong checksum of a page")
        ]

    def test_a_foreign_file_is_refused(self, tmp_path):
        """Another kind of file is recognised by its first bytes."""
        (tmp_path / "a.run").write_bytes(b"%PDF-1.7" * 100)
        with pytest.raises(DamagedFile, match="not a fingerprint file"):
            Run(tmp_path / "a.run")


class TestFaults:
    def test_every_failed_step_is_raised_and_leaves_nothing_open(self, tmp_path):
        """If any create, write or sync fails, the caller gets the error, and abandon removes the
        file.
        """
        steps = 0
        for fail_at in range(1, 100):
            disk = BreakingDisk(fail_at)
            writer = None
            try:
                writer = RunWriter(disk, tmp_path / "a.run")
                for _ in range(2):
                    writer.append(
                        np.arange(writer.count, writer.count + 2 * PAGE + 5, dtype=np.uint64)
                    )
                writer.finish()
            except OSError:
                steps += 1
            else:
                break
            if writer is not None:
                writer.abandon()
            assert list(tmp_path.iterdir()) == []
            assert not [
                fd
                for fd in Path("/proc/self/fd").iterdir()
                if str(tmp_path) in os.path.realpath(fd)
            ]
        # create, header, two pieces, the rest with its page, trailer, sync, folder
        assert steps == 8
