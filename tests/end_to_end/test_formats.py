"""A site whose pages lead from format to format, crawled by `scrapy crawl web`; PDFs that kill
their reader.
"""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.crawling import wait_until
from tests.support.named_sites import Typed, sites
from tests.support.pdfs import bomb, pdf
from webcrawl.tools.verify_crawl import verify

pytest.importorskip("pypdfium2")
KINDS = {
    "LINK_SOURCES": "a pdf xlink header jsonld data",
    "SITEMAPS": True,
    "FEED_LINKS": True,
    "OUTPUTS": "warc links",
}
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><a href='/page'/><image href='/no.png'/></svg>"
RSS = b"<rss><channel><item><link>/doc.pdf</link></item><item><link>/bomb.pdf</link></item></channel></rss>"
SLOW = {"LINK_SOURCES": "a pdf", "CHECKPOINT_INTERVAL": 0.1, "DOWNLOAD_TRUNCATE": 1 << 23}
PAGE = b"""<p data-href=/data></p><script type="application/ld+json">{"url": "/jsonld"}</script>"""
HEADED = 200, [("Link", '</head>; rel=next, </hub>; rel="hub"')], b"<p>1"
PAGES = {
    "/robots.txt": b"Sitemap: /map.xml",
    "/": b"<p>nothing",
    "/map.xml": Typed(b"<urlset><url><loc>/feed</loc></url></urlset>", "text/html"),
    "/feed": Typed(RSS, "application/rss+xml"),
    "/doc.pdf": Typed(pdf("/pic.svg"), "application/pdf"),
    "/bomb.pdf": Typed(bomb(), "application/pdf"),
    "/pic.svg": Typed(SVG, "image/svg+xml"),
    "/page": PAGE,
    "/data": HEADED,
    "/jsonld": b"<p>2",
    "/head": b"<p>3",
}


def test_from_format_to_format(tmp_path):
    """Sitemap, feed, PDF, drawing, page, header: each is read, and a PDF that kills its reader is
    one noted page.
    """
    with sites(lambda _, path, __: PAGES.get(path)) as served:
        crawl = served.crawl(tmp_path, ["site.test"], **KINDS)
        assert crawl.run() == 0

    assert sorted(path for _, path in served.pages()) == sorted(PAGES.keys() - {"/robots.txt"})
    lines = [
        line.split() for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    ]
    assert [line[3].rpartition("/")[2] for line in lines if "pdf:died" in line[11].split(",")] == [
        "bomb.pdf"
    ]
    assert crawl.stats["pdf/died"] == 1
    assert list(verify(crawl.jobdir, Counter())) == []


def children(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split() + [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    return []


@pytest.mark.campaign
@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="asks Linux for children"
)
def test_killed_while_a_pdf_is_read(tmp_path):
    """The next run fetches it again and follows its links; nothing is twice in the log; its reader
    does not stay.
    """
    slow = Typed(pdf("/after", pages=20_000), "application/pdf")
    pages = {"/": b"<a href=/x.pdf>", "/x.pdf": slow, "/after": b"<p>1"}

    with sites(lambda _, path, __: pages.get(path)) as served:
        crawl = served.crawl(tmp_path, ["site.test"], **SLOW)
        running = crawl.start()
        wait_until(
            lambda: children(running.process.pid) and ("site.test", "/x.pdf") in served.pages()
        )
        readers = {int(child) for child in children(running.process.pid)}
        running.kill()

        assert crawl.run() == 0

    assert Counter(served.pages())["site.test", "/after"] == 1
    logged = [
        line.split()[3] for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    ]
    assert sorted(url.rpartition("/")[2] for url in logged) == ["", "after", "robots.txt", "x.pdf"]
    assert list(verify(crawl.jobdir, Counter())) == []
    wait_until(lambda: not any(_reads_pdfs(reader) for reader in readers))


def _reads_pdfs(pid):
    with suppress(OSError):
        return b"formats.pdf:" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
