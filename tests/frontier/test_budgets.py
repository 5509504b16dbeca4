"""Registered domains have budgets of pages; time is simulated."""

import pytest

from benchmarks.support import zoo
from tests.support.frontiers import drain, make, over_budget
from tests.support.saving import prepared
from webcrawl.base.model import Link
from webcrawl.frontier.allowances.fixed import Fixed
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.store.crawldb import CrawlDB

HOME = "http://www.zoo.test/"
PAGES = 20  # DOMAIN_BUDGET_PAGES


def budgeted(db, allowance=None, memory=4 << 20, **hooks):
    limits, politeness = Limits(queues=30, max_queues=100), Mercator(0, 0.1, 300)
    allowance = allowance or ByReputation(PAGES)
    return make(
        db,
        limits,
        domain=zoo.domain_of,
        memory=memory,
        politeness=politeness,
        allowance=allowance,
        **hooks,
    )


def linked(number, site, *more):
    """A site to which so many others link; their addresses are the seeds."""
    others = {f"other{at}.test": zoo.page_of_links(HOME, *more) for at in range(number)}
    return {"zoo.test": site, **others}, [f"http://{name}/" for name in others]


def pages_of(db, links, site, allowance=None, most=3000):
    """The pages of a site that were fetched, and the frontier at the end."""
    sites, seeds = linked(links, site)
    frontier = budgeted(db, allowance)
    return zoo.crawl(frontier, sites, seeds or [HOME], most)["zoo.test"], frontier


def saved(db):
    prepared(db)
    db.checkpoint()


def found(*urls):
    """Packed links as pages have them."""
    return [Link(url, "L", "http://via.test/").pack() for url in urls]


def test_a_seed_of_a_domain_whose_links_wait(db):
    """It has a seed's budget from then on: the links that waited come, and then the seed behind
    them.
    """

    def fetched():
        urls = []
        while pages := drain(frontier, 1000.0):
            urls += [link.url for _, link in pages]
            for _ in pages:
                frontier.domains.budgets.record_page("zoo.test", new=True)
        return urls

    frontier = budgeted(db, ByReputation(2))
    links = [f"http://www.zoo.test/{at}" for at in range(6)]
    frontier.add(found(*links))
    assert fetched() == links[:2]

    frontier.add([Link(HOME, seed=HOME).pack()])

    assert fetched() == [*links[2:], HOME]


class TestTraps:
    @pytest.mark.parametrize("trap", zoo.TRAPS)
    @pytest.mark.parametrize(("links", "most"), [(0, 10 * PAGES), (1, PAGES), (2, 4 * PAGES)])
    def test_a_trap_ends(self, db, trap, links, most):
        """Whatever a trap's shape, it costs what its reputation allows at most; all its other URLs
        wait.
        """
        pages, frontier = pages_of(db, links, zoo.TRAPS[trap])

        assert pages <= most
        assert (len(frontier), frontier.over_budget) == (
            over_budget(frontier)[0],
            over_budget(frontier)[0],
        )
        assert over_budget(frontier)[0] > 0
        assert over_budget(frontier)[1] == 1

    @pytest.mark.parametrize(("trap", "most"), [("copies", PAGES + 4), ("tenths", 5 * PAGES)])
    def test_who_repeats_himself_ends_sooner(self, db, trap, most):
        """However good its reputation is, a site that serves few new bodies gets little more than
        the lead.
        """
        pages, _ = pages_of(db, 10, zoo.TRAPS[trap])

        assert PAGES <= pages <= most

    def test_who_has_more_urls_than_pages_ends_sooner(self, db):
        """A site with far more URLs than it may have pages, however new its text is, has eight
        times the lead.
        """

        def site(host, path):
            return host + path, [f"http://{host}/{path}{word}/" for word in range(40)]

        pages, _ = pages_of(db, 3, site)

        assert pages == 8 * PAGES

    def test_a_trap_behind_a_good_site_ends(self, db):
        """What a domain has earned before does not pay for what it repeats now."""
        good, copies = zoo.good(50 * PAGES), zoo.TRAPS["copies"]

        def site(host, path):
            return copies(host, path) if "token" in path or path == "999" else good(host, path)

        pages, _ = pages_of(db, 3, site)

        assert 50 * PAGES < pages <= 52 * PAGES


class TestGoodSites:
    @pytest.mark.parametrize("links", [3, 10])
    def test_a_site_that_others_link_to_is_crawled_whole(self, db, links):
        """Links from three other domains are enough for a site a hundred times as large as the
        first budget.
        """
        pages, frontier = pages_of(db, links, zoo.good(100 * PAGES))

        assert pages == 100 * PAGES + 1  # its address without a number too
        assert len(frontier) == 0

    def test_redirects_and_copies_are_paid_for(self, db):
        """A site of which one URL in three has a new body is crawled whole."""

        def site(host, path):
            body, links = zoo.good(50 * PAGES)(host, path)
            return body if sum(map(ord, path)) % 3 == 0 else "moved", links

        pages, _ = pages_of(db, 3, site)

        assert pages == 50 * PAGES + 1

    def test_small_sites_are_crawled_whole_whoever_links_to_them(self, db):
        """A site no larger than the first budget needs no reputation."""
        pages, frontier = pages_of(db, 1, zoo.good(PAGES - 1))

        assert (pages, len(frontier)) == (PAGES, 0)


