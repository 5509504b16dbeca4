"""The scans of large files find what a look at the whole file in memory finds."""

import json
from collections import Counter
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link, Outcome
from webcrawl.store import lines as lines_module
from webcrawl.store.jobdir.crawl_line import line
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.tools.why import file_search
from webcrawl.tools.why.file_search import ArchiveIndexes, LogFile, last_lines, sorted_lines

KEYS = st.text("abz)/,", min_size=1, max_size=30)


@pytest.fixture(name="small", autouse=True)
def _small(monkeypatch):
    """So short lines and so small parts of logs that a few hundred bytes are many of them."""
    monkeypatch.setattr(lines_module, "PIECE", 64)
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 256)
    monkeypatch.setattr(file_search, "AROUND_BYTES", 512)


def written(folder, data):
    (folder / "file").write_bytes(data)
    return folder / "file"


class TestSorted:
    @given(keys=st.lists(KEYS, max_size=60), sought=KEYS)
    def test_binary_search(self, tmp_path_factory, keys, sought):
        """Of a sorted file, all lines of a key are found, and no others, wherever they are."""
        lines = sorted(f"{key} {number:03d} {{}}".encode() for number, key in enumerate(keys))
        path = written(tmp_path_factory.mktemp("index"), b"".join(one + b"\n" for one in lines))
        with path.open("rb") as file:
            for key in (sought, *keys[:5]):
                start = f"{key} ".encode()
                found = [*sorted_lines(file, path.stat().st_size, start)]
                assert found == [one for one in lines if one.startswith(start)]

    @given(
        numbers=st.lists(st.integers(0, 20), max_size=40),
        sought=st.sets(st.integers(0, 25), max_size=25),
    )
    @pytest.mark.parametrize("name", ["x.cdxj", "x.cdxj.open"])
    def test_many_at_once(self, tmp_path_factory, name, numbers, sought):
        """All records of each URL are found, in an index that is finished or is being written."""
        folder = tmp_path_factory.mktemp("job")
        lines = [_indexed(number, offset) for offset, number in enumerate(numbers)]
        text = "".join(lines if name.endswith(".open") else sorted(lines))
        (folder / "warc").mkdir()
        (folder / "warc" / name).write_text(text)
        urls = {f"http://a.test/{number}": number for number in sought}
        found = ArchiveIndexes(folder, {f"warc/{name}": len(text)}).entries_of(urls)

        assert {url: sorted(one.offset for one in entries) for url, entries in found.items()} == {
            url: [offset for offset, other in enumerate(numbers) if other == number]
            for url, number in urls.items()
        }

    def test_an_index_that_cannot_be_read(self, tmp_path):
        """It is named, and the others are searched."""
        (tmp_path / "warc/x.cdxj").mkdir(parents=True)
        (tmp_path / "warc/y.cdxj").write_text(_indexed(1, 7))
        indexes = ArchiveIndexes(tmp_path, {"warc/x.cdxj": 1, "warc/y.cdxj": 1})

        assert [
            one.offset for one in indexes.entries_of(["http://a.test/1"])["http://a.test/1"]
        ] == [7]
        assert [line.partition(":")[0] for line in indexes.unread] == ["warc/x.cdxj"]

    @given(data=st.binary(max_size=300), sought=KEYS)
    def test_a_file_of_any_bytes_ends_the_search(self, tmp_path_factory, data, sought):
        """A file of anything ends the search."""
        path = written(tmp_path_factory.mktemp("index"), data)
        with path.open("rb") as file:
            list(sorted_lines(file, len(data), sought.encode()))


def _indexed(number, offset):
    """A line of an index."""
    values = {
        "url": f"http://a.test/{number}",
        "length": "9",
        "offset": f"{offset}",
        "filename": "x.warc.gz",
    }
    return f"test,a)/{number} 20260102030405 {json.dumps(values)}\n"


