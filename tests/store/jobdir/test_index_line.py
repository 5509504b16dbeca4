"""What a later crawl reads of a line of CDXJ, whoever wrote it."""

import json
from base64 import b32decode, b32encode
from hashlib import sha256

import pytest

from webcrawl.store.jobdir.index_line import BadLine, digest_key, read, read_line, url_key

DIGEST = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def line(
    status="200", url="http://a.test/x", digest=DIGEST, mime="text/html", stamp="20260102030405"
):
    values = f'"mime": "{mime}", "status": "{status}", "digest": "{digest}", "length": "9", "offset": "17"'
    return f'test,a)/x {stamp} {{"url": "{url}", {values}, "filename": "f.warc.gz"}}\n'.encode()


def test_a_line_says_what_was_captured_and_where_it_lies():
    """URL, time, status, digest, file and offset are those of the line, and how the digest is
    written there.
    """
    assert read_line(line()) == (
        "http://a.test/x",
        "20260102030405",
        200,
        DIGEST,
        False,
        "f.warc.gz",
        17,
        DIGEST,
    )


def test_its_date_is_that_of_a_record():
    """The stamp as WARC-Date has it, in whole seconds."""
    assert read_line(line()).date == "2026-01-02T03:04:05Z"


HEX = b32decode(DIGEST[5:]).hex()
SHA256 = sha256(b"")
HEX256, BASE32 = SHA256.hexdigest(), b32encode(SHA256.digest()).decode()


@pytest.mark.parametrize("digest", [DIGEST, DIGEST[5:], DIGEST.lower(), f"sha1:{HEX}", HEX])
def test_a_sha1_has_one_form(digest):
    """With and without its name, in either case, in base 32 and in hexadecimal."""
    assert read_line(line(digest=digest)).digest == DIGEST


@pytest.mark.parametrize(
    "digest",
    [
        f"sha256:{HEX256}",
        f"sha-256:{HEX256}",
        HEX256.upper(),
        f"sha256:{BASE32}",
        BASE32.strip("=").lower(),
    ],
)
def test_a_sha256_has_one_form(digest):
    """That of crawlers in browsers; others write base 32, as they do of SHA-1."""
    assert read_line(line(digest=digest)).digest == f"sha256:{HEX256}"


@pytest.mark.parametrize(
    ("digest", "written"),
    [
        (f"sha1:{HEX}", f"sha1:{HEX}"),
        (HEX256, f"sha256:{HEX256}"),
        (f"sha-256:{HEX256}", f"sha-256:{HEX256}"),
    ],
)
def test_a_digest_is_known_as_it_is_written(digest, written):
    """Programs that replay compare it as a text.

    Its algorithm is added where the index leaves that out.
    """
    assert read_line(line(digest=digest)).written == written


CAPTURE = f"test,a)/x 20260102030405 http://a.test/x text/html 200 {DIGEST[5:]}"


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ("- - 9 17 f.warc.gz", ("f.warc.gz", 17)),
        ("- 17 f.warc.gz", ("f.warc.gz", 17)),
        ("- - 17 f.warc.gz", ("f.warc.gz", 17)),
        ("- - 9 17 f.warc.gz 8 3 whole.warc.gz", ("f.warc.gz", 17)),
        ("9", ("-", 0)),
    ],
    ids=["11", "9", "10", "14", "7"],
)
def test_a_line_may_be_cdx(columns, place):
    """Of 9 to 11 columns, or 14 with the place of a revisit record's original; servers may give
    none.
    """
    found = read_line(f"{CAPTURE} {columns}\n".encode())

    assert (found.url, found.stamp, found.status, found.digest) == read_line(line())[:4]
    assert (found.file, found.offset) == place


def test_another_digest_is_none():
    """What is of neither algorithm cannot be compared with a payload's."""
    found = read_line(line(digest="md5:abc"))

    assert (found.digest, found.has_payload) == ("", False)


@pytest.mark.parametrize(
    ("changes", "has"), [({}, True), ({"status": "404"}, False), ({"mime": "warc/revisit"}, False)]
)
def test_only_a_success_of_its_own_has_a_payload(changes, has):
    """To a revisit record, or to an error, no revisit record refers for its payload."""
    assert read_line(line(**changes)).has_payload is has


CDX_REVISIT = CAPTURE.replace("text/html 200", "warc/revisit -").encode() + b" - - 9 17 f.warc.gz\n"
CDX_HEADER = b" CDX N b a m s k r M S V g\n"
POST = line().replace(b'"mime"', b'"method": "POST", "mime"')
UNMODIFIED = line(status="304", mime="warc/revisit", digest="-")
ALONE = line(status="304")


@pytest.mark.parametrize(
    "data",
    [
        b"!meta {}\n",
        b"\n",
        line(status="-"),
        line(status=""),
        UNMODIFIED,
        ALONE,
        POST,
        CDX_HEADER,
        CDX_REVISIT,
    ],
)
def test_what_is_no_capture_over_http_is_left_out(data):
    """Headers of the file, records without a status, answers to a POST, and pages that were
    unmodified: the capture before them stands.
    """
    assert read_line(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b"garbage\n",
        CAPTURE.encode()[:-33] + b"\n",
        line()[:60],
        line().replace(b'"17"', b'"x"'),
        line().replace(b'"17"', b'"-1"'),
        line().replace(b'"url"', b'"uri"'),
        line().replace(b'"http://a.test/x"', b"7"),
        line(stamp="2026"),
        b"\xff" * 80,
        pytest.param(line(status="9" * 5000), id="a status of 5000 digits"),
        line(status="2000"),
        line().replace(b'"17"', b"Infinity"),
        line().replace(b'"17"', b'"%d"' % 10**30),
        pytest.param(line().replace(b'"17"', b"[" * 100_000 + b"]" * 100_000), id="deep"),
        line().replace(b'"f.warc.gz"', b'"f\\u0000"'),
        line().replace(b'"f.warc.gz"', b'"\\ud800"'),
        line().replace(b'"f.warc.gz"', b"null"),
    ],
)
def test_what_is_no_line_is_told(data):
    """Bytes that cannot be read as a line raise BadLine, and nothing else."""
    with pytest.raises(BadLine):
        read_line(data)


def test_urls_and_digests_have_keys_of_their_own():
    """The same text as a URL and as a digest has two keys."""
    assert url_key(DIGEST) != digest_key(DIGEST)


# -- Lines of an archive's index, whoever has written them.

GOOD = {
    "url": "http://a.test/",
    "status": "200",
    "offset": "7",
    "length": "5",
    "filename": "warc/a.warc.gz",
}


def own_line(**more):
    return b"test,a)/ 20260101000000 " + json.dumps(GOOD | more).encode() + b"\n"


class TestRead:
    def test_a_line(self):
        """A line says where the record of a URL lies."""
        found = read(own_line())

        assert (found.url, found.file, found.offset, found.length) == (
            "http://a.test/",
            "a.warc.gz",
            7,
            5,
        )

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
        """What is not a URL, no place in a file, or no name of one is a bad line: nothing else is
        raised.
        """
        with pytest.raises(BadLine):
            read(own_line(**more))
