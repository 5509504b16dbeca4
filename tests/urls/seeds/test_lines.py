"""Splitting blocks into lines."""

from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawl.urls.seeds.seed_reader import lines

texts = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"x" * 20])).map(b"".join)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


class TestLines:
    @settings(deadline=None)
    @given(texts, st.integers(1, 12))
    def test_block_borders_do_not_matter(self, data, size):
        """However the bytes are cut into blocks, the lines are the same."""
        expected = [(line, 0) for line in data.splitlines(keepends=True)]

        assert expected == list(lines(cut(data, size)))

    @settings(deadline=None)
    @given(texts, st.integers(1, 12))
    def test_no_byte_is_lost(self, data, size):
        """Lengths and dropped bytes add up to the whole, and exactly the lines over the limit are cut."""
        expected = [(len(line), len(line) > 8) for line in data.splitlines(keepends=True)]

        found = [(len(line) + dropped, dropped > 0) for line, dropped in lines(cut(data, size), longest=8)]

        assert expected == found

    def test_an_endless_line_is_not_held(self):
        """Of a line over the limit, at most the limit and one block are in memory."""
        held = []

        def endless():
            for _ in range(1000):
                yield b"x" * 100
                held.append(len(walk.gi_frame.f_locals["held"]))

        walk = lines(endless(), longest=250)

        assert [len(line) + dropped for line, dropped in walk] == [100_000]
        assert max(held) <= 250
