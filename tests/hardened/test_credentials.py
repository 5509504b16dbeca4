"""Passwords that a page's author has put into links are not spread by the crawl."""

# Seen on 2026-11-21, before this was fixed: each of the links was in links.log as it was written.
# No other file but the archive had a password.

import json

import pytest

from tests.support.crawling import Crawl
from tests.support.hostile_site import page, site

LINKS = [
    "http://user:secret@{place}/a",
    "HTTP://user:secret@{place}/b",
    "//user:secret@{place}/c",
    " http://user:secret@{place}/d",
    "http:\\\\user:secret@{place}\\f",
    "ht\ntp://user:se\ncret@{place}/g",
    "http://user:se@cret:secret@{place}/h",
    "http://:secret@{place}/i",
    "http://secret@{place}/j",
    "ftp://user:secret@{place}/k",
    "gopher://user:secret@{place}/l",
    "http://user:secret@no such host/m",
]


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """One of a page with such links, in attributes and as a redirect."""
    with site({}) as server:
        place = f"127.0.0.1:{server.port}"
        links = "".join(f'<a href="{link.format(place=place)}">x</a>' for link in LINKS)
        server.answers["/"] = page(f"{links}<a href=/moved>x</a>".encode())
        moved = f"Location: http://user:secret@{place}/n".encode()
        server.answers["/moved"] = page(b"", moved, status=b"302 Found")
        # The first is refused: a login belongs in AUTH_FILE
        seeds = f"http://user:secret@{place}/\nhttp://{place}/\n"
        (tmp_path / "seeds.txt").write_text(seeds)
        settings = {
            "ITEM_PIPELINES": json.dumps(
                {"webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 300}
            ),
            "ROBOTSTXT_OBEY": False,
            "HOST_MAX_FAILURES": 1,
            "HOST_PATIENCE": 0,
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
        assert crawl.run() == 0
        yield crawl


def test_links_are_logged_without_credentials(crawl):
    """Every link is in links.log, with all of its address but user and password."""
    lines = (crawl.jobdir / "logs/links.log").read_text().splitlines()

    assert [line for line in lines if "secret" in line or "user" in line] == []
    assert len(lines) == len(LINKS) + 2  # and the redirect
    assert all("127.0.0.1" in line or "no such host" in line for line in lines)


def test_no_file_but_the_archive_has_credentials(crawl):
    """Neither the logs nor the state have a password; the archive has what the server sent."""
    files = [
        path for path in crawl.jobdir.rglob("*") if path.is_file() and path.parent.name != "warc"
    ]

    assert [path.name for path in files if b"secret" in path.read_bytes()] == []
    assert "secret" not in crawl.output.read_text()
