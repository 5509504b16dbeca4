"""A page that was not there when it was fetched, and then is announced: it is fetched again from
then on.
"""

import time

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import HOST, Web

HOUR, DAY = 3600, 86_400


def sitemap(**dates):
    entries = "".join(
        f"<url><loc>{HOST}/{path}</loc><lastmod>{date}</lastmod></url>"
        for path, date in dates.items()
    )
    return Document(f"<urlset>{entries}</urlset>".encode(), media="text/xml")


@pytest.fixture(name="web")
def _web(tmp_path):
    """A crawl that knows a sitemap, which names a page that is not there."""
    one = Web(
        tmp_path / "crawl",
        {
            "/robots.txt": Document(f"Sitemap: {HOST}/map.xml".encode(), media="text/plain"),
            "/": Document(b"<p>home"),
            "/map.xml": sitemap(a="2024-01-01"),
            "/a": Document(status=404),
        },
        SITEMAPS=True,
        REVISIT_AGE=4 * HOUR,
        ROBOTSTXT_OBEY=True,
    )
    one.seed("/")
    one.run(2 * HOUR)
    assert len(one.times("/a")) == 1
    yield one
    one.crawl.close()


def announce(web):
    web.documents |= {"/a": Document(b"<p>a"), "/map.xml": sitemap(a="2024-02-01")}
    web.run(5 * HOUR)


def test_a_page_that_failed(web):
    """It gets a record when a signal finds it, has its turns, and is one page to all that counts."""
    known = web.known
    announce(web)
    assert len(web.times("/a")) >= 2
    assert web.known == known + 1
    web.run(12 * HOUR)
    assert len(web.times("/a")) >= 4
    assert web.known == known + 1
    assert web.is_sound()


def test_a_page_that_still_fails(web):
    """A signal that finds nothing makes no record; a later one does."""
    known = web.known
    web.documents["/map.xml"] = sitemap(a="2024-01-20")
    web.run(5 * HOUR)
    assert len(web.times("/a")) == 2
    assert web.known == known
    announce(web)
    assert web.known == known + 1


def test_a_page_that_was_found_otherwise(web):
    """If a link has it fetched first, it has one record, whatever is announced afterwards."""
    known = web.known
    web.crawl.parts.revisiting.revisits.ahead.lack(f"{HOST}/b", "L", web.now)
    web.documents |= {"/b": Document(b"<p>b"), "/": Document(b"<a href=/b>")}
    web.run(4 * HOUR)
    assert web.known == known + 1
    web.documents["/map.xml"] = sitemap(b="2024-01-20")
    web.run(5 * HOUR)
    web.documents["/map.xml"] = sitemap(b="2024-02-20")
    web.run(12 * HOUR)
    assert web.known == known + 1


def test_a_kill(web):
    """What is known of it is part of the checkpoint, and a fetch after it is undone."""
    known = web.known
    web.checkpoint()
    announce(web)
    web.kill()
    assert web.known == known
    announce(web)
    assert web.known == known + 1
    assert web.is_sound()


def test_a_page_that_was_forgotten(web):
    """It was there, was gone for weeks, and comes back."""
    announce(web)
    known = web.known
    web.documents["/a"] = Document(status=410)
    web.run(16 * DAY)
    assert web.known == known - 1
    web.documents |= {"/a": Document(b"<p>again"), "/map.xml": sitemap(a="2024-04-01")}
    web.run(5 * HOUR)
    assert web.known == known


def test_after_the_machine_slept(web):
    """The crawl's own time stands meanwhile: whether a date is one of tomorrow is seen by the
    machine's clock.
    """
    web.slept = 40 * DAY
    yesterday = time.strftime("%Y-%m-%d", time.gmtime(web.now + web.slept - DAY))
    web.documents |= {"/a": Document(b"<p>a"), "/map.xml": sitemap(a=yesterday)}
    web.run(5 * HOUR)
    assert len(web.times("/a")) >= 2
