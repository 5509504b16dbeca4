"""Sorted keys in memory, and the files that they lie in."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.faults import BreakingDisk
from tests.support.seens import ROOMY, job_of
from webcrawl.frontier.seen.sorted_keys import (
    BLOCK,
    HIGHEST,
    NO_KEYS,
    firsts,
    mark,
    marked,
    merged,
    order,
    ranges,
)
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import between, contained

KEY = st.integers(0, 20) | st.integers(HIGHEST - 2, HIGHEST)
SORTED = st.sets(KEY, max_size=12).map(sorted)


def array(keys):
    return np.array(keys, np.uint64)


class TestOrder:
    @given(keys=st.lists(KEY | st.integers(0, HIGHEST), max_size=60))
    def test_it_is_a_stable_sort(self, keys):
        """Keys ascend, and equal keys keep their order, however few bits keys differ in."""
        assert order(array(keys)).tolist() == sorted(range(len(keys)), key=keys.__getitem__)

    def test_it_sorts_more_than_a_block(self):
        """Two keys that differ only in low bits are ordered across the border of two blocks, too."""
        keys = np.arange(2 * BLOCK, dtype=np.uint64) << np.uint64(20)
        keys[BLOCK] = keys[BLOCK - 1]
        keys[BLOCK - 1] += np.uint64(1)
        expected = list(range(2 * BLOCK))
        expected[BLOCK - 1 : BLOCK + 1] = [BLOCK, BLOCK - 1]

        assert order(keys).tolist() == expected


class TestFirsts:
    @given(chunks=st.lists(st.lists(KEY, max_size=12), min_size=1, max_size=5))
    def test_each_key_comes_once_with_its_first_ordinal(self, chunks):
        """A key's first submission is found, whatever chunks it is in, and however often."""
        submitted = [key for chunk in chunks for key in chunk]
        parts, base = [], 0
        for chunk in chunks:
            rows = sorted((key, base + at) for at, key in enumerate(chunk))
            parts.append(array(rows).reshape(-1, 2).T)
            base += len(chunk)
        found = firsts(parts)

        assert found.T.tolist() == [[key, submitted.index(key)] for key in sorted(set(submitted))]
        assert found.dtype == np.uint64


class TestContained:
    @given(needles=SORTED, haystack=SORTED)
    def test_it_is_membership(self, needles, haystack):
        """A needle is contained if and only if it is in the haystack."""
        assert contained(array(needles), array(haystack)).tolist() == [
            key in haystack for key in needles
        ]


class TestMerged:
    @given(keys=SORTED, shares=st.lists(st.integers(0, 2), min_size=12, max_size=12))
    def test_disjoint_pieces_become_one(self, keys, shares):
        """An ascending sequence split into pieces in any way is restored."""
        pieces = [
            array([key for key, share in zip(keys, shares, strict=False) if share == at])
            for at in range(3)
        ]

        assert merged(pieces).tolist() == keys

    def test_nothing_merged_is_nothing(self):
        """No pieces, or only empty ones, give no keys."""
        assert [len(merged([])), len(merged([NO_KEYS, NO_KEYS]))] == [0, 0]


class TestRanges:
    @given(rows=st.integers(0, 10**12), budget=st.integers(1, 10**9))
    def test_they_cover_all_keys_without_a_gap(self, rows, budget):
        """Each range begins where the one before ends, from the lowest key to the highest."""
        rows = min(rows, 500 * budget)
        found = list(ranges(rows, budget))

        assert (found[0][0], found[-1][1]) == (0, HIGHEST)
        assert all(before[1] + 1 == after[0] for before, after in pairwise(found))
        assert len(found) == max(1, -(-rows // budget))

    @given(keys=SORTED, low=KEY, high=KEY)
    def test_between_takes_both_ends(self, keys, low, high):
        """The rows of a range include both of its ends."""
        rows = between(array([keys, keys]), low, high)

        assert rows.tolist() == [[key for key in keys if low <= key <= high]] * 2


class TestBits:
    @given(on=st.sets(st.integers(0, 70)), first=st.integers(0, 70), length=st.integers(0, 70))
    def test_marked_bits_are_found_again(self, on, first, length):
        """Any part of the bits, at byte borders or not, shows what was marked, in any number of
        steps.
        """
        bits = np.zeros(18, np.uint8)
        for some in (sorted(on)[::2], sorted(on)[1::2], []):
            mark(bits, array(some))

        assert marked(bits, first, first + length).tolist() == [
            at in on for at in range(first, first + length)
        ]


class TestFiles:
    def test_a_file_that_cannot_be_removed_does_no_harm(self, tmp_path):
        """If a left-over file cannot be removed, the crawl starts anyway."""
        fs = BreakingDisk(for_good=True)
        job = job_of(tmp_path, fs=fs)
        (job.folder / "seen" / "scratch-00000007").write_bytes(b"x")
        job.checkpoint()
        job.close()
        fs.fail_at = fs.operations + 1
        job.open()

        assert job.names() == ["scratch-00000007"]
        job.close()

    @pytest.mark.parametrize("harm", ["missing", "short", "foreign", "another count"])
    def test_a_damaged_file_is_refused_and_nothing_is_changed(self, tmp_path, harm):
        """A damaged file that a checkpoint names stops the crawl before it starts."""
        job = job_of(tmp_path)
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
            other = job_of(tmp_path / "other")
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
        """`verify` finds a flipped bit by the checksum of its page."""
        job = job_of(tmp_path)
        job.submit(*range(40))
        job.settle()
        job.checkpoint()
        path = max((job.folder / "seen").iterdir())
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)

        job.close()
        assert [damage.path for damage in job.damages()] == [path]

    @pytest.mark.parametrize(
        ("change", "table"),
        [
            (
                "UPDATE meta SET value = x'02000000000000000100000000000000' WHERE name = 'seen.fresh'",
                "fresh",
            ),
            ("UPDATE meta SET value = x'00' WHERE name = 'seen.fresh'", "fresh"),
            ("DELETE FROM meta WHERE name GLOB 'seen.new.*'", "new"),
            ("UPDATE meta SET value = x'00' WHERE name GLOB 'seen.new.*'", "new"),
            ("UPDATE meta SET name = 'seen.new.9' WHERE name GLOB 'seen.new.*'", "new"),
        ],
    )
    def test_a_damaged_value_is_refused(self, tmp_path, change, table):
        """Values of F and of the verdicts with an impossible form raise DamagedFile."""
        job = job_of(tmp_path, ROOMY)
        job.submit(1, 2, 3)
        job.store.merge()
        job.checkpoint()
        job.tamper(change)
        with pytest.raises(DamagedFile, match=f"seen.{table}"):
            job.open()
