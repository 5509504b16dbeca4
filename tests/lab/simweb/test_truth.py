"""The truth about a synthetic web is what a crawler without mistakes requests from its server."""

import asyncio
from dataclasses import replace

import pytest

from tests.support.examples import in_campaign
from tests.support.outages import without_late
from tests.support.simweb_reader import Crawler
from webcrawl.lab.simweb import Hit, World, even, hostile, trap_hits, truth, wait_until_idle
from webcrawl.lab.simweb.mix import GROUPS
from webcrawl.lab.simweb.truth import ATTEMPTS, BUSY_ATTEMPTS

SLOW = 0.02
SECONDS = 1.2  # of patience: 30 times what a page takes here


def crawl(server, seeds, **options) -> list:
    """The requests of the plain crawler, without those that it made again because this machine was
    slow.
    """
    crawler = Crawler(server.nameserver, seconds=SECONDS, **options)
    asyncio.run(crawler.crawl([*seeds]))
    wait_until_idle(server)
    return without_late(server.log.hits, truth(server.world, seeds), crawler.late)


class TestCrawls:
    def test_a_plain_world_is_requested_whole(self, simweb):
        """From the first host's root every page of every host is found, each requested once."""
        server = simweb(20, 300, size=(2000, 3000))
        world = server.world
        seeds = [f"{world.origin(0)}/"]

        hits = crawl(server, seeds)

        expected = truth(world, seeds)
        assert (
            len([url for url in expected.must if world.page_at(*world.locate(url)) is not None])
            == 300
        )
        assert [*expected.complaints(hits)] == []

    @pytest.mark.parametrize("group", ["robots", *in_campaign(*sorted(GROUPS.keys() - {"robots"}))])
    def test_a_world_of_every_kind_of_a_group(self, simweb, group):
        """For every kind of a group the requests are those that the truth demands."""
        server = simweb(40, 250, mix=even(GROUPS[group]), size=(2000, 3000), slow=SLOW)
        world = server.world

        hits = crawl(server, world.seeds())

        expected = truth(world, world.seeds())
        assert [*expected.complaints(hits)] == []

    def test_a_hostile_world(self, simweb):
        """With all faults at once the requests are those that the truth demands, and traps stay
        bounded.
        """
        server = simweb(40, 300, mix=hostile() | {"https": 0.2}, size=(2000, 3000), slow=SLOW)
        world = server.world

        hits = crawl(server, world.seeds())

        expected = truth(world, world.seeds())
        assert [*expected.complaints(hits)] == []
        assert max(trap_hits(hits).values()) <= 20

    @pytest.mark.parametrize("scope", ["any", "seeds", "domain", "host"])
    def test_scopes(self, simweb, scope):
        """The truth of each scope is what following the links inside it requests."""
        mix = {"subdomain": 0.5} | even(["redirect_elsewhere", "duplicate", "refresh"])
        server = simweb(12, 120, mix=mix, size=(2000, 3000))
        world = server.world
        seeds = [f"{world.origin(host)}/" for host in (0, 1)]

        def host(url):
            return url.split("/")[2].partition(":")[0]

        def domain(url):
            return host(url).split(".")[-2]

        rules = {
            "any": lambda _, __: True,
            "seeds": lambda _, target: domain(target) in {"site0", "site1"},
            "domain": lambda url, target: domain(url) == domain(target),
            "host": lambda url, target: host(url) == host(target),
        }
        hits = crawl(server, seeds, inside=rules[scope])

        expected = truth(world, seeds, scope)
        assert [*expected.complaints(hits)] == []
        assert (scope == "any") == ("out of scope" not in expected.excluded.values())


@pytest.fixture(name="right", scope="module")
def _right():
    """A truth, and the requests of a crawl that does everything right."""
    world = World(
        10, 60, port=8000, mix=even(["status_502", "trap_numbers", "no_links", "robots_disallow"])
    )
    found = truth(world, world.seeds())
    return found, [_hit(url) for url in sorted(found.must)]