@given(
    lines=st.lists(st.binary(max_size=90).map(lambda one: one.replace(b"\n", b"")), max_size=40),
    most=st.none() | st.integers(0, 900),
)
def test_the_last_lines(tmp_path_factory, lines, most):
    """They are the whole lines in the last bytes, in their order; None: all.

    If they are not all, that is said.
    """
    data = b"".join(one + b"\n" for one in lines)
    path = written(tmp_path_factory.mktemp("log"), data)
    looked = []
    found = [*last_lines(path, None, most, "a log", looked)]

    assert found == (lines[-len(found) :] if found else [])
    assert sum(len(one) + 1 for one in found) <= (len(data) if most is None else most)
    assert (found == lines) or len(looked) == 1
    assert not looked or sum(len(one) + 1 for one in lines[-len(found) - 1 :]) > most


URLS = [f"http://a.test/{name}" for name in ("", "x", "x/y", "x?y=1", "longer/path/here.html", "€")]


def logged(numbers):
    """A log of these URLs, a second apart."""
    return b"".join(
        line(1_700_000_000.0 + second, Link(URLS[number]), Outcome(404 + second % 2), None, [])
        for second, number in enumerate(numbers)
    )


def log_of(folder, data, length):
    written(folder, data)
    return LogFile(folder, "file", length, 3, b" ")


class TestLogs:
    @given(
        numbers=st.lists(st.integers(0, 5), max_size=30),
        many=st.booleans(),
        quick=st.integers(0, 3000),
    )
    def test_looking_from_the_end(self, tmp_path_factory, numbers, many, quick):
        """The lines of each URL within the bytes looked at are found in their order, however many
        are asked for.
        """
        data = logged(numbers)
        log = log_of(tmp_path_factory.mktemp("log"), data, len(data))
        urls = URLS + [f"http://b.test/{number}" for number in range(9)] if many else URLS
        looked = log.search(urls, max_bytes=quick)

        lines = data.splitlines(keepends=True)
        begins = [0, *accumulate(map(len, lines))]
        begun = [
            one
            for one, at in zip(lines, begins, strict=False)
            if at >= len(data) - looked.searched_bytes
        ]
        wanted = Counter(one.split()[3] for one in begun)
        assert {url: len(lines) for url, lines in looked.lines.items() if lines} == {
            url: wanted[visible]
            for url in URLS
            if (visible := url.replace("€", "%E2%82%AC").encode()) in wanted
        }
        assert bool(looked.unsearched) is (looked.searched_bytes < len(data))
        for lines in looked.lines.values():
            assert list(lines) == sorted(lines)

    @given(numbers=st.lists(st.integers(0, 4), min_size=1, max_size=60), place=st.integers(0, 59))
    def test_near_a_time(self, tmp_path_factory, numbers, place):
        """The line of a URL is found by its time, though no other part of the log is looked at."""
        place %= len(numbers)
        data = logged([*[5] * 80, *numbers, *[5] * 80])
        log = log_of(tmp_path_factory.mktemp("log"), data, len(data))
        url = URLS[numbers[place]]
        lines = data.splitlines()
        near = log.lines_near(url, lines[80 + place].split()[0].decode()[:19])

        found = [log_line(one) for one in near.values()]
        assert [one.url for one in found if one] == [url] * len(found)
        assert lines[80 + place] in near.values()

    def test_a_url_in_another_field_is_none(self, tmp_path):
        """A line of another page that was found on it is not its line."""
        data = line(
            0.0,
            Link("http://a.test/y", "L", "http://a.test/x", "http://a.test/x"),
            Outcome(404),
            None,
            [],
        )
        log = log_of(tmp_path, data, len(data))

        assert log.search(["http://a.test/x"]).lines == {"http://a.test/x": {}}

    def test_what_came_after_the_checkpoint(self, tmp_path):
        """Only the noted bytes count: the rest is truncated by the next start."""
        data = logged([0, 1])
        log = log_of(tmp_path, data, len(data) // 2)

        assert [len(lines) for lines in log.search(URLS[:2]).lines.values()] == [1, 0]

    def test_a_missing_log(self, tmp_path):
        """Nothing is found in a log that was taken away."""
        assert LogFile(tmp_path, "no", 100, 3, b" ").search(URLS).lines == {url: {} for url in URLS}
