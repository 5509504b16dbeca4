"""Archives of other crawlers: payloads known by SHA-256, and records that refer to archives not
known here.
"""

import gzip
from base64 import b32encode
from hashlib import sha1, sha256

import pytest

from tests.store.jobdir.test_index_line import line
from tests.support.archive_files import gzipped, record, response
from tests.support.warc_crawl import exchange
from webcrawl.base.model import EarlierCapture
from webcrawl.record.since.earlier import EarlierCaptures
from webcrawl.record.since.index import EarlierIndex
from webcrawl.store.disk import Disk

URL, BODY = "http://a.test/", b"<p>text"
HEX, HEX1 = sha256(BODY).hexdigest(), sha1(BODY, usedforsecurity=False).hexdigest()
DIGESTS = [
    f"sha256:{HEX}",
    f"sha-256:{HEX}",
    f"sha256:{b32encode(bytes.fromhex(HEX)).decode()}",
    f"sha1:{HEX1}",
]
FIRST, DATE = "http://a.test/first", "2025-05-06T07:08:09Z"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
REPEAT = {
    "WARC_Profile": IDENTICAL,
    "WARC_Payload_Digest": DIGESTS[0],
    "WARC_Refers_To": "<urn:test:first>",
    "WARC_Refers_To_Target_URI": FIRST,
    "WARC_Refers_To_Date": DATE,
}


@pytest.fixture(name="earlier")
def _earlier(tmp_path):
    """What an archive of these records has, by an index that has these digests of them."""
    made = []

    def make(*written):
        (tmp_path / "f.warc.gz").write_bytes(gzipped([one for one, _ in written]))
        at, lines = 0, []
        for one, (digest, mime) in written:
            lines.append(line(url=URL, digest=digest, mime=mime).replace(b'"17"', b'"%d"' % at))
            at += len(gzipped([one]))
        (tmp_path / "f.cdxj").write_bytes(b"".join(lines))
        (tmp_path / "state").mkdir()
        make.index = EarlierIndex(Disk(), tmp_path / "state", [tmp_path / "f.cdxj"])
        made.append(EarlierCaptures(make.index, 10_000))
        for _ in make.index.open():
            pass
        return made[-1]

    yield make
    for one in made:
        one.close()


def whole(digest, url=URL, body=BODY):
    return response(url, body, head='ETag: "1"', WARC_Payload_Digest=digest), (digest, "text/html")


def repeat(head=b"HTTP/1.1 200 OK\r\n\r\n", **changes):
    """A revisit record."""
    fields = {**REPEAT, **changes}
    return record("revisit", URL, head, **fields), (
        fields["WARC_Payload_Digest"] or DIGESTS[0],
        "warc/revisit",
    )


@pytest.mark.parametrize("digest", DIGESTS)
def test_a_payload_is_known_by_the_digest_that_the_archive_has(earlier, digest):
    """SHA-256 or SHA-1, in hexadecimal or base 32.

    The reference repeats the digest as it is written there.
    """
    found = earlier(whole(digest)).of_answer(exchange("http://b.test/", BODY))

    assert found == EarlierCapture(f"<urn:test:{URL}>", URL, "2026-01-02T03:04:05Z", digest)


def test_another_payload_is_not_known(earlier):
    """Whatever the digest."""
    assert earlier(whole(DIGESTS[0])).of_answer(exchange(URL, b"other")) is None


def test_a_body_may_be_stored_decoded_under_its_sha256(earlier):
    """Crawlers in browsers do so; the reference then says nothing of the payload's bytes."""
    coded = exchange(URL, gzip.compress(BODY))
    coded.body = BODY

    assert earlier(whole(DIGESTS[0])).of_answer(coded).identical is False


def test_a_page_with_a_sha256_gets_conditions(earlier):
    """Its record is compared with the index by that digest."""
    archive = earlier(whole(DIGESTS[0]))
    known = archive.of_url(URL)

    assert known.conditions
    assert known.complete_answer(exchange(URL, BODY)).state.refers == known.reference
    assert known.complete_answer(exchange(URL, b"other")).state.refers is None
    assert archive.lost == 0


