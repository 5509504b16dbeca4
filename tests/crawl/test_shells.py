"""A small body that was seen elsewhere is followed where its relative links lead to other pages."""

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.frontier.seen.content import SHELL_SIZE

SHELL = b'<a href="/enter">Enter here'
LARGE = SHELL + b"x" * SHELL_SIZE


def visit(visitor, url, body=SHELL, path=""):
    """The page, with its links followed."""
    page = visitor.visit(Link(url, path), exchange(url, body=body))
    visitor.follow(page)
    return page


def submitted(crawl):
    return crawl.stats()["links/new"]


class TestShells:
    def test_a_large_body_is_skipped(self, tmp_path):
        """A body of more than SHELL_SIZE bytes that was seen elsewhere is not read again."""
        with crawling(tmp_path) as (crawl, visitor):
            pages = [visit(visitor, f"http://site{number}.test/", LARGE) for number in range(3)]

            assert [bool(page.found) for page in pages] == [True, False, False]
            assert not pages[1].exchange.state.followed
            assert submitted(crawl) == 1

    def test_without_links_it_does_not_count(self, tmp_path):
        """A body without links is not the one of its domain: the shell that comes after it is
        followed.
        """
        with crawling(tmp_path) as (crawl, visitor):
            for number in range(2):
                visit(visitor, f"http://site{number}.test/empty", b"Nothing here.")
                visit(visitor, f"http://site{number}.test/")

            assert submitted(crawl) == 2

    @pytest.mark.parametrize("scope", ["host", "domain"])
    def test_a_scope_of_sites_needs_none(self, tmp_path, scope):
        """Where links must stay on their site, each site's copy is read anyway, and a second one
        there is not.
        """
        with crawling(tmp_path, URL_SCOPE=scope) as (_, visitor):
            read = [
                bool(visit(visitor, f"http://{host}.test/{at}").found)
                for at in range(2)
                for host in "ab"
            ]

            assert read == [True, True, False, False]

    def test_all_is_processed_if_the_settings_say_so(self, tmp_path):
        """With CONTENT_SEEN=process every body is read, and nothing is noted."""
        with crawling(tmp_path, CONTENT_SEEN="process") as (crawl, visitor):
            pages = [visit(visitor, f"http://a.test/{number}", LARGE) for number in range(3)]

            assert all(page.found for page in pages)
            assert not any(page.exchange.state.followed for page in pages)
            assert len(crawl.parts.content) == 1

    def test_what_new_content_leaves(self, tmp_path):
        """A page whose body is new leaves three digests: of the body, and of where it was, by host
        and by folder.
        """
        with crawling(tmp_path) as (crawl, visitor):
            for number in range(5):
                visit(visitor, f"http://site{number}.test/", SHELL + b"%d" % number)

            assert len(crawl.parts.content) == 3 * 5

    def test_killed(self, tmp_path):
        """What was followed before a checkpoint is known to the next run; what was followed after
        it is done again.
        """
        with crawling(tmp_path) as (crawl, visitor):
            visit(visitor, "http://a.test/")
            visit(visitor, "http://b.test/")
            crawl.checkpoint()
            visit(visitor, "http://c.test/")
        with crawling(tmp_path) as (_, visitor):
            found = [
                visit(visitor, f"http://{host}.test/").exchange.state.followed
                for host in ("b", "c", "www.c")
            ]

            assert found == [False, True, False]
