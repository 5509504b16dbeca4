"""Servers that misuse cookies, in a whole crawl."""

from collections import defaultdict
from itertools import count

from tests.support.named_sites import sites
from webcrawl.crawl.redirect_chain import BYTES, COUNT
from webcrawl.settings import REDIRECT_MAX_HOPS

FRESH = count()


def answer(host, path, _):
    number = next(FRESH)
    if host == "flood.test":  # 60 KB of new cookies in each answer
        cookies = [f"{'n' * 90}{number}-{at}={'v' * 200}" for at in range(190)]
    elif host == "loop.test":
        cookies = [f"session={number}"]
    elif host == "thief.test":  # for other hosts, to one of which it redirects
        cookies = [
            f"stolen=1; Domain={domain}"
            for domain in ("victim.test", "test", "thief.test", ".test")
        ]
        path = f"http://victim.test:{path[1:]}/"
    else:
        return b"Welcome."
    return 302, [("Location", path), *(("Set-Cookie", cookie) for cookie in cookies)], b""


def test_cookies_are_bounded(tmp_path):
    """A flood is limited to COUNT cookies and BYTES bytes, a loop ends, no host gets another one's
    cookies.
    """
    with sites(answer) as served:
        seeds = ["flood.test", "loop.test", served.url("thief.test", f"/{served.port}")]
        assert served.crawl(tmp_path, seeds, names=["victim.test"]).run() == 0

        sent = defaultdict(list)
        for host, path, cookie in served.requested:
            if path != "/robots.txt":
                sent[host].append(cookie)
    hops = REDIRECT_MAX_HOPS
    counts = {"flood.test": 2, "loop.test": 1 + hops, "thief.test": 1, "victim.test": 1}
    assert {host: len(cookies) for host, cookies in sent.items()} == counts
    assert sent["victim.test"] == [""]
    assert max(map(len, sent["flood.test"])) <= BYTES
    assert 1 <= max(cookie.count("=") for cookie in sent["flood.test"]) <= COUNT
    assert all(cookie.startswith("session=") for cookie in sent["loop.test"][1:])
