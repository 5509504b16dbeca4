"""What is known of a URL from an earlier crawl's archive, and what a 304 becomes."""

import gzip
from dataclasses import replace

import pytest

from tests.store.jobdir.test_index_line import line
from tests.support.archive_files import gzipped, plain, response, zstd
from tests.support.warc_crawl import Archive, chunked, exchange, files
from webcrawl.base.digest import SHA1
from webcrawl.base.model import EarlierCapture, PageState
from webcrawl.record.archived_answers import page_after_304
from webcrawl.record.since.cdx_server import digests_of
from webcrawl.record.since.earlier import EarlierCaptures, LatestCapture
from webcrawl.record.since.index import EarlierIndex
from webcrawl.record.since.sources import sources
from webcrawl.store.disk import Disk

URL = "http://a.test/"
HEAD = (
    b'HTTP/1.1 200 OK\r\nETag: "1"\r\nLast-Modified: Thu, 01 Jun 2023 00:00:00 '
    b"GMT\r\nContent-Type: text/html\r\n\r\n"
)
TRUNCATE = 10_000


def page(body=b"<a href=/x>", head=HEAD, **changes):
    return exchange(URL, body, head=head, **changes)


def not_modified(
    referred, head=b'HTTP/1.1 304 Not Modified\r\nETag: "2"\r\nContent-Type: text/plain\r\n\r\n'
):
    """The exchange of a crawl that got a 304."""
    answer = exchange(
        URL,
        b"",
        head=head,
        status=304,
        headers=[(b"ETag", b'"2"'), (b"Content-Type", b"text/plain")],
    )
    return replace(
        page_after_304(page(), answer), unmodified=True, state=PageState(refers=referred)
    )


def test_the_page_of_a_304_has_its_own_names():
    """What was found of the headers of the answer is not taken for those of the page."""
    answer = exchange(
        URL, b"", status=304, headers=[(b"Retry-After", b"5"), (b"Content-Length", b"0")]
    )
    assert answer.names == {b"retry-after", b"content-length"}

    assert page_after_304(page(), answer).names == {name.lower() for name, _ in page().headers} | {
        b"retry-after"
    }


@pytest.fixture(name="earlier")
def _earlier(tmp_path):
    """The captures of crawls that wrote these exchanges, one crawl each."""
    made = []

    def make(*crawls, truncate=TRUNCATE, **options):
        for number, written in enumerate(crawls):
            archive = Archive(tmp_path / f"job{number}", seed=number + 1, **options)
            for one in written:
                archive.write(one)
            archive.stop()
        names = ",".join(str(tmp_path / f"job{number}") for number in range(len(crawls)))
        (tmp_path / "state").mkdir()
        index = EarlierIndex(Disk(), tmp_path / "state", sources(names, tmp_path / "new").files)
        for _ in index.open():
            pass
        made.append(EarlierCaptures(index, truncate))
        return made[-1]

    yield make
    for one in made:
        one.close()


def later(one, days=1):
    return replace(one, started=one.started + 86_400 * days)


def test_a_page_has_validators_and_its_body(earlier):
    """Entity tag and date as they were sent; the body as it was parsed."""
    known = earlier([page()]).of_url(URL)

    assert known.conditions == [
        (b"If-None-Match", b'"1"'),
        (b"If-Modified-Since", b"Thu, 01 Jun 2023 00:00:00 GMT"),
    ]
    assert known.page.body == b"<a href=/x>"
    assert known.reference.url == URL
    assert known.reference.date == "2023-11-14T22:13:20.250Z"
    assert known.reference.identifier.startswith("<urn:uuid:")


def test_a_transfer_coding_is_undone(earlier):
    """The payload is what its digest is of."""
    body, head = b"<p>" * 50, HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    known = earlier([replace(chunked(URL, body), head=head)]).of_url(URL)

    assert known.page.payload == body