class TestComplaints:
    """Every kind of mistake in the requests of a right crawl is noticed."""

    def test_right_requests_give_none(self, right):
        """Exactly the required requests give no complaint."""
        found, hits = right
        assert [*found.complaints(hits)] == []

    def test_a_missing_url(self, right):
        """A URL that was never requested is named."""
        found, hits = right
        assert [*found.complaints(hits[1:])] == [f"not requested: {hits[0].url}"]

    def test_a_second_request(self, right):
        """A URL requested twice without need is named."""
        found, hits = right
        twice = next(hit for hit in hits if hit.url not in found.retried)
        assert [*found.complaints([*hits, twice])] == [
            f"requested 2 times, at most 1 allowed: {twice.url}"
        ]

    @pytest.mark.parametrize(("others", "most"), [(False, ATTEMPTS), (True, BUSY_ATTEMPTS)])
    def test_a_failing_url_may_be_retried(self, right, others, most):
        """A failing URL may be requested three times, more often if others of its host fail too,
        and no more.
        """
        found, hits = right
        failing = _hit(min(found.busy if others else found.retried - found.busy))
        assert [*found.complaints([*hits, *[failing] * (most - 1)])] == []
        assert len([*found.complaints([*hits, *[failing] * most])]) == 1

    def test_robots_are_obeyed(self, right):
        """A URL that robots.txt forbids is named with its reason."""
        found, hits = right
        forbidden = next(url for url, reason in found.excluded.items() if reason == "robots.txt")
        assert [*found.complaints([*hits, _hit(forbidden)])] == [
            f"must not be requested (robots.txt): {forbidden}",
        ]

    def test_a_link_out_of_a_comment(self, right):
        """A URL from a comment or a script is named: no link leads there."""
        found, hits = right
        url = f"{found.world.origin(0)}/never/comment/1"
        assert [*found.complaints([*hits, _hit(url)])] == [
            f"must not be requested (no link leads there): {url}"
        ]

    def test_traps_may_be_entered(self, right):
        """Pages of a trap may be requested if a link leads into it."""
        found, hits = right
        assert [*found.complaints([*hits, _hit(min(found.traps) + "?page=7")])] == []
        elsewhere = f"{found.world.origin(0)}/x/trap_numbers/999999?page=7"
        assert len([*found.complaints([*hits, _hit(elsewhere)])]) == 1

    def test_an_address_outside(self, right):
        """A request to an address outside the allowed range is named, whatever its host."""
        found, hits = right
        trespassing = replace(hits[0], address="127.9.9.9")
        assert [*found.complaints([trespassing, *hits[1:]])] == [
            f"sent to an address outside the allowed range: {hits[0].url}"
        ]


class TestRules:
    def test_sources_that_are_not_followed(self):
        """If other kinds of links are followed, other URLs must be requested."""
        world = World(1, 30, port=8000)
        seeds = [*world.seeds()]

        more = (
            truth(world, seeds, follow={"a", "img", "link", "script", "form"}).must
            - truth(world, seeds).must
        )

        assert {url.split("/")[3] for url in more} == {"static", "search"}

    def test_nofollow_is_obeyed_if_asked_for(self):
        """Nofollow links are skipped only if the crawl says so."""
        world = World(1, 40, port=8000, mix=even(["nofollow", "robots_meta"]))

        more = (
            truth(world, world.seeds()).must - truth(world, world.seeds(), obey_nofollow=True).must
        )

        assert more
        assert {url.split("/")[6] for url in more} == {"nofollow", "robots_meta"}

    @pytest.mark.parametrize(("hops", "reached"), [(4, False), (5, True)])
    def test_hops(self, hops, reached):
        """A chain of five redirects leads to its end if five are allowed, not if four are."""
        world = World(1, 5, port=8000, mix={"redirect_chain": 1.0})

        found = truth(world, world.seeds(), max_hops=hops)

        assert any("/landing/" in url for url in found.must) == reached

    def test_filters(self):
        """URLs kept out by the crawl's filters are not requested, nor those that only they lead to."""
        world = World(1, 10, port=8000)

        found = truth(world, world.seeds(), wanted=lambda url: url.endswith("test:8000/"))

        assert found.must == {f"{world.origin(0)}/"}
        assert set(found.excluded.values()) == {"filtered"}


def _hit(url):
    return Hit(0.0, 0.0, url, "127.0.0.1", 1, ended=0.0, status=200)
