"""Segments are crawled one after the other: that they are other lists is worth a word only if one
is left half read.
"""

import logging
from contextlib import closing

import pytest

from tests.support.seedlists import write
from webcrawl.urls.seeds import Seeds

ONE, TWO = b"a.example\nb.example\nc.example\n", b"d.example\ne.example\n"


@pytest.fixture(name="said")
def _said(tmp_path, caplog):
    """What is said when the second list comes after so many URLs of the first; None: after all."""

    def said(first, second, read, *, in_turns=True):
        with closing(Seeds(str(write(tmp_path / first, ONE)))) as seeds:
            for _ in range(read) if read is not None else ():
                next(seeds)
            if read is None:
                list(seeds)
            position = seeds.position
        caplog.clear()
        with closing(Seeds(str(write(tmp_path / second, TWO)))) as seeds:
            seeds.resume(position, in_turns=in_turns)
            assert [seed.url for seed in seeds] == ["http://d.example/", "http://e.example/"]
        return [record.message for record in caplog.records if record.levelno >= logging.WARNING]

    return said


@pytest.mark.parametrize("second", ["2.txt", "1.txt"])
def test_the_next_segment(said, second):
    """After a segment that was read to its end the next one is no surprise, also under the same
    name.
    """
    assert said("1.txt", second, None) == []


@pytest.mark.parametrize("second", ["2.txt", "1.txt"])
def test_a_segment_that_was_left(said, second):
    """What a segment still had is in no later one: this is said."""
    lines = said("1.txt", second, 2)

    assert (
        "the previous segment was not read to its end, so its URLs after the first 2 are not crawled"
        in lines[-1]
    )


def test_a_list_of_seeds_that_changed(said):
    """Of other crawls' seeds a change is told as ever, wherever reading was."""
    changed = "changed since it was last read"
    assert [changed in line for line in said("1.txt", "1.txt", None, in_turns=False)] == [True]


def test_other_lists_of_seeds(tmp_path):
    """Whoever asks is told of which seeds the run before was, unless segments are crawled in turns."""
    one, two = (str(write(tmp_path / name, ONE)) for name in ("1.txt", "2.txt"))
    with closing(Seeds(one)) as seeds:
        position = seeds.position
    formers = []
    for src, in_turns in ((one, False), (two, False), (two, True)):
        with closing(Seeds(src)) as seeds:
            seeds.resume(position, in_turns=in_turns)
            formers.append(seeds.former)
    assert formers == ["", one, ""]