@pytest.mark.parametrize(
    "one",
    [
        page(truncated="length"),
        page(b"x" * (TRUNCATE + 1)),
        page(head=b"HTTP/1.1 200 OK\r\n\r\n"),
        page(b"", head=HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\n")),
        page(head=HEAD.replace(b'"1"', b"*").replace(b"Last-Modified", b"X")),
        page(head=HEAD.replace(b'"1"', b'"' + b"1" * 2000 + b'"').replace(b"Last-Modified", b"X")),
    ],
    ids=[
        "truncated",
        "larger than now wanted",
        "no validators",
        "answer to HEAD",
        "no entity tag",
        "too long",
    ],
)
def test_what_a_304_could_not_be_made_a_page_of_gets_no_validators(earlier, one):
    """It is fetched whole; its digest is known all the same."""
    known = earlier([one]).of_url(URL)

    assert known.conditions == []
    assert known.reference.digest == one.digest


def test_an_archive_that_was_moved_away_leaves_digests(earlier, tmp_path, caplog):
    """No validators are sent, for the links of an unchanged page would be lost; told once, counted
    each time.
    """
    found = earlier([page()])
    for path in files(tmp_path / "job0"):
        path.rename(tmp_path / "away")

    assert [found.of_url(URL).conditions for _ in range(3)] == [[], [], []]
    assert found.of_digest(page().digest) == EarlierCapture(
        "", URL, "2023-11-14T22:13:20Z", page().digest
    )
    assert found.lost == 4
    assert [line.partition(".cdxj: ")[2] for line in caplog.messages] == [
        f"{path.name}: not found; pages whose earlier records are missing are fetched in full"
    ]


@pytest.mark.parametrize("at", [30, 500])
def test_a_damaged_record_leaves_nothing(earlier, tmp_path, at):
    """A record whose checksum is wrong is not believed, wherever it is, nor referred to: its
    payload is lost.
    """
    found = earlier([page(bytes(range(256)) * 20)])
    (path,) = files(tmp_path / "job0")
    data, place = bytearray(path.read_bytes()), found.of_url(URL)
    index = next((tmp_path / "job0" / "warc").glob("*.cdxj")).read_text()
    begin = int(index.partition('"offset": "')[2].partition('"')[0])
    data[begin + at] ^= 255
    path.write_bytes(data)

    assert place.conditions
    assert found.of_url(URL).reference is None
    assert found.of_digest(page(bytes(range(256)) * 20).digest) is None


@pytest.mark.parametrize("left", [b"", b"no archive", b"WARC/1.0\r\n"])
def test_an_archive_that_was_overwritten_leaves_nothing(earlier, tmp_path, left, caplog):
    """A payload of which the file is there, but not the record, is stored again when it comes."""
    found = earlier([page()])
    for path in files(tmp_path / "job0"):
        path.write_bytes(left)

    assert found.of_url(URL).reference is None
    assert (": the record is not at byte " in caplog.text) == bool(left)
    assert found.of_digest(page().digest) is None


@pytest.mark.parametrize(
    ("name", "pack"), [("f.warc.gz", gzipped), ("f.warc.zst", zstd), ("f.warc", plain)]
)
def test_archives_of_other_programs(tmp_path, name, pack):
    """Packed by gzip, by zstd or not at all, a record is found by the place in the index."""
    other, one = response("http://b.test/"), response(URL, head='ETag: "1"')
    (tmp_path / name).write_bytes(pack([other, one]))
    (tmp_path / "f.cdxj").write_bytes(
        line(url=URL, digest="-")
        .replace(b'"17"', b'"%d"' % len(pack([other])))
        .replace(b"f.warc.gz", name.encode())
    )
    (tmp_path / "state").mkdir()
    index = EarlierIndex(Disk(), tmp_path / "state", [tmp_path / "f.cdxj"])
    for _ in index.open():
        pass
    known = EarlierCaptures(index, TRUNCATE).of_url(URL)

    assert (known.page.body, known.validators.etag) == (b"<p>hello", b'"1"')
    index.close()


def test_fields_that_would_break_a_record_are_not_repeated(tmp_path):
    """Whoever wrote the earlier archive: what is no identifier, and no date, is left out."""
    strange = response(URL, WARC_Record_ID="<urn:a b\rc>", WARC_Date="today\rX: y")
    (tmp_path / "f.warc.gz").write_bytes(gzipped([strange]))
    (tmp_path / "f.cdxj").write_bytes(line(url=URL).replace(b'"17"', b'"0"'))
    (tmp_path / "state").mkdir()
    index = EarlierIndex(Disk(), tmp_path / "state", [tmp_path / "f.cdxj"])
    for _ in index.open():
        pass
    referred = EarlierCaptures(index, TRUNCATE).of_url(URL).reference

    assert (referred.identifier, referred.date) == ("", "2026-01-02T03:04:05Z")
    index.close()


def test_an_error_is_no_page(earlier):
    """A URL whose latest capture is an error is asked for as if it were new, whatever it was
    before.
    """
    found = earlier([page()], [later(page(status=404, head=HEAD.replace(b"200 OK", b"404 No")))])

    assert found.of_url(URL) is None
    assert found.of_url("http://other.test/") is None


def test_a_page_that_was_not_modified_last_time_is_read_from_the_first_crawl(earlier):
    """The revisit record leads to the original; the validators are those that the 304 brought."""
    referred = EarlierCapture("<urn:uuid:1>", URL, "2023-11-14T22:13:20.250Z", page().digest)
    known = earlier([page()], [later(not_modified(referred))]).of_url(URL)

    assert known.conditions[0] == (b"If-None-Match", b'"2"')
    assert known.page.body == b"<a href=/x>"
    assert known.page.content_type == "text/html"
    assert known.reference.date == "2023-11-14T22:13:20.250Z"


def test_without_the_first_crawl_such_a_page_is_as_new(earlier):
    """Nobody holds its payload, so nothing can refer to it."""
    found = earlier([not_modified(EarlierCapture("", URL, "2023-11-14T22:13:20Z", page().digest))])

    assert found.of_url(URL).reference is None
    assert found.of_digest(page().digest) is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, "changed"), (404, "gone"), (410, "gone"), (503, None), (403, None)],
)
def test_a_page_of_which_nothing_can_be_read_is_known_to_have_been_there(status, expected):
    """It counts as changed, because whether it is the same is not known; or as gone, if that is
    what its host says.
    """
    answer = replace(page(), status=status)

    assert LatestCapture(None).complete_answer(answer).state.since == expected
    assert answer.state.refers is None


