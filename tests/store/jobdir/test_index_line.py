"""Lines of an archive's index, whoever has written them."""

import json

import pytest

from webcrawl.store.jobdir.index_line import BadLine, read

GOOD = {"url": "http://a.test/", "status": "200", "offset": "7", "length": "5", "filename": "warc/a.warc.gz"}


def line(**more):
    return b"test,a)/ 20260101000000 " + json.dumps(GOOD | more).encode() + b"\n"


class TestRead:
    def test_a_line(self):
        """A line says where the record of a URL lies."""
        found = read(line())

        assert (found.url, found.file, found.offset, found.length) == ("http://a.test/", "a.warc.gz", 7, 5)

    @pytest.mark.parametrize(
        "more",
        [
            *({"offset": one} for one in (float("inf"), float("nan"), -1, 1 << 80, [], "9" * 5000)),
            *({"length": one} for one in (float("inf"), -1, 1 << 80)),
            *({"url": one} for one in (5, None, "", "http://\ud800/")),
            *({"filename": one} for one in (5, "", "a\0b", "\ud800")),
        ],
    )
    def test_what_is_none(self, more):
        """What is no URL, no place in a file, or no name of one is a bad line: nothing else is raised."""
        with pytest.raises(BadLine):
            read(line(**more))
