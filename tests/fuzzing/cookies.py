"""Target: cookies that are set and sent back in a chain of redirects."""

from tests.fuzzing.target import Target, chance
from webcrawl.base.model import Link, unpack
from webcrawl.crawl.redirect_chain import BYTES, cookie_header, follow
from webcrawl.net.http_request import RequestWriter, parse_target

URLS = [
    "http://a.test/",
    "https://a.test/x/y?z",
    "http://www.a.test/x",
    "https://[::1]/",
    "http://127.0.0.1:8080/x/",
]
WRITER = RequestWriter("fuzz/1")


def cookies(data: bytes) -> None:
    """Each line is a Set-Cookie header of a hop: the chain packs, and the header is bounded and can
    be sent.
    """
    random, chain = chance(data), ""
    for line in data.split(b"\n")[:20]:
        url, target = random.choice(URLS), random.choice(URLS)
        chain = follow(chain, random.getrandbits(64), url, [line], 1.7e9)
        link = Link(target, "R", url, chain=chain)
        assert unpack(link.pack()) == link
        sent = cookie_header(chain, target)
        assert len(sent) <= BYTES
        if sent:
            head = WRITER.head(parse_target(target), [(b"Cookie", sent)], keep=True)
            assert head.count(b"\r\n") == 7  # one line more
        alone = cookie_header(follow("", 1, url, [line], 1.7e9), target)
        assert (
            not alone
            or target.split("/")[2].partition(":8")[0] == url.split("/")[2].partition(":8")[0]
        )


TARGETS = [
    Target(
        "cookies",
        cookies,
        [
            b"a=1; Path=/; Domain=a.test; Max-Age=60; Secure; HttpOnly",
            b"__Host-a=1; Secure; Path=/\na=2; Path=/x\na=; Expires=Thursday, 01-Jan-70 00:00:01 GMT",
            b"\n".join(b"c%d=%b" % (number, b"v" * 300) for number in range(20)),
        ],
        [
            *(b"a=", b"; ", b"Path=/", b"Path=/x/", b"Domain=", b".a.test", b"test", b"Secure"),
            *(b"Max-Age=", b"-1", b"0", b"Expires=", b"Thu, 01 Jan 1970 00:00:00 GMT"),
            *(b"__Secure-", b"__Host-", b"\xff", b"\0", b"\t", b"\n"),
        ],
    )
]
