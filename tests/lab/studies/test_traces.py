"""Traces are read from whatever has links, in their order."""

import gzip
import io
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from webcrawl.base.zstd_frame import zstd
from webcrawl.lab.studies.traces import NoTrace, links_of, read_trace
from webcrawl.store.jobdir.log_lines import MAGIC, UrlTrace

CRAWL_LOG = (
    "2026-11-21T10:00:00.000Z   200        120 http://a.test/{} {} {} text/html #001 20261121100000000+12 sha1:X"
    " http://a.test/ -\n"
)
LINES = (
    ("robots.txt", "P", "-"),
    ("x", "-", "-"),
    ("y", "L", "-"),
    ("x", "-", "-"),
    ("z", "L", "-"),
)
FORMS = {
    "text": "x\ny\nx\nz\n",
    "numbers": "# of URLs\n7\n8\n7\n9\n",
    "edges by tabs": "p\tx\np\ty\np\tx\nq\tz\n",
    "edges by blanks": "1 7\n1 8\n1 7\n2 9\n",
    "edges by commas": "1,7\n1,8\n1,7\n2,9\n",
    "links.log": "".join(f"http://p/\tx\thttp://{name}/\ta\ttext\n" for name in "xyxz"),
    "crawl.log": "".join(CRAWL_LOG.format(*line) for line in LINES),
    "ends of DOS": "x\r\ny\r\nx\r\nz\r\n",
}


def written(path, text, suffix=""):
    data = text.encode()
    packed = {"": data, ".gz": gzip.compress(data), ".zst": zstd.compress(data)}
    path = path.with_name(path.name + suffix)
    path.write_bytes(packed[suffix])
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path, form, suffix):
    """Every form has the same look-ups, also packed: URLs get numbers as they come."""
    trace = read_trace([written(tmp_path / "trace.txt", FORMS[form], suffix)])
    assert trace.lookups.tolist() == [0, 1, 0, 2]
    assert trace.urls == 3


def test_pages(tmp_path):
    """The links of a page are one run in an edge list; where pages are not known, each line is one."""
    assert read_trace([written(tmp_path / "edges", FORMS["edges by tabs"])]).pages.tolist() == [
        0,
        3,
    ]
    assert read_trace([written(tmp_path / "text", FORMS["text"])]).pages.tolist() == [0, 1, 2, 3]


def test_several_files(tmp_path):
    """Several traces are one after the other, with the same numbers for the same URLs."""
    first, second = written(tmp_path / "first", "x\ny\n"), written(tmp_path / "second", "y\nz\n")
    assert read_trace([first, second]).lookups.tolist() == [0, 1, 1, 2]


def test_a_graph_is_crawled(tmp_path):
    """Breadth first from the first page; pages that nothing leads to are never met."""
    graph = "a\tc\na\tb\nz\ta\nb\td\nc\ta\n"
    trace = read_trace([written(tmp_path / "edges", graph)], crawled=True)
    assert trace.lookups.tolist() == [0, 1, 2, 3]  # c, b; then c's a, and b's d
    assert trace.pages.tolist() == [0, 2, 3]


def test_url_trace(tmp_path):
    """What URL_TRACE writes is read with its pages; an end that was truncated is left out."""
    file = io.BytesIO(MAGIC)
    file.seek(0, io.SEEK_END)
    numbers = {"x": 2**64 - 1, "y": 0, "z": 5}
    trace = UrlTrace(lambda urls: [numbers[url] for url in urls], file.write)
    trace.record_links("p", ["x", "y"])
    trace.record_links("q", [])
    trace.record_links("r", ["y", "z"])
    path = tmp_path / "url.trace"
    path.write_bytes(file.getvalue() + b"abc")
    found = read_trace([path])
    assert found.lookups.tolist() == [0, 1, 1, 2]
    assert found.pages.tolist() == [0, 2, 2]
    assert found.urls == 3


def test_what_others_are_sent(tmp_path):
    """The cache before the splitter is asked for links from our pages to hosts of others."""
    pairs = [
        ("http://a.test/", "http://b.test/1"),
        ("http://a.test/", "http://a.test/2"),
        ("http://b.test/1", "http://a.test/2"),
    ]
    pairs += [("http://a.test/2", "http://b.test/1")]
    path = written(tmp_path / "edges", "".join(f"{page}\t{link}\n" for page, link in pairs))
    trace = read_trace([path], {"a.test": 0, "b.test": 1}.__getitem__)
    assert trace.crossing(0).lookups.tolist() == [0, 0]
    assert trace.crossing(0).pages.tolist() == [0, 1]
    assert trace.crossing(1).lookups.tolist() == [0]


@pytest.mark.parametrize("data", [b"\0\1\2", b"\xff\xfe\xfa", MAGIC[:4] + b"\0"])
def test_no_trace(tmp_path, data):
    """What is no text is refused."""
    path = tmp_path / "trace"
    path.write_bytes(data)
    with pytest.raises(NoTrace, match="neither a trace nor a text"):
        read_trace([path])


