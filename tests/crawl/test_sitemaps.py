"""Which sitemaps a host is asked for, when, and how many URLs they bring."""

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, Outcome, url_of
from webcrawl.crawl.crawl import counted_as
from webcrawl.crawl.sitemaps import GROWN
from webcrawl.frontier.booking import _is_page
from webcrawl.frontier.host_queues import MAX_LISTED

SITE = "http://a.test"
MAP = f"{SITE}/map.xml"
ROBOTS = f"Sitemap: {MAP}\nSitemap: http://b.test/map.xml\n".encode()


@pytest.fixture(name="site")
def _site(tmp_path):
    with crawling(tmp_path / "job", POLITENESS_MIN_DELAY=0, POLITENESS_FACTOR=0) as (
        crawl,
        visitor,
    ):
        yield Site(crawl, visitor)


class Site:
    """A crawl of one host, with its answers given by hand; `found` lists what is submitted."""

    def __init__(self, crawl, visitor):
        self.crawl, self.visitor, self.found = crawl, visitor, []
        seen = crawl.parts.seen
        self.submit, seen.submit = seen.submit, self._submitted

    def _submitted(self, keys, records):
        self.found += [(url_of(record), record.split(b" ")[1].decode()) for record in records]
        return self.submit(keys, records)

    def answer(self, link, body=b"", kind="text/html", status=200):
        """The crawl visits this answer and follows it."""
        answered = exchange(
            link.url, body=body, status=status, headers=[(b"Content-Type", kind.encode())]
        )
        page = self.visitor.visit(link, answered)
        (self.visitor.follow_robots if link.is_prerequisite else self.visitor.follow)(page)
        return page

    def robots(self, page, body=ROBOTS):
        return self.answer(
            Link(f"{SITE}/robots.txt", f"{page.path}P", history=SITE), body, "text/plain"
        )

    def maps(self):
        """The sitemaps that were submitted, and how they were found."""
        return [(url, path) for url, path in self.found if path.upper().endswith("M")]


PAGE = Link(f"{SITE}/page", "L", f"{SITE}/", f"{SITE}/")


@pytest.mark.parametrize(
    ("path", "history", "counts"),
    [("L", "", True), ("MML", "", True), ("M", "", False), ("LMR", "", False), ("P", SITE, False)],
)
def test_which_answers_are_pages_of_a_host(path, history, counts):
    """Robots.txt and sitemaps are not counted among its ten, nor for HOST_MAX_PAGES."""
    assert _is_page(Link(f"{SITE}/x", path, history=history), Outcome(200)) is counts


@pytest.mark.parametrize(
    ("links", "path", "requested"),
    [(GROWN - 1, "", 2), (GROWN - 1, "R", 2), (GROWN, "", 0), (1, "L", 0)],
)
def test_a_seed_that_leads_nowhere_needs_them_at_once(site, links, path, requested):
    """With fewer than ten links, redirected or not; pages that links led to are no seeds."""
    seed = Link(f"{SITE}/", path)
    site.robots(seed)
    site.answer(seed, b"".join(b"<a href=/%d>" % number for number in range(links)))

    assert len(site.maps()) == requested


def test_a_robots_txt_that_is_read_again_has_those_that_are_new(site):
    """The host is busy by then."""
    site.robots(PAGE, b"")
    site.robots(PAGE)

    assert site.maps()[0] == (MAP, "LM")


def test_an_index_names_sitemaps_and_a_sitemap_pages(site):
    """The path tells one from the other, so that logs and queues can."""
    index = f"<sitemapindex><sitemap><loc>{MAP}</loc></sitemap></sitemapindex>".encode()
    pages = f"<urlset><url><loc>{SITE}/1</loc></url><url><loc>http://b.test/2</loc></url></urlset>".encode()
    site.answer(Link(f"{SITE}/index.xml", "M"), index, "text/xml")
    site.answer(Link(MAP, "MM"), pages, "text/xml")

    assert site.found == [(MAP, "MM"), (f"{SITE}/1", "MML"), ("http://b.test/2", "MML")]
    assert site.crawl.parts.counters["sitemaps/urls"] == 3


def test_one_that_a_page_links_to_is_a_page(site):
    """Unless SITEMAPS is on: it was not requested as a sitemap."""
    body = f"<urlset><url><loc>{SITE}/1</loc></url></urlset>".encode()
    site.answer(PAGE, body, "text/xml")

    assert site.found == []


def test_they_bring_as_many_urls_as_a_host_may_have(site):
    """All that is beyond is counted; one that is fetched again brings what it names now."""

    def listing(first, many):
        return "\n".join(f"{SITE}/{number}" for number in range(first, first + many)).encode()

    site.answer(Link(MAP, "M"), listing(0, MAX_LISTED - 101), "text/plain")
    page = site.answer(Link(f"{SITE}/2.xml", "M"), listing(MAX_LISTED, 200), "text/plain")

    assert len(page.followed) == 99
    counters = site.crawl.parts.counters
    assert (counters["sitemaps/urls"], counters["sitemaps/cut"], counters["links/cut"]) == (
        MAX_LISTED - 2,
        101,
        101,
    )


def test_answers_are_counted_apart(site):
    """A sitemap is no page, a failure is a failure."""
    counted = site.crawl._counted
    for path, status in (("L", 200), ("M", 200), ("MR", 404), ("ML", 200), ("M", -2)):
        counted(Outcome(status), None, counted_as(path))
    counters = site.crawl.parts.counters

    assert [counters[name] for name in ("answers", "sitemaps", "failures")] == [2, 2, 1]


def test_off_nothing_is_submitted(tmp_path):
    """Nor kept."""
    with crawling(tmp_path / "job", SITEMAPS=False) as (crawl, visitor):
        site = Site(crawl, visitor)
        site.robots(PAGE)
        assert (site.found, crawl.parts.robots.book.sitemaps(SITE + "/")) == ([], ())
        assert not crawl.parts.frontier.notes._grown.get(GROWN)
