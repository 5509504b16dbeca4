"""What one page of a browser leaves to the next."""

import pytest

from webcrawl.net.browser.proxy_messages import Ask, Told
from webcrawl.net.browser.shared_resources import UNSAID, SharedResources

URL, NOW = "http://a.test/app.js", 1_000_000_000.0
SCRIPT = (b"Content-Type", b"text/javascript; charset=utf-8")


def ask(*headers, method="GET"):
    return Ask(method, URL, [*headers])


def kept(*headers, status=200, body=b"x", asked=None):
    shared = SharedResources(room=10_000)
    shared.keep(URL, asked or ask(), Told(status, [*headers], body), NOW)
    return shared


def test_an_answer_is_shared_as_long_as_it_says():
    """Cache-Control counts; from then on the answer is fetched again."""
    shared = kept(SCRIPT, (b"Cache-Control", b"public, max-age=60"))

    assert shared.find(URL, ask(), NOW + 59).body == b"x"
    assert shared.find(URL, ask(), NOW + 60) is None


@pytest.mark.parametrize("more", [[], [(b"Cache-Control", b"private")]])
@pytest.mark.parametrize("kind", [b"text/javascript", b"text/css", b"font/woff2", b"image/png"])
def test_parts_of_a_design_that_say_no_time_are_shared_for_a_day(kind, more):
    """RFC 9111 4.2.2: how long they hold is for the cache to say."""
    shared = kept((b"Content-Type", kind), *more)

    assert shared.find(URL, ask(), NOW + UNSAID - 1)
    assert shared.find(URL, ask(), NOW + UNSAID) is None


@pytest.mark.parametrize(
    "headers",
    [
        [(b"Content-Type", b"application/json")],
        [(b"Content-Type", b"text/html")],
        [],
        *([SCRIPT, (b"Cache-Control", value)] for value in (b"no-store", b"no-cache", b"max-age=0")),
        [SCRIPT, (b"Expires", b"0")],
        [SCRIPT, (b"Pragma", b"no-cache")],
        [SCRIPT, (b"Vary", b"Accept, *")],
    ],
)
def test_other_answers_are_not_shared(headers):
    """Neither data that says nothing, nor what its server wants to be asked for each time."""
    assert kept(*headers).find(URL, ask(), NOW) is None


def test_errors_and_parts_are_not_shared():
    """Only a GET's whole answer of status 200, without a password."""
    assert kept(SCRIPT, status=404).find(URL, ask(), NOW) is None
    for asked in (ask(method="HEAD"), ask((b"Range", b"bytes=0-1")), ask((b"Authorization", b"Basic eA=="))):
        assert kept(SCRIPT, asked=asked).find(URL, ask(), NOW) is None
        assert kept(SCRIPT).find(URL, asked, NOW) is None


def test_vary_is_obeyed():
    """A request that differs in a header that the answer depends on is another one."""
    french = (b"Accept-Language", b"fr")
    shared = kept(SCRIPT, (b"Vary", b"Accept-Encoding, accept-language"), asked=ask(french))

    assert shared.find(URL, ask(french), NOW)
    assert shared.find(URL, ask(), NOW) is None


def test_room_is_bounded():
    """The answer that was wanted longest ago goes first; one that is larger than the room is not kept."""
    shared = SharedResources(room=100_000)
    for name, size in (("a", 40_000), ("b", 40_000), ("c", 100_001)):
        shared.keep(name, ask(), Told(200, [SCRIPT], b"x" * size), NOW)
    assert shared.find("a", ask(), NOW)

    shared.keep("d", ask(), Told(200, [SCRIPT], b"x" * 40_000), NOW)

    assert [name for name in "abcd" if shared.find(name, ask(), NOW)] == ["a", "d"]


def test_an_answer_takes_the_place_of_an_earlier_one():
    """Its room is counted once."""
    shared = SharedResources(room=100_000)
    for body in (b"x" * 60_000, b"y" * 60_000):
        shared.keep(URL, ask(), Told(200, [SCRIPT], body), NOW)

    assert shared.find(URL, ask(), NOW).body == b"y" * 60_000


def test_answers_without_a_body_take_room():
    """There are no more of them than it has room for their heads."""
    shared = SharedResources(room=100_000)
    for number in range(100):
        shared.keep(f"{URL}{number}", ask(), Told(200, [SCRIPT, (b"X-Long", b"x" * 20_000)]), NOW)

    assert [number for number in range(100) if shared.find(f"{URL}{number}", ask(), NOW)] == [96, 97, 98, 99]