def test_a_page_with_another_ones_payload_has_its_own_head(earlier):
    """A revisit of the same payload: its validators are its own, its body is the other's."""
    twin = replace(page(head=HEAD.replace(b'"1"', b'"twin"')), url="http://a.test/twin")
    twin.state.refers = EarlierCapture(
        "<urn:uuid:1>", URL, "2023-11-14T22:13:20.250Z", page().digest
    )
    known = earlier([page()], [later(twin)]).of_url("http://a.test/twin")

    assert known.validators.etag == b'"twin"'
    assert known.page.body == b"<a href=/x>"
    assert known.reference.url == URL


def test_a_payload_is_known_whatever_its_url(earlier):
    """The capture that a revisit record of another URL refers to."""
    referred = earlier([page()]).of_digest(page().digest)

    assert (referred.url, referred.digest) == (URL, page().digest)


def test_a_304_becomes_the_page(earlier):
    """Status, type, body and digest are the earlier page's; what came is the head of the 304, and
    no more.
    """
    known = earlier([page()]).of_url(URL)
    answer = exchange(
        URL, b"", head=b"HTTP/1.1 304 NM\r\n\r\n", status=304, headers=[(b"Date", b"now")]
    )
    made = known.complete_answer(answer)

    assert (made.status, made.content_type, made.body, made.wire) == (
        200,
        "text/html",
        b"<a href=/x>",
        b"",
    )
    assert (made.digest, made.head, made.unmodified) == (page().digest, answer.head, True)
    assert made.state.refers == known.reference
    assert made.header(b"date") == b"now"


def test_a_304_that_nobody_asked_for_stays_one():
    """To a request without a condition there is no page that it could stand for."""
    answer = exchange(URL, b"", status=304)

    assert LatestCapture(EarlierCapture("", URL, "", ""), page()).complete_answer(answer) is answer


def test_the_same_payload_refers_to_the_same_urls_capture(earlier):
    """An answer of 200 with the digest of the earlier one, whole and not empty."""
    known = earlier([page()]).of_url(URL)

    assert known.complete_answer(page()).state.refers == known.reference
    assert known.complete_answer(page(b"other")).state.refers is None
    assert known.complete_answer(page(truncated="length")).state.refers is None


