"""What a CDX server is asked, what its answers say, and what becomes of bad ones."""

from base64 import b32encode
from contextlib import ExitStack, closing
from hashlib import sha256
from socket import SHUT_RDWR
from unittest.mock import Mock

import pytest

from tests.store.jobdir.test_index_line import DIGEST, line
from tests.support.cdx_server import cdx_server
from tests.support.warc_crawl import exchange
from webcrawl.base.model import EarlierCapture
from webcrawl.record.since import cdx_server as asking
from webcrawl.record.since.cdx_server import CdxServer, CdxServerError

URL, OTHER = "http://a.test/x", "sha1:" + "A" * 32
LATER = "20270101000000"
ANSWER, ANOTHER = (exchange(URL, b"<p>", _digest=digest) for digest in (DIGEST, OTHER))


SHA256 = sha256(b"<p>")
HEX, BASE32 = SHA256.hexdigest(), b32encode(SHA256.digest()).decode().strip("=")
OPEN = ExitStack()


@pytest.fixture(name="index")
def _index():
    with cdx_server([line()]) as served, OPEN:
        yield served


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def opened(index, before=LATER, **more):
    return OPEN.enter_context(closing(CdxServer(index.address, before, **more)))


def named(path, **more):
    """A line of a page of the same host."""
    return line(url=f"http://a.test/{path}", **more).replace(
        b"test,a)/x", f"test,a)/{path}".encode()
    )


@pytest.mark.parametrize("pywb", [False, True])
def test_a_payload_is_found_under_its_url(index, pywb):
    """In OutbackCDX's columns and in pywb's CDXJ; another URL of the host may have it, too."""
    index.pywb = pywb
    server = opened(index)

    assert server.find(URL, ANSWER) == EarlierCapture("", URL, "2026-01-02T03:04:05Z", DIGEST)
    assert server.find(URL, ANOTHER) is None
    assert server.find("http://a.test/y", ANSWER).url == URL
    assert server.find("http://b.test/x", ANSWER) is None


@pytest.mark.parametrize("pywb", [False, True])
@pytest.mark.parametrize("written", [HEX, f"sha256:{HEX}", BASE32, f"sha256:{BASE32}"])
def test_a_payload_is_found_by_its_sha256(index, pywb, written):
    """The reference has the digest as the server writes it, with its algorithm, which some servers
    leave out.
    """
    index.pywb, index.lines = pywb, [line(digest=written)]

    assert opened(index).find(URL, ANSWER).digest == f"sha256:{written.removeprefix('sha256:')}"


def test_of_several_captures_the_latest_counts(index):
    """An unchanged page may have been stored more than once."""
    index.lines += [
        line(stamp="20260302030405"),
        line(stamp="20260202030405"),
        line(stamp="20260402030405", digest=OTHER),
    ]

    assert opened(index).find(URL, ANSWER).date == "2026-03-02T03:04:05Z"


def test_only_a_success_has_a_payload(index):
    """Neither an error page nor a revisit record is referred to."""
    index.lines = [line(status="404"), line(mime="warc/revisit", stamp="20260302030405")]

    assert opened(index).find(URL, ANSWER) is None


def test_what_came_since_the_crawl_began_is_not_referred_to(index):
    """It may be this crawl's own, and truncated after a kill."""
    assert opened(index, before="20260102030405").find(URL, ANSWER) is None


def test_a_host_is_asked_for_once(index):
    """Its captures answer all later questions, also those for URLs that nobody has."""
    server = opened(index)
    for path in "xyz":
        server.find(f"http://a.test/{path}", ANSWER)

    assert [(one["url"], one["matchType"]) for one in index.requested] == [
        ("http://a.test/", "host")
    ]


def test_of_a_large_host_folders_are_asked_for_and_then_urls(index, monkeypatch):
    """As soon as an answer is whole it is kept; one that is truncated at the limit is not believed."""
    monkeypatch.setitem(asking.QUERY_LIMITS, "limit", 3)
    monkeypatch.setattr(asking, "MAX_CAPTURES", 3)
    index.lines = sorted(named(path) for path in ("a/1", "a/2", "b/1", "b/2", "b/3"))
    server = opened(index)
    found = [
        server.find(f"http://a.test/{path}?q".removesuffix("?q"), ANSWER)
        for path in ("a/1", "a/2", "b/3", "b/1")
    ]

    assert all(found)
    assert [(one["url"], one["matchType"]) for one in index.requested] == [
        ("http://a.test/", "host"),
        ("http://a.test/a/", "prefix"),
        ("http://a.test/b/", "prefix"),
        ("http://a.test/b/3", "exact"),
        ("http://a.test/b/1", "exact"),
    ]
    assert index.requested[-1]["sort"] == "reverse"


