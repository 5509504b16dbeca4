"""A site that answers signed requests only, crawled by `scrapy crawl web` with a key and without."""

import time

import pytest

from tests.support.named_sites import Typed, sites
from tests.support.warc_reader import read
from webcrawl.net.identity.signature_check import Unreadable, check_request
from webcrawl.net.identity.signing_key import SigningKey

AGENT = "https://bot.example.org"
PAGES = {
    "/robots.txt": Typed(b"User-agent: *\nAllow: /\nSitemap: /map.xml\n", "text/plain"),
    "/": b'<a href="/one"><a href="/moved"><a href="/busy"><img src="/picture.png">',
    "/one": b"<p>one",
    "/two": b"<p>two",
    "/three": b"<p>three",
    "/picture.png": Typed(b"\x89PNG", "image/png"),
}


class Gate:
    """Refuses what is not signed by this key, and remembers what it was asked."""

    def __init__(self, key, site="a.test"):
        self.keys, self.site, self.refused, self.busy = {key.keyid: key.public}, site, [], True

    def __call__(self, host, path, headers):
        raw = f"GET {path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()
        )
        try:
            wrong = [
                one.text
                for one in check_request(raw.encode("latin-1"), self.keys, time.time())
                if one.wrong
            ]
        except Unreadable as error:
            wrong = [str(error)]
        if wrong:
            self.refused.append((path, *wrong))
            return 403, [], b"who are you?"
        if path == "/moved":
            return 302, [("Location", "/two")], b""
        if path == "/busy" and self.busy:
            self.busy = False
            return 503, [], b"later"
        if path == "/busy":
            return b"<p>now"
        if path == "/map.xml":
            address = f"http://{headers['Host']}/three"
            namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
            body = f'<urlset xmlns="{namespace}"><url><loc>{address}</loc></url></urlset>'
            return Typed(body.encode(), "application/xml")
        return PAGES.get(path)


@pytest.fixture
def key(tmp_path):
    return SigningKey.new(tmp_path / "bot.pem")


def requests_of(crawl):
    records = [record for path in crawl.jobdir.glob("warc/*.warc.gz") for record in read(path)]
    return [record for record in records if record.kind == "request"], records


def crawled(served, folder, **settings):
    crawl = served.crawl(folder, ["a.test"], SITEMAPS=True, REQUISITES=True, **settings)
    assert crawl.run() == 0
    return crawl


def test_with_the_key_all_pages_come(tmp_path, key):
    """Every request is signed: robots.txt, pages, redirects, retries, sitemaps, pictures; the
    archive has it all.
    """
    gate = Gate(key)
    with sites(gate, all_headers=True) as served:
        crawl = crawled(
            served,
            tmp_path,
            BOT_KEY=tmp_path / "bot.pem",
            BOT_AGENT=AGENT,
            BOT_FROM="bot@example.org",
        )

        requested = [path for _, path, _ in served.requested]
    assert gate.refused == []
    assert requested[0] == "/robots.txt"
    assert set(requested) >= {*PAGES, "/moved", "/busy", "/map.xml"}
    assert requested.count("/busy") == 2
    requests, records = requests_of(crawl)
    assert all(
        b"\r\nSignature: sig1=:" in one.block and b"\r\nFrom: bot@example.org\r\n" in one.block
        for one in requests
    )
    secret = (tmp_path / "bot.pem").read_text().split("\n")[1].encode()
    assert not any(secret in record.block for record in records)
    kept = [path for path in crawl.jobdir.rglob("*") if path.is_file()]
    assert not any(secret in path.read_bytes() for path in [*kept, crawl.output])
    assert f"key {key.keyid}" in crawl.output.read_text()


def test_without_the_key_none_comes(tmp_path, key):
    """The same site, and nobody who signs."""
    gate = Gate(key)
    with sites(gate, all_headers=True) as served:
        crawl = crawled(served, tmp_path)

        assert {path for path, *_ in gate.refused} >= {"/robots.txt", "/"}
        assert len(gate.refused) == len(served.requested)
    requests, _ = requests_of(crawl)
    assert not any(b"\r\nSignature" in one.block for one in requests)


def test_with_another_key_none_comes(tmp_path, key):
    """A key that is not in the directory opens nothing; the archive has the signatures as they were
    sent.
    """
    SigningKey.new(tmp_path / "other.pem")
    gate = Gate(key)
    with sites(gate, all_headers=True) as served:
        crawl = crawled(served, tmp_path, BOT_KEY=tmp_path / "other.pem", BOT_AGENT=AGENT)

        assert len(gate.refused) == len(served.requested)
    assert all("is not in the directory" in why for _, why in gate.refused)
    requests, _ = requests_of(crawl)
    assert requests
    assert all(b"\r\nSignature" in one.block for one in requests)
