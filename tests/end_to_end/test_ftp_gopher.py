"""A crawl over three protocols that link to each other, through one frontier and into one archive."""

import asyncio
from collections import Counter
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.support.crawling import Crawl
from tests.support.net_ftp import RealServer
from tests.support.net_http import serving

LISTING, MENU = "text/x-ftp-listing", "text/x-gopher-menu"


class Web:
    """Small sites, `http` and `gopher` each a table from path or selector to content; requests are
    counted.
    """

    def __init__(self):
        self.http, self.gopher, self.requested = {}, {}, Counter()

    async def answer_http(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        self.requested[f"http:{path}"] += 1
        body = self.http.get(path)
        status, body = (b"200 OK", body) if body is not None else (b"404 No", b"no")
        writer.write(
            b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
            % (status, len(body), body)
        )
        await writer.drain()

    async def answer_gopher(self, reader, writer):
        selector = (await reader.readline()).rstrip(b"\r\n").decode("latin-1")
        self.requested[f"gopher:{selector}"] += 1
        writer.write(self.gopher.get(selector, b"3not here\t\terror.host\t1\r\n.\r\n"))
        await writer.drain()
        writer.write_eof()
        await reader.read()


@contextmanager
def started(web, address):
    """Serves the sites during the block; yields their ports."""
    ports, up, stop = [], Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def go():
        async with (
            serving(web.answer_http, address) as one,
            serving(web.answer_gopher, address) as other,
        ):
            ports.extend((one, other))
            up.set()
            await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(go(),), daemon=True)
    thread.start()
    up.wait()
    try:
        yield ports
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def finished(crawl):
    """Status, type and path by URL, from every line of the crawl's log."""
    rows = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    assert len({row[3] for row in rows}) == len(rows)
    return {row[3]: (int(row[1]), row[6], row[4]) for row in rows}


@pytest.fixture(name="folder")
def _folder(tmp_path):
    root = tmp_path / "ftp"
    for name in ("pub/sub", "no"):
        (root / name).mkdir(parents=True)
    return root