@pytest.mark.parametrize(
    "name",
    ["no.txt", "truncated.gz", "truncated.zst", "wrong.gz", "wrong.zst", "folder", "no.parquet"],
)
def test_unreadable(tmp_path, name):
    """A file that is missing or damaged is an error that names it."""
    path = tmp_path / name
    if name.startswith("truncated"):
        written(tmp_path / "truncated", "x\n" * 1000, path.suffix)
        path.write_bytes(path.read_bytes()[:-9])
    elif name.startswith("wrong"):
        written(tmp_path / "wrong", "x\n" * 1000, path.suffix)
        path.write_bytes(path.read_bytes()[:10] + b"\xff" * 20)
    elif name == "folder":
        path.mkdir()
    elif name == "no.parquet":
        path.write_bytes(b"no table")
    with pytest.raises(NoTrace, match=name):
        read_trace([path])


def test_a_crawl_without_what_is_needed(tmp_path):
    """A crawl that lacks all that may be read is told what that is: a log of pages has no links of
    theirs.
    """
    (tmp_path / "logs").mkdir()
    written(tmp_path / "logs/crawl.log", "")
    with pytest.raises(NoTrace, match=r": has none of tables/links-\*\.parquet, logs/links\.log$"):
        list(links_of([tmp_path]))


def table(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_a_table_of_links(tmp_path):
    """The rows of tables/links-*.parquet: a page, and what it links to; a row without a link has no
    look-up.
    """
    ends = {"from_url": ["p", "p", "p", "q", "q"], "to_url": ["x", "y", "x", None, "z"]}
    trace = read_trace([table(tmp_path / "links-1.parquet", kind=["a"] * 5, **ends)])
    assert (trace.lookups.tolist(), trace.pages.tolist()) == ([0, 1, 0, 2], [0, 3])


@pytest.mark.parametrize(
    "columns", [{"url": ["p"]}, {"from_url": ["p"]}, {"from_url": [["p"]], "to_url": [[1]]}]
)
def test_another_table(tmp_path, columns):
    """One without the texts `from_url` and `to_url` is no table of links."""
    with pytest.raises(NoTrace, match="not a table of links"):
        read_trace([table(tmp_path / "pages.parquet", **columns)])


def test_a_comma_may_be_part_of_a_url(tmp_path):
    """A line of which one half alone has a scheme is a URL and no edge."""
    text = "http://a/x,y\nhttp://b/\nhttp://a/x,y\n"
    assert read_trace([written(tmp_path / "text", text)]).lookups.tolist() == [0, 1, 0]


@pytest.mark.parametrize("text", ["p\tx\t3\np\ty\t1\n", "1 2 0.5\n", "http://a/x y\n"])
def test_other_columns(tmp_path, text):
    """A first line of several columns that is no edge is refused: each line would count as one URL."""
    with pytest.raises(NoTrace, match=r"columns, but an edge needs two"):
        read_trace([written(tmp_path / "text", text)])


@pytest.mark.parametrize("line", ["b\ta", "b", "a,b,c", "http://a/,http://b/?x=1,2"])
def test_another_line_among_edges(tmp_path, line):
    """A line that is no edge as the first one is ends the reading: no link is left out, or
    truncated at the wrong place.
    """
    with pytest.raises(
        NoTrace, match=r"is not an edge like those before: a page and a link, separated by a comma"
    ):
        read_trace([written(tmp_path / "edges", f"a,b\n# a comment\n\n{line}\n")])


def test_a_pipe(tmp_path):
    """What can be read only once is refused, before anything of it is gone."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NoTrace, match="pipe: is not a regular file"):
        read_trace([tmp_path / "pipe"])


@pytest.mark.parametrize("words", [b"", b"\1\2\3", bytes(16)])
def test_fingerprints_of_nothing(tmp_path, words):
    """A trace of a crawl that has not found any link yet is an error, like a text without lines."""
    (tmp_path / "url.trace").write_bytes(MAGIC + words)
    with pytest.raises(NoTrace, match="no links"):
        read_trace([tmp_path / "url.trace"])


def test_no_link_crosses(tmp_path):
    """Links within the hosts of one drone alone are no trace for the cache before the splitter."""
    trace = read_trace([written(tmp_path / "edges", "http://a/ http://a/x\n")], lambda _: 0)
    with pytest.raises(NoTrace, match="no link leads"):
        trace.crossing(0)


def test_fingerprints_are_read_alone(tmp_path):
    """Those of two crawls cannot be compared, and have no hosts."""
    path = tmp_path / "url.trace"
    path.write_bytes(MAGIC)
    with pytest.raises(NoTrace, match="read alone"):
        read_trace([path, path])
    with pytest.raises(NoTrace, match="only fingerprints"):
        read_trace([path], lambda _: 0)
