"""The scans of large files find what a look at the whole file in memory finds."""

import json
import os
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link, Outcome
from webcrawl.store.jobdir.crawl_line import line
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.tools.why import file_search
from webcrawl.tools.why.file_search import Indexes, LogFile, lines_of, pieces_from_end

KEYS = st.text("abz)/,", min_size=1, max_size=30)


@pytest.fixture(name="small", autouse=True)
def _small(monkeypatch):
    """So small pieces that a few hundred bytes are many of them."""
    monkeypatch.setattr(file_search, "BLOCK", 16)
    monkeypatch.setattr(file_search, "PIECE", 64)
    monkeypatch.setattr(file_search, "LONGEST", 256)
    monkeypatch.setattr(file_search, "AROUND", 512)


def written(folder, data):
    (folder / "file").write_bytes(data)
    return folder / "file"


class TestSorted:
    @given(keys=st.lists(KEYS, max_size=60), sought=KEYS)
    def test_binary_search(self, tmp_path_factory, keys, sought):
        """Of a sorted file, all lines of a key are found, and no others, wherever they are."""
        lines = sorted(f"{key} {number:03d} {{}}".encode() for number, key in enumerate(keys))
        path = written(tmp_path_factory.mktemp("index"), b"".join(one + b"\n" for one in lines))
        descriptor = os.open(path, os.O_RDONLY)
        try:
            for key in (sought, *keys[:5]):
                start = f"{key} ".encode()
                found = list(lines_of(descriptor, path.stat().st_size, start))
                assert found == [one for one in lines if one.startswith(start)]
        finally:
            os.close(descriptor)

    @given(numbers=st.lists(st.integers(0, 20), max_size=40), sought=st.sets(st.integers(0, 25), max_size=25))
    @pytest.mark.parametrize("worth", [1, 1 << 30])
    def test_many_at_once(self, tmp_path_factory, worth, numbers, sought):
        """With few URLs each is searched, with many the file is read: both find all records of each."""
        folder = tmp_path_factory.mktemp("job")
        lines = sorted(_indexed(number, offset) for offset, number in enumerate(numbers))
        (folder / "warc").mkdir()
        (folder / "warc/x.cdxj").write_text("".join(lines))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(file_search, "WORTH", worth)
            urls = {f"http://a.test/{number}": number for number in sought}
            found = Indexes(folder, {"warc/x.cdxj": 1}).entries_of(urls)

        assert {url: sorted(one.offset for one in entries) for url, entries in found.items()} == {
            url: [offset for offset, other in enumerate(numbers) if other == number] for url, number in urls.items()
        }

    def test_an_index_that_cannot_be_read(self, tmp_path):
        """It is named, and the others are searched."""
        (tmp_path / "warc/x.cdxj").mkdir(parents=True)
        (tmp_path / "warc/y.cdxj").write_text(_indexed(1, 7))
        indexes = Indexes(tmp_path, {"warc/x.cdxj": 1, "warc/y.cdxj": 1})

        assert [one.offset for one in indexes.entries_of(["http://a.test/1"])["http://a.test/1"]] == [7]
        assert [line.partition(":")[0] for line in indexes.unread] == ["warc/x.cdxj"]

    @given(data=st.binary(max_size=300), sought=KEYS)
    def test_a_file_of_any_bytes_ends_the_search(self, tmp_path_factory, data, sought):
        """A file of anything ends the search."""
        path = written(tmp_path_factory.mktemp("index"), data)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            list(lines_of(descriptor, len(data), sought.encode()))
        finally:
            os.close(descriptor)


def _indexed(number, offset):
    """A line of an index."""
    values = {"url": f"http://a.test/{number}", "length": "9", "offset": f"{offset}", "filename": "x.warc.gz"}
    return f"test,a)/{number} 20260102030405 {json.dumps(values)}\n"


