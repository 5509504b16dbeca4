"""Plays a stranger who knows only README: its lines, copied by a parser, in a fresh copy and a fresh environment."""

import gzip
import json
import os
import re
import time
from collections import Counter

import pytest

from tests.support.documents import checkout, run, sections
from tests.support.plain_site import Site, serving

pytestmark = pytest.mark.campaign  # it installs everything, from the package index
PAGES, AWAY, BROKEN, SLOW = 200, {7, 57, 107, 157, 187}, 33, 66
PIXEL = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


class Shop(Site):
    """Two hundred pages with images and redirects; five always answer 503, one 500, and one takes its time."""

    def answer(self):
        kind, _, number = self.path.strip("/").partition("/")
        if kind == "image":
            self.say(200, PIXEL, content_type="image/gif")
        elif kind == "moved":
            self.say(302, b"", location=f"/page/{number}")
        elif kind in ("", "page"):
            self.page(int(number or 0))
        else:
            self.say(404, b"")

    def page(self, number):
        if number == SLOW:
            time.sleep(3)
        after = (number * 2 + 1, number * 2 + 2)
        links = "".join(f"<a href=/moved/{one}>to {one}</a>" for one in after if one < PAGES)
        body = f"<title>Ware {number}</title><p>Ware {number} is for sale.</p><img src=/image/{number}>{links}"
        # those that fail have no page below them that is not linked elsewhere
        extra = "".join(f"<a href=/page/{one}>{one}</a>" for one in range(PAGES)) if number == 0 else ""
        status = 503 if number in AWAY else 500 if number == BROKEN else 200
        self.say(status, f"{body}{extra}".encode(), content_type="text/html")


@pytest.fixture(name="shop", scope="module")
def _shop(tmp_path_factory):
    """What README's commands leave: the copy of the checkout, and all that they print."""
    with serving(Shop) as site:
        folder = checkout(tmp_path_factory.mktemp("stranger") / "webcrawl", site)
        status, output, _ = run(next(sections("README.md")), folder, site, os.environ["PATH"])
        assert status == 0, output
        yield folder, output


def test_every_page_has_its_text(shop):
    """Each page that the site gives can be read in `text/`, once, with its title and words."""
    folder, _ = shop
    files = sorted((folder / "crawls/example-text/text").glob("*.gz"))
    rows = [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]

    titles = Counter(row["title"] for row in rows)
    assert titles == Counter(f"Ware {number}" for number in range(PAGES) if number not in {*AWAY, BROKEN})
    assert all("is for sale" in row["text"] for row in rows)


def test_what_failed_is_named(shop):
    """crawl.log and the report have the URLs that always answer 503 and 500."""
    folder, _ = shop
    lines = [line.split() for line in (folder / "crawls/example/logs/crawl.log").read_text().splitlines()]
    failed = {int(words[3].rpartition("/")[2]): words[1] for words in lines if words[1] in ("500", "503")}

    assert failed == {**dict.fromkeys(AWAY, "503"), BROKEN: "500"}
    report = (folder / "crawls/example/report.html").read_text()
    assert all(re.search(rf"\b{status}\b", report) for status in (500, 503))


def test_all_is_whole(shop):
    """`verify` finds no damage, `why` knows the seed, and the archive is packed."""
    folder, output = shop

    assert "crawls/example: no damage found" in output
    assert re.search(r"^\+ webcrawl why .*\n(?:.*\n)*?.*fetched", output, re.MULTILINE)
    assert (folder / "example.wacz").stat().st_size > PAGES * 100