class TestThreeProtocols:
    def test_the_truth_is_reached(self, tmp_path, folder):
        """Listings, menus and pages lead to each other; each URL is fetched once and ends as it
        must.
        """
        web = Web()
        with RealServer(folder, "127.0.0.3") as files, started(web, "127.0.0.2") as (http, gopher):
            w, f, g = (
                f"http://w.test:{http}",
                f"ftp://f.test:{files.port}",
                f"gopher://g.test:{gopher}",
            )
            web.http |= {
                "/": f"<a href='{f}/pub'>1<a href='{g}'>2<a href='{f}/no/x'>3<a href='{f}/gone'>4"
                f"<a href='{g}/7find'>5<a href='{g}/1/gone'>6".encode(),
                "/robots.txt": b"",
                "/from-ftp": b"x1",
                "/from-gopher": b"x2",
            }
            here = f"g.test\t{gopher}\r\n"
            web.gopher |= {
                "": (
                    f"iHello\t\tnone\t1\r\n0A text\t/text\t{here}1Below\t/below\t{here}"
                    f"hWeb\tURL:{w}/from-gopher\t{here}hPage\t/page\t{here}7Find\t/find\t{here}"
                    f"8Telnet\t/t\t{here}gPicture\t/a b.gif\t{here}.\r\n"
                ).encode(),
                "/text": b"one\r\n..two\r\n.\r\n",
                "/below": f"1Up\t\t{here}hFile\tURL:{f}/pub/only-from-gopher.txt\t{here}.\r\n".encode(),
                "/page": f"<a href='{w}/from-ftp'>x".encode(),
                "/a b.gif": b"GIF89a\r\n.\r\n",
                "/1from-ftp": b"never asked for",
                "from-ftp": b"i\t\tnone\t1\r\n.\r\n",
            }
            (folder / "robots.txt").write_bytes(b"User-agent: *\nDisallow: /no/\n")
            (folder / "no/x").write_bytes(b"secret")
            (folder / "pub/page.html").write_bytes(
                f"<a href='{w}/from-ftp'>1<a href='{g}/1from-ftp'>2".encode()
            )
            (folder / "pub/sub/caf\u00e9 #1.txt").write_bytes(b"coffee")
            (folder / "pub/only-from-gopher.txt").write_bytes(b"text")

            hosts, seeds = tmp_path / "hosts", tmp_path / "seeds.txt"
            hosts.write_text("127.0.0.2 w.test g.test\n127.0.0.3 f.test\n")
            seeds.write_text(f"{w}/\n")
            crawl = Crawl(
                tmp_path / "job", {"seeds": seeds}, {"HOSTS_FILE": hosts, "PORTS_ALLOWED": gopher}
            )
            assert crawl.run() == 0, crawl.output.read_text()

        assert finished(crawl) == {
            f"{w}/robots.txt": (200, "text/html", "P"),
            f"{w}/": (200, "text/html", "-"),
            f"{f}/robots.txt": (200, "text/plain", "LP"),
            f"{f}/pub": (301, "no-type", "L"),
            f"{f}/pub/": (200, LISTING, "LR"),
            f"{f}/no/x": (-9998, "no-type", "L"),
            f"{f}/gone": (404, "no-type", "L"),
            f"{f}/pub/page.html": (200, "text/html", "LRL"),
            f"{f}/pub/sub/": (200, LISTING, "LRL"),
            f"{f}/pub/sub/caf%C3%A9%20%231.txt": (200, "text/plain", "LRLL"),
            f"{f}/pub/only-from-gopher.txt": (
                200,
                "text/plain",
                finished(crawl)[f"{f}/pub/only-from-gopher.txt"][2],
            ),
            f"{w}/from-ftp": (200, "text/html", finished(crawl)[f"{w}/from-ftp"][2]),
            f"{g}/": (200, MENU, "L"),
            f"{g}/7find": (-7, "no-type", "L"),
            f"{g}/1/gone": (404, MENU, "L"),
            f"{g}/0/text": (200, "text/plain", "LL"),
            f"{g}/1/below": (200, MENU, "LL"),
            f"{w}/from-gopher": (200, "text/html", "LL"),
            f"{g}/h/page": (200, "text/html", "LL"),
            f"{g}/g/a%20b.gif": (200, "image/gif", "LL"),
            f"{g}/1from-ftp": (200, MENU, "LRLL"),
        }
        assert max(web.requested.values()) == 1
        assert (
            Counter(arg for cmd, arg in files.requested if cmd == "RETR").most_common(1)[0][1] == 1
        )
        self.check_archive(crawl, f, g, web)

    @staticmethod
    def check_archive(crawl, f, g, web):
        records = {}
        for path in (crawl.jobdir / "warc").glob("*.warc.gz*"):
            with path.open("rb") as file:
                for record in ArchiveIterator(file):
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    if record.rec_type not in ("warcinfo", "metadata", "request"):
                        kind = record.rec_headers.get_header("Content-Type")
                        records[url] = (record.rec_type, kind, record.raw_stream.read())
        resources = {url for url, record in records.items() if record[0] == "resource"}
        expected = {
            url
            for url, row in finished(crawl).items()
            if row[0] == 200 and not url.startswith("http:")
        }
        assert resources == expected
        assert records[f"{g}/0/text"] == ("resource", "text/plain", web.gopher["/text"])
        assert records[f"{g}/1/below"] == ("resource", MENU, web.gopher["/below"])
        kind, mime, listing = records[f"{f}/pub/"]
        assert (kind, mime) == ("resource", f"{LISTING}; format=mlsd")
        assert b"type=file;" in listing
        assert listing.endswith(b"\r\n")

    def test_the_guard_holds_for_all(self, tmp_path, folder):
        """The crawl never connects to forbidden addresses, by any protocol."""
        web = Web()
        with RealServer(folder, "127.9.0.1") as files, started(web, "127.9.0.2") as (_, gopher):
            seeds = tmp_path / "seeds.txt"
            urls = [f"ftp://127.9.0.1:{files.port}/pub/", f"gopher://127.9.0.2:{gopher}/"]
            seeds.write_text("\n".join(urls))
            crawl = Crawl(
                tmp_path / "job",
                {"seeds": seeds},
                {"ROBOTSTXT_OBEY": False, "PORTS_ALLOWED": gopher},
            )
            assert crawl.run() == 1, crawl.output.read_text()  # it got nothing

        assert {url: row[0] for url, row in finished(crawl).items()} == dict.fromkeys(urls, -5001)
        assert files.requested == []
        assert not web.requested
