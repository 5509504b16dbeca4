"""A sitemap that cannot be read for a while, in a whole crawl without a network: it is a listing
all the time.
"""

import pytest

from tests.support.changing_site import Document
from tests.support.examples import in_campaign
from tests.support.revisiting import HOST, Web

HOUR = 3600
PAGES = 20
MAP = Document(
    f"<urlset><url><loc>{HOST}/0</loc><lastmod>2024-01-01</lastmod></url></urlset>".encode(),
    media="text/xml",
)


@pytest.fixture(name="web")
def _web(tmp_path):
    settings = {
        "REVISIT_POLICY": "uniform",
        "REVISIT_RATE": PAGES / 300,
        "SITEMAPS": True,
        "HOST_MAX_FAILURES": 1000,
    }
    one = Web(tmp_path / "crawl", {"/map.xml": MAP, "*": Document(b"<p>")}, **settings)
    one.seed("/map.xml", *(f"/{number}" for number in range(PAGES)))
    one.run(HOUR / 2)
    yield one
    assert one.damage() == []


def the_listing(web):
    """Its record, wherever it waits."""
    (record,) = [
        one
        for one in web.crawl.parts.revisiting.revisits.release(100)
        if one.url == web.url("/map.xml")
    ]
    return record


@pytest.mark.parametrize(
    "document", [Document(status=503), Document(status=404), None], ids=["503", "404", "away"]
)
@pytest.mark.parametrize("kill", [False, *in_campaign(True)], ids=["", "killed"])
def test_it_stays_a_listing(web, document, kill):
    """Whatever its fetches come to; and so it is after a kill, whether it was on its way or waited."""
    read = len(web.times("/map.xml"))
    web.documents["/map.xml"] = document
    for _ in range(12):
        web.run(HOUR / 4)
        if kill:
            web.checkpoint()
            web.run(300)
            web.kill()
    record = the_listing(web)

    assert len(web.times("/map.xml")) > read
    assert (record.listing, record.visits) == (True, read - 1)


def test_it_is_read_again(web):
    """Once it can be read its news are heard, and it has its turns by what it brings."""
    read = len(web.times("/map.xml"))
    web.documents["/map.xml"] = Document(status=503)
    web.run(2 * HOUR)
    web.documents["/map.xml"] = MAP
    web.run(3 * HOUR)
    record = the_listing(web)

    assert record.listing
    assert record.visits >= read