CODED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
GZIP = [(b"Content-Type", b"text/html"), (b"Content-Encoding", b"gzip")]


def coded(body, mtime, **changes):
    """An answer whose payload depends on the time, and whose body does not."""
    packed = gzip.compress(body, mtime=mtime)
    return replace(page(packed, head=CODED, headers=GZIP, **changes), body=body)


def test_a_body_that_is_coded_anew_is_the_same(earlier):
    """The decoded body decides: gzip's header may have a time stamp."""
    known = earlier([coded(b"<p>text", 1)]).of_url(URL)

    assert known.conditions == []
    for at in (1, 2):
        assert known.complete_answer(
            coded(b"<p>text", at)
        ).state.refers == known.reference._replace(identical=at == 1)
    assert known.complete_answer(coded(b"<p>other", 1)).state.refers is None


def test_a_body_that_is_plain_now_is_not_the_same(earlier):
    """Its head, which names no coding, would go with the coded payload: nobody could read that."""
    known = earlier([coded(b"<p>text", 1)]).of_url(URL)

    assert known.complete_answer(page(b"<p>text")).state.refers is None


def test_a_body_under_another_coding_is_not_the_same(earlier):
    """Its head names one coding, and the payload of the earlier record has another."""
    known = earlier([coded(b"<p>text", 1)]).of_url(URL)
    answer = coded(b"<p>text", 2)

    assert (
        known.complete_answer(replace(answer, headers=[(b"Content-Encoding", b"br")])).state.refers
        is None
    )
    assert (
        known.complete_answer(
            replace(answer, headers=[(b"content-encoding", b" GZIP")])
        ).state.refers
        is not None
    )


def test_a_plain_body_that_is_coded_now_is_the_same(earlier):
    """Also if the earlier payload was the body itself."""
    known = earlier([page(b"<p>text")]).of_url(URL)

    assert known.complete_answer(coded(b"<p>text", 1)).state.refers == known.reference._replace(
        identical=False
    )


def test_what_refers_to_another_coding_is_read(earlier):
    """A crawl that had found only the body the same leads to the first crawl's payload."""
    again = later(coded(b"<p>text", 2))
    again.state.refers = EarlierCapture(
        "<urn:uuid:1>", URL, "2023-11-14T22:13:20.250Z", coded(b"<p>text", 1).digest
    )
    known = earlier([coded(b"<p>text", 1)], [again]).of_url(URL)

    assert known.reference.digest == coded(b"<p>text", 1).digest
    assert known.complete_answer(coded(b"<p>text", 3)).state.refers == known.reference._replace(
        identical=False
    )


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT"])
def test_another_request(tmp_path, method):
    """The answer to another request than GET is nobody's page, though the index does not say what
    it answers.
    """
    archive = Archive(tmp_path / "job0")
    archive.write(page(request=f"{method} / HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()))
    archive.stop()
    (path,) = (tmp_path / "job0/warc").glob("*.cdxj")
    assert f'"method": "{method}"' in path.read_text()
    path.write_text(path.read_text().replace(f', "method": "{method}"', ""))
    (tmp_path / "state").mkdir()
    index = EarlierIndex(Disk(), tmp_path / "state", [path])
    for _ in index.open():
        pass
    known = EarlierCaptures(index, TRUNCATE).of_url(URL)
    index.close()

    assert (known.page, known.conditions) == (None, [])
    assert known.reference.digest == page().digest


def test_a_coded_answer_may_be_stored_decoded():
    """By other crawlers; but what a browser made of it is nobody's payload."""
    plain, coded = (
        page(b"<p>" * 9),
        replace(page(gzip.compress(b"<p>" * 9, mtime=0)), body=b"<p>" * 9),
    )

    assert [*digests_of(plain, {SHA1})] == [(plain.digest, True)]
    assert [*digests_of(coded, {SHA1})] == [(coded.digest, True), (plain.digest, False)]
    assert [*digests_of(replace(coded, rendered=True), {SHA1})] == [(coded.digest, True)]