class TestPieces:
    @given(
        lines=st.lists(st.binary(max_size=90).map(lambda one: one.replace(b"\n", b"")), max_size=40),
        most=st.none() | st.integers(0, 900),
    )
    def test_from_the_end(self, tmp_path_factory, lines, most):
        """Pieces are whole lines, the last first, and together the last bytes of the file; None: all."""
        data = b"".join(one + b"\n" for one in lines)
        path = written(tmp_path_factory.mktemp("log"), data)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            pieces = list(pieces_from_end(descriptor, len(data), most))
        finally:
            os.close(descriptor)

        assert all(data[at : at + len(piece)] == piece for at, piece in pieces)
        together = b"".join(piece for _, piece in reversed(pieces))
        assert data.endswith(together)
        assert not together or len(together) == len(data) or data[-len(together) - 1 : -len(together)] == b"\n"
        if most is None or most >= len(data):
            assert together == data
        else:
            assert len(together) <= most


URLS = [f"http://a.test/{name}" for name in ("", "x", "x/y", "x?y=1", "longer/path/here.html", "€")]


def logged(numbers):
    """A log of these URLs, a second apart."""
    return b"".join(
        line(1_700_000_000.0 + second, Link(URLS[number]), Outcome(404 + second % 2), None, [])
        for second, number in enumerate(numbers)
    )


class TestLogs:
    @given(numbers=st.lists(st.integers(0, 5), max_size=30), many=st.booleans(), quick=st.integers(0, 3000))
    def test_looking_from_the_end(self, tmp_path_factory, numbers, many, quick):
        """The lines of each URL within the bytes looked at are found in their order, however many are asked for."""
        data = logged(numbers)
        log = LogFile(written(tmp_path_factory.mktemp("log"), data), len(data), 3)
        urls = URLS + [f"http://b.test/{number}" for number in range(9)] if many else URLS
        looked = log.look(urls, quick=quick)

        end = data[len(data) - looked.looked :]
        wanted = Counter(one.split()[3] for one in end.splitlines())
        assert {url: len(lines) for url, lines in looked.lines.items() if lines} == {
            url: wanted[visible] for url in URLS if (visible := url.replace("€", "%E2%82%AC").encode()) in wanted
        }
        assert looked.whole is (looked.looked == len(data))
        for lines in looked.lines.values():
            assert list(lines) == sorted(lines)

    @given(numbers=st.lists(st.integers(0, 4), min_size=1, max_size=60), place=st.integers(0, 59))
    def test_near_a_time(self, tmp_path_factory, numbers, place):
        """The line of a URL is found by its time, though no other part of the log is looked at."""
        place %= len(numbers)
        data = logged([*[5] * 80, *numbers, *[5] * 80])
        log = LogFile(written(tmp_path_factory.mktemp("log"), data), len(data), 3)
        url = URLS[numbers[place]]
        looked = log.look([url], quick=0)
        lines = data.splitlines()
        log.near(looked, url, lines[80 + place].split()[0].decode()[:19])

        found = [log_line(one) for one in looked.lines[url].values()]
        assert [one.url for one in found if one] == [url] * len(found)
        assert lines[80 + place] in looked.lines[url].values()

    def test_a_url_in_another_field_is_none(self, tmp_path):
        """A line of another page that was found on it is not its line."""
        data = line(0.0, Link("http://a.test/y", "L", "http://a.test/x", "http://a.test/x"), Outcome(404), None, [])
        log = LogFile(written(tmp_path, data), len(data), 3)

        assert log.look(["http://a.test/x"]).lines == {"http://a.test/x": {}}

    def test_what_came_after_the_checkpoint(self, tmp_path):
        """Only the noted bytes count: the rest is cut off by the next start."""
        data = logged([0, 1])
        log = LogFile(written(tmp_path, data), len(data) // 2, 3)

        assert [len(lines) for lines in log.look(URLS[:2]).lines.values()] == [1, 0]

    def test_a_missing_log(self, tmp_path):
        """Nothing is found in a log that was taken away."""
        assert LogFile(tmp_path / "no", 100, 3).look(URLS).lines == {url: {} for url in URLS}