@pytest.mark.parametrize(("name", "digest_of"), [("sha1", sha1), ("sha256", sha256)])
def test_a_digest_of_the_chunks(earlier, name, digest_of):
    """Wget and warcio have the transfer coding in the payload's digest: the page is known, and its
    body decides.
    """
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    digest = f"{name}:{digest_of(chunks).hexdigest()}"
    written = response(
        URL, chunks, head='ETag: "1"\r\nTransfer-Encoding: chunked', WARC_Payload_Digest=digest
    )
    archive = earlier((written, (digest, "text/html")))
    known = archive.of_url(URL)

    assert known.conditions == [(b"If-None-Match", b'"1"')]
    assert (known.page.body, known.reference.digest) == (BODY, digest)
    assert known.complete_answer(exchange(URL, BODY)).state.refers == known.reference._replace(
        identical=False
    )
    assert known.complete_answer(exchange(URL, b"other")).state.refers is None
    assert archive.lost == 0


def test_the_repeat_of_another_request(earlier, tmp_path):
    """A payload that came again in answer to a POST gives the page no validators."""
    again = repeat(b'HTTP/1.1 200 OK\r\nETag: "2"\r\n\r\n', WARC_Record_ID="<urn:r>")
    sent = record("request", URL, b"POST / HTTP/1.1\r\n\r\n", WARC_Concurrent_To="<urn:r>")
    archive = earlier(whole(DIGESTS[0]), again)
    assert archive.of_url(URL).conditions == [(b"If-None-Match", b'"2"')]
    with (tmp_path / "f.warc.gz").open("ab") as file:
        file.write(gzipped([sent]))

    assert archive.of_url(URL).conditions == []


def test_a_damaged_record_with_a_sha256_leaves_nothing(earlier, caplog):
    """What is there has a different payload than the index says."""
    assert earlier(whole(DIGESTS[0], body=b"broken")).of_url(URL).reference is None
    assert " has a different payload; " in caplog.text


def test_sha256_is_computed_only_if_an_index_has_one(earlier):
    """A crawl that compares with SHA-1 alone looks for nothing else."""
    earlier(whole(DIGESTS[3]))
    assert earlier.index.algorithms == {"sha1"}


def test_what_a_revisit_record_refers_to_is_referred_to(earlier):
    """The archive of the original is not known here, and the record says where the payload is."""
    found = earlier(repeat()).of_answer(exchange("http://b.test/", BODY))

    assert found == EarlierCapture("<urn:test:first>", FIRST, DATE, DIGESTS[0])


def test_an_original_goes_before_what_refers_to_it(earlier):
    """Though it is as old, and comes first."""
    found = earlier(whole(DIGESTS[0]), repeat()).of_answer(exchange("http://b.test/", BODY))

    assert found.url == URL


@pytest.mark.parametrize(
    "changes",
    [
        {"WARC_Refers_To_Target_URI": None},
        {"WARC_Refers_To_Date": None},
        {"WARC_Refers_To_Date": "today\rX: y"},
        {"WARC_Payload_Digest": None},
        {"WARC_Payload_Digest": DIGESTS[3]},
        {"WARC_Profile": IDENTICAL.replace("identical-payload-digest", "server-not-modified")},
    ],
    ids=["no URL", "no date", "strange date", "no digest", "another digest", "not modified"],
)
def test_a_revisit_record_that_does_not_say_is_not_used(earlier, changes):
    """The payload is stored again."""
    one, (_, mime) = repeat(**changes)

    assert earlier((one, (DIGESTS[0], mime))).of_answer(exchange(URL, BODY)) is None


def test_a_revisit_line_alone_is_not_used(earlier, tmp_path):
    """Nobody could replay a reference to a record that has no payload itself."""
    archive = earlier(repeat())
    (tmp_path / "f.warc.gz").unlink()

    assert archive.of_answer(exchange(URL, BODY)) is None