class TestWaiting:
    def test_the_best_reputation_goes_first(self, tmp_path):
        """Of the domains that may go on, the one to which most others link does."""
        db = CrawlDB(tmp_path)
        frontier = budgeted(db, Fixed(1))
        for name in ("one", "two", "three"):
            frontier.add(found(*(f"http://{name}.test/{at}" for at in range(2))))
        for number, name in ((1, "one"), (3, "three"), (2, "two")):
            for at in range(number):
                frontier.domains.heard(f"http://s{at}.test/", [f"http://{name}.test/"])
        zoo.crawl(
            frontier, {f"{name}.test": zoo.page_of_links() for name in ("one", "two", "three")}, []
        )
        assert over_budget(frontier) == (3, 3)
        saved(db)
        db.close()

        db = CrawlDB(tmp_path)
        waiting = budgeted(db, Fixed(2)).core.queues.budgets
        while not waiting.look():
            assert waiting.unsettled
        assert [waiting.pop().split(b"/")[2] for _ in range(3)] == [
            b"three.test",
            b"two.test",
            b"one.test",
        ]
        db.close()

    def test_the_next_run_goes_on_with_a_larger_budget(self, tmp_path):
        """What waits is in the state; another policy or a larger number of pages lets it on."""
        for allowance, pages in (
            (Fixed(5), 5),
            (Fixed(9), 4),
            (ByReputation(20), 11),
            (Unlimited(), 1000),
        ):
            db = CrawlDB(tmp_path)
            frontier = budgeted(db, allowance)
            seeds = [] if frontier.queued else [HOME]
            taken = zoo.crawl(frontier, {"zoo.test": zoo.items}, seeds, most=1000)
            assert taken["zoo.test"] == pages or (
                allowance.lead == 20 and taken["zoo.test"] == 200 - 9
            )
            saved(db)
            db.close()

    def test_requests_of_a_spider_need_no_budget(self, db):
        """A user's own request is made whatever the budget of its domain is, and uses none of it."""
        frontier = budgeted(db, Fixed(1))
        frontier.add([Link(f"http://zoo.test/{at}", request="e30=").pack() for at in range(5)])
        frontier.add(found("http://zoo.test/a", "http://zoo.test/b"))

        taken = zoo.crawl(frontier, {"zoo.test": zoo.page_of_links()}, [])

        assert (taken["zoo.test"], over_budget(frontier)) == (6, (1, 1))


class TestBounds:
    def test_no_budget_costs_nothing(self, db):
        """Without a limit no domain is counted, and nobody hears of links."""
        frontier = budgeted(db, Unlimited())
        frontier.add(found("http://zoo.test/a"))

        assert frontier.take(0) is not None
        assert frontier.domains.heard is None
        saved(db)
        assert db.query("SELECT count(*) FROM domain") == [(0,)]


class TestRequisites:
    """What pages need to be shown: many files, often of a domain that nobody links to."""

    CDN = "http://cdn.test/"

    def needed(self, number):
        return [
            Link(f"{self.CDN}{at}.png", "LE", "http://via.test/").pack() for at in range(number)
        ]

    def taken(self, frontier):
        return sum(1 for _, link in drain(frontier, 0.0, most=10_000) if link.path.endswith("E"))

    def test_they_do_not_starve(self, db):
        """A domain may be asked for 32 of them for each page that it may have, and for twice as
        many pages' worth.
        """
        frontier = budgeted(db, Fixed(5), requisites=True)
        frontier.add(self.needed(1000))

        taken = self.taken(frontier)

        # 10 times 32, give or take: which of them count is a matter of chance
        assert 200 < taken < 500
        assert taken + over_budget(frontier)[0] == 1000

    def test_they_cost_pages_little(self, db):
        """A site whose pages need 20 files each has nearly all its pages."""
        frontier = budgeted(db, Fixed(100), requisites=True)
        frontier.add(self.needed(1000) + found(*(f"{self.CDN}{at}" for at in range(100))))

        links = [link for _, link in drain(frontier, 0.0, most=10_000)]

        assert sum(link.path == "LE" for link in links) == 1000
        assert sum(link.path == "L" for link in links) > 50

    def test_those_that_wait_go_on_with_a_larger_budget(self, tmp_path):
        """They are part of the state, like pages."""
        taken = 0
        for allowance in (Fixed(1), Fixed(100)):
            db = CrawlDB(tmp_path)
            frontier = budgeted(db, allowance, requisites=True)
            if not taken:
                frontier.add(self.needed(500))
            taken += self.taken(frontier)
            saved(db)
            db.close()

        assert taken == 500

    def test_otherwise_an_embedded_link_is_a_page(self, db):
        """Unless requisites are fetched as such, a budget counts all links alike."""
        frontier = budgeted(db, Fixed(5))
        frontier.add(self.needed(50))

        assert self.taken(frontier) == 5