def test_few_captures_are_kept(index, monkeypatch):
    """Those of the host that was not asked for longest go first."""
    monkeypatch.setattr(asking, "MAX_KEPT_CAPTURES", 5)
    server = opened(index)
    for host in "aaabbbcddddeffa":
        server.find(f"http://{host}.test/x", ANSWER)

    assert [one["url"][7] for one in index.requested] == ["a", "b", "c", "d", "e", "f", "a"]


def test_an_address_may_have_a_query(index):
    """The question is added to it."""
    index.address += "?key=1"

    assert opened(index).find(URL, ANSWER)
    assert index.requested[0]["key"] == "1"


def html(site):
    site.say(200, b"<html>\n<title>Not here</title>\n")


def status(code, **headers):
    return lambda site: site.say(code, b"no", **headers)


def early(site):
    site.say(200, line()[:50], length=1000)
    site.close_connection = True


def hangs_up(site):
    site.connection.shutdown(SHUT_RDWR)


def silent(site):
    """Until the client has gone."""
    site.connection.recv(1)


BAD = {
    "status 500": status(500),
    "status 404": status(404),
    "status 302, which points to http://b.test/": status(302, location="http://b.test/"),
    "its answer is not an index: b'<html>": html,
    "IncompleteRead": early,
    "closed connection|reset": hangs_up,
    "timed out": silent,
}


@pytest.mark.parametrize("why", BAD)
def test_a_bad_answer_is_none(index, why, monkeypatch):
    """Its reason is one line.

    The next question waits for a second, then for two; a good answer ends that.
    """
    clock = Clock()
    monkeypatch.setattr(asking, "TIMEOUT_SECONDS", 0.2)
    server, index.fail = opened(index, clock=clock), BAD[why]
    with pytest.raises(CdxServerError, match=why):
        server.find(URL, ANSWER)
    before = len(index.requested)
    with pytest.raises(CdxServerError, match="not asked for now"):
        server.find(URL, ANSWER)
    clock.now += 1.1
    with pytest.raises(CdxServerError, match=why):
        server.find(URL, ANSWER)
    clock.now += 1.1
    with pytest.raises(CdxServerError, match="not asked for now"):
        server.find(URL, ANSWER)
    assert len(index.requested) > before
    clock.now += 1
    index.fail = None

    assert server.find(URL, ANSWER)


def test_a_failure_without_words_has_a_name(index, monkeypatch):
    """A reason is never empty."""
    server = opened(index)
    monkeypatch.setattr(asking.HTTPConnection, "request", Mock(side_effect=TimeoutError))

    with pytest.raises(CdxServerError, match=r": TimeoutError$"):
        server.find(URL, ANSWER)


def test_a_server_may_ask_to_be_left_alone(index):
    """For an hour at most."""
    clock = Clock()
    server, index.fail = opened(index, clock=clock), status(503, retry_after="99999")
    with pytest.raises(CdxServerError, match="503"):
        server.find(URL, ANSWER)
    index.fail = None
    clock.now += 3599
    with pytest.raises(CdxServerError, match="not asked for now"):
        server.find(URL, ANSWER)
    clock.now += 2

    assert server.find(URL, ANSWER)


def test_nothing_found_may_be_a_404(index):
    """So do earlier versions of pywb answer."""
    index.fail = lambda site: site.say(404, b'{"message": "No Captures found for: http://a.test/"}')

    assert opened(index).find(URL, ANSWER) is None


def test_a_kept_connection_may_have_been_closed(index):
    """The question is asked again, once, on a new one."""
    server = opened(index)
    server.find("http://b.test/", ANSWER)
    server.interrupt()

    assert server.find(URL, ANSWER)


def test_a_question_that_was_truncated_is_not_asked_again(index):
    """On a kept connection neither: nobody waits for it any more."""
    server = opened(index)
    server.find("http://b.test/", ANSWER)
    index.fail = lambda site: server.interrupt()

    with pytest.raises(CdxServerError):
        server.find(URL, ANSWER)
    assert len(index.requested) == 2


def test_a_longer_answer_than_is_read_is_not_whole(index, monkeypatch):
    """Of the URL's own captures those count that came; the one that is truncated does not."""
    monkeypatch.setattr(asking, "MAX_ANSWER_BYTES", 3 * 90)
    index.lines = [named(f"x{n}") for n in range(20)] + [
        line(stamp=f"2026010203040{n}") for n in range(9)
    ]

    assert opened(index).find(URL, ANSWER)
    assert [one["matchType"] for one in index.requested] == ["host", "exact"]


def test_nobody_there_is_no_answer():
    """A refused connection is told."""
    with cdx_server() as index:
        pass
    with OPEN, pytest.raises(CdxServerError, match="refused"):
        opened(index).check()


def test_a_collection_that_is_not_there_is_told_at_the_start(index):
    """The check asks for a URL that nobody has."""
    opened(index).check()
    index.address = index.address.replace("months", "mouths")

    with pytest.raises(CdxServerError, match="mouths: status 404"):
        opened(index).check()
