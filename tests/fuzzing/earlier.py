"""Targets: what an earlier crawl left, and what servers say of how long their answers hold."""

from tests.fuzzing.target import Target
from tests.support.warc_crawl import exchange
from webcrawl.net.http_request import RequestWriter, parse_target
from webcrawl.net.robots_entry import DAY, HOUR, LONGEST_ETAG, head_of, look
from webcrawl.store.jobdir.index_line import BadLine, read_line

LINE = (
    b'test,a)/x 20260102030405 {"url": "http://a.test/x", "mime": "text/html", "status": "200", '
    b'"digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "9", "offset": "17", "filename": "f.warc.gz"}\n'
)
CDX = b"test,a)/x 20260102030405 http://a.test/x text/html 200 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 9 17 f.warc.gz\n"
WORDS = [
    b"max-age=",
    b"no-cache",
    b", ",
    b'"',
    b"W/",
    b" GMT",
    b"Mon, 01 Jun 2026 00:00:00",
    b"0",
    b"\xff",
]
WRITER = RequestWriter("webcrawl")


def cdxj(data: bytes) -> None:
    """A line is read, is none of ours, or is refused; what was read fits into records and logs."""
    try:
        line = read_line(data)
    except BadLine:
        return
    if line is not None:
        assert line.url.isascii()
        assert " " not in line.url
        assert len(line.date) == len("2026-01-02T03:04:05Z")
        assert line.offset >= 0
        assert line.digest == "" or (
            line.digest.startswith(("sha1:", "sha256:")) and line.digest.isascii()
        )


def freshness(data: bytes) -> None:
    """What is sent back can be sent; the next look comes within an hour and a day."""
    etag, _, rest = data.partition(b"|")
    modified, _, said = rest.partition(b"|")
    head = head_of(
        exchange(headers=[(b"ETag", etag), (b"Last-Modified", modified), (b"Cache-Control", said)])
    )
    assert all(len(value) <= LONGEST_ETAG for value in head.validators)
    WRITER.head(parse_target("http://a.test/robots.txt"), head.validators.headers, keep=False)
    for changed in (True, False):
        assert HOUR <= look(0.0, None, changed=changed, head=head, sitemaps=None).soon <= DAY


TARGETS = [
    Target(
        "cdxj",
        cdxj,
        [LINE, CDX],
        [b'"offset": ', b'"status": ', b"\\u00e9", b"\xff", b"{}", b" "],
    ),
    Target(
        "freshness",
        freshness,
        [b'"1"|Mon, 01 Jun 2026 00:00:00 GMT|max-age=60, no-cache', b'W/"x"||private, max-age="9"'],
        WORDS,
    ),
]
