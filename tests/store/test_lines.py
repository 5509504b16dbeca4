"""Lines are read from any two places of a file, and found by their order."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.store import lines
from webcrawl.store.lines import lines_between, pieces_between, place_of, seek_line

LINES = st.lists(st.binary(max_size=20).map(lambda one: one.replace(b"\n", b"")), max_size=30)


@pytest.fixture(name="small", autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(lines, "PIECE", 16)
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 17)


@given(texts=LINES, begin=st.integers(0, 200), end=st.integers(0, 700))
def test_whole_lines(texts, begin, end):
    """The lines that begin behind the one place and end before the other, each at its place."""
    data = b"".join(text + b"\n" for text in texts)
    begin, end = min(begin, len(data)), min(end, len(data))
    places = [
        (sum(len(one) + 1 for one in texts[:number]), text) for number, text in enumerate(texts)
    ]
    wanted = [(at, text) for at, text in places if at >= begin and at + len(text) < end]

    found = []
    for at, piece in pieces_between(io.BytesIO(data), begin, end):
        for text in piece.split(b"\n"):
            found.append((at, text))
            at += len(text) + 1  # noqa: PLW2901 - the place of the next
    assert found == wanted
    assert [*lines_between(io.BytesIO(data), begin, end)] == [text for _, text in wanted]


@given(texts=LINES, start=st.binary(max_size=5).map(lambda one: one.replace(b"\n", b"")))
def test_the_place_of_a_line(texts, start):
    """Of sorted lines, the first one that begins so or comes after is found by halving."""
    texts = sorted(text for text in texts if text < b"\xff" and text)
    file = io.BytesIO(b"".join(text + b"\n" for text in texts))
    seek_line(file, place_of(file, len(file.getvalue()), start))

    later = [text for text in texts if text + b"\n" >= start]
    assert file.readline() == (later[0] + b"\n" if later else b"")


def test_what_has_no_lines():
    """A file without ends of lines gives nothing, and is not kept in memory."""
    assert [*lines_between(io.BytesIO(b"x" * 1_000_000), 0, 1_000_000)] == []
