"""What a crawl has for rendering, what an operator is shown of it, and that other crawls have
nothing of it.
"""

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, Outcome
from webcrawl.tools.why.opened_crawl import OpenedCrawl

URL = "http://a.test/"
SHELL = b"<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>"


def ends(crawl, visitor, url, **changes):
    """A shell is fetched, and its URL ends."""
    one = exchange(url, **{"body": SHELL, **changes})
    page = visitor.visit(Link(url), one)
    crawl.parts.statistics.record_end(Link(url), Outcome(200, 0.1, at=1.0, ended=1.0), one)
    return page


def test_without_a_browser_shells_are_counted_by_host(tmp_path):
    """In the crawl's figures, and in what it says of the host."""
    with crawling(tmp_path) as (crawl, visitor):
        for url in (URL, f"{URL}1", "http://b.test/"):
            ends(crawl, visitor, url)

        assert crawl.parts.rendering is None
        assert {
            name: value for name, value in crawl.stats().items() if name.startswith("need_scripts")
        } == {
            "need_scripts": 3,
            "need_scripts/hosts": 2,
        }
        assert crawl.parts.hosts.record("a.test")["need_scripts"] == 2
        assert "need_scripts" not in crawl.parts.hosts.record("c.test")


def test_with_a_browser_its_host_is_told_of(tmp_path):
    """To a running crawl's operator and, after a checkpoint, to whoever asks why."""
    with crawling(tmp_path, RENDER="auto") as (crawl, visitor):
        wanted = crawl.parts.rendering.wanted(exchange(URL, body=SHELL))
        made = exchange(URL, body=b"<p>words that a script has made of nothing", rendered=True)
        crawl.parts.rendering.record_rendering(wanted, SHELL, made, 1500)
        ends(crawl, visitor, URL)
        told = crawl.parts.hosts.record("a.test")["rendering"]
        assert told == (
            "all shells, all others; 1 of 1 had more text or links than the server sent, in 1.5 s "
            "of browser time"
        )
        assert "need_scripts" not in crawl.stats()
        crawl.parts.db.checkpoint()

    with OpenedCrawl(tmp_path) as source:
        assert [source.rendering(host) for host in ("a.test", "b.test")] == [told, ""]


def test_a_crawl_that_never_rendered_has_nothing_to_tell(tmp_path):
    """Its state has no such table."""
    with crawling(tmp_path) as (crawl, _):
        crawl.parts.db.checkpoint()
    with OpenedCrawl(tmp_path) as source:
        assert not source.snapshot.has("rendering")
        assert source.rendering("a.test") == ""


@pytest.mark.parametrize("rendered", [False, True])
def test_a_document_is_no_shell(tmp_path, rendered):
    """However little it shows, it is all that scripts make."""
    with crawling(tmp_path) as (crawl, visitor):
        assert ends(crawl, visitor, URL, rendered=rendered).recognised == (
            "" if rendered else "shell"
        )
        assert crawl.stats().get("need_scripts", 0) == (0 if rendered else 1)
