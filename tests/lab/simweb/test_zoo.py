"""Hosts that are endless traps, large good sites beside them, and links as the web has them."""

import asyncio
import re
from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.simweb_reader import Crawler, read
from tests.support.simweb_wire import get
from webcrawl.lab.simweb import ZOO, Hit, World, truth, wait_until_idle, zoo_hits
from webcrawl.lab.simweb.random_content import draws, path, prose
from webcrawl.lab.simweb.tree_pages import links
from webcrawl.lab.simweb.web_answers import WebRequest

SIZE = (2000, 3000)


@pytest.fixture(name="world", scope="module")
def _world():
    """A small web with every trap and a large site."""
    return World(20, 100, port=8000, size=SIZE, zoo=[*ZOO], large=[500])


def page(world, url):
    """The answer at a URL."""
    host, target = world.locate(url)
    return world.answer(WebRequest(host, target, name=url.split("/")[2].partition(":")[0]))


def wander(world, start, visits):
    """Follows the links as they lie about: the pages that were visited, and the URLs that were
    seen.
    """
    seen, queue, visited = {start}, [start], {}
    while queue and len(visited) < visits:
        url = queue.pop(len(visited) * 7 % len(queue))
        answer = page(world, url)
        found = [link for source, link in read(url, answer.body, answer.type) if source == "a"]
        visited[url] = answer, found
        for link in found:
            if link not in seen:
                seen.add(link)
                queue.append(link)
    return visited, seen


def text(answer):
    """The words of a page's main part, without its links."""
    return re.sub(
        rb"<a .*?</a>|<[^>]*>", b"", answer.body.partition(b"<main>")[2].partition(b"</main>")[0]
    ).split()


def shingles(answer):
    return set(zip(*(text(answer)[at:] for at in range(4)), strict=False))


def trap(world, kind):
    return f"{world.origin(world.hosts + [*ZOO].index(kind))}/"


class TestTraps:
    @pytest.mark.parametrize("kind", ZOO)
    def test_it_never_ends(self, world, kind):
        """Each page has 20 to 60 links, all into the trap, and the more one follows the more there
        are.
        """
        entrance = trap(world, kind)
        domain = entrance.split("/")[2]

        visited, seen = wander(world, entrance, 60)

        counts = [
            len(found) for answer, found in visited.values() if answer.type.startswith("text/html")
        ]
        assert len(visited) == 60
        assert min(counts) >= 20
        assert max(counts) <= 60
        assert len(seen) > 300
        assert all(url.split("/")[2].endswith(domain) for url in seen)

    @pytest.mark.parametrize("kind", ZOO)
    def test_it_is_the_same_every_time(self, world, kind):
        """A page follows from its URL alone."""
        again = World(20, 100, port=8000, size=SIZE, zoo=[*ZOO], large=[500])
        for url, (answer, _) in wander(world, trap(world, kind), 10)[0].items():
            assert page(again, url).body == answer.body

    @pytest.mark.parametrize("kind", ZOO)
    def test_every_address_exists(self, world, kind):
        """Any path has a page: a trap has no error pages to be recognised by."""
        for target in (
            "what/ever",
            "item/x",
            "cal/99999999999999999999",
            "agenda/2024-W99",
            "list?page=-1",
            "?&=&",
        ):
            assert page(world, trap(world, kind) + target).status == 200

    @pytest.mark.parametrize(
        ("kind", "form"),
        [
            ("zoo_items", r"/item/\d+"),
            ("zoo_pages", r"/list\?page=\d+"),
            ("zoo_facets", r"/shop(\?(\w+=\w+&?)*)?"),
            ("zoo_search", r"/find\?q=[\w+]+"),
            ("zoo_tokens", r"/view/\w+\?token=[0-9a-f]{32}"),
            ("zoo_tokens_fresh", r"/view/\w+\?token=[0-9a-f]{32}"),
            ("zoo_sessions", r"/s/[0-9a-f]{16}/\w+-\d+\.html"),
            ("zoo_git", r"/(commits/[0-9a-f]{40}|(tree|blame|raw)/[0-9a-f]{40}/\w+/\w+\.py)"),
            ("zoo_subdomains", r"/(\w+\.html)?"),
            ("zoo_farm", r"/(\w+-\d+\.html)?"),
            ("zoo_novels", r"/[\w/-]+"),
            ("zoo_days", r"/day/\d{5}"),
            ("zoo_seconds", r"/cal/\d{10}"),
            ("zoo_weeks", r"/agenda/\d{4}-W\d\d"),
            ("zoo_months", r"/events/[a-z]+-\d{4}"),
        ],
    )
    def test_its_addresses(self, world, kind, form):
        """The addresses of each kind have the form that is its own."""
        entrance = trap(world, kind)
        _, seen = wander(world, entrance, 10)

        strange = {url for url in seen if not re.fullmatch(form, "/" + url.split("/", 3)[3])}

        assert strange <= {entrance}

    @pytest.mark.parametrize(
        "kind", ["zoo_facets", "zoo_days", "zoo_seconds", "zoo_weeks", "zoo_months"]
    )
    def test_some_show_the_same_everywhere(self, world, kind):
        """Whatever filter is chosen, and on whatever day, there is the same text."""
        texts = [text(answer) for answer, _ in wander(world, trap(world, kind), 10)[0].values()]

        assert len(texts[0]) > 100
        assert texts == [texts[0]] * 10

    @pytest.mark.parametrize("kind", ["zoo_novels", "zoo_items", "zoo_search", "zoo_tokens_fresh"])
    def test_some_always_show_something_new(self, world, kind):
        """Every page has a text that no other page has."""
        answers = [answer for answer, _ in wander(world, trap(world, kind), 10)[0].values()]

        assert max(len(shingles(one) & shingles(two)) for one, two in pairwise(answers)) < 5

    def test_tokens_change_nothing(self, world):
        """An article has the same text with every token."""
        entrance = trap(world, "zoo_tokens")
        one, two = (page(world, f"{entrance}view/river?token={token}") for token in ("ab", "cd"))

        assert text(one) == text(two)
        assert one.body != two.body

    def test_raw_files_are_text(self, world):
        """Below /raw/ there are files without links."""
        answer = page(world, trap(world, "zoo_git") + f"raw/{'0a' * 20}/core/river.py")
        assert answer.type.startswith("text/plain")
        assert b"<" not in answer.body

    def test_every_name_below_the_domain_exists(self, simweb):
        """Any name below a wildcard domain is served at the address of the domain; other traps have
        one name.
        """
        server = simweb(3, 6, size=SIZE, zoo=["zoo_items", "zoo_subdomains"])
        world = server.world

        assert world.number("a.b.c.trap1.test") == world.number("trap1.test") == 4
        assert world.number("a.trap0.test") is None
        assert world.locate(f"http://a.b.trap1.test:{world.port}/x") == (4, "/x")
        assert world.locate(f"https://a.b.trap1.test:{world.port}/x") is None
        assert b"a.b.c.trap1.test" in get(server, Host="a.b.c.trap1.test")[2]

    def test_domains_without_end(self, world):
        """A farm is of ever more registered domains, all of which exist."""
        _, seen = wander(world, trap(world, "zoo_farm"), 20)

        assert len({url.split("/")[2] for url in seen}) > 200
        assert {world.locate(url)[0] for url in seen} == {world.hosts + [*ZOO].index("zoo_farm")}

    @pytest.mark.parametrize("options", [{"zoo": ["what"]}, {"large": [0]}])
    def test_what_is_no_animal_is_refused(self, options):
        """An unknown trap, or a site without pages, is a ValueError."""
        with pytest.raises(ValueError, match=r"\S"):
            World(5, 10, **options)


class TestLarge:
    def test_its_pages_are_new_and_all_owed(self, world):
        """The truth demands every page of a large site, and each has its own text."""
        owed = truth(world, world.seeds()).must
        number = world.number("large0.test")
        urls = [f"{world.origin(number)}{path(at)}" for at in range(500)]

        answers = [page(world, url) for url in urls[:20]]

        assert owed >= set(urls)
        assert len({url for url in owed if "//large0." in url}) == 500
        assert max(len(shingles(one) & shingles(two)) for one, two in pairwise(answers)) < 5

    def test_few_domains_know_it(self, world):
        """Three ordinary hosts at most link to a trap or a large site, and none is among the seeds."""
        linking = defaultdict(set)
        for host in range(world.hosts):
            for at in range(world.pages_of(host)):
                url = f"{world.origin(host)}{path(at)}"
                for _, link in read(url, page(world, url).body, "text/html"):
                    if re.search(r"//(trap|large)\d", link):
                        linking[link.split("/")[2]].add(host)

        assert len(linking) == len(world.extra_hosts) == len(ZOO) + 1
        assert {len(hosts) for hosts in linking.values()} <= {1, 2, 3}
        assert not any("trap" in url or "large" in url for url in world.seeds())


class TestTruth:
    def test_a_crawl_of_a_web_with_traps(self, simweb):
        """All pages of ordinary hosts and of the large site are owed; those of traps may be
        requested for.
        """
        server = simweb(10, 60, size=SIZE, zoo=[*ZOO], large=[80])
        world = server.world
        crawler = Crawler(server.nameserver, seconds=5, trap=re.compile(r"//[^/]*trap\d+\.test"))

        asyncio.run(crawler.crawl([*world.seeds()]))
        wait_until_idle(server)

        expected = truth(world, world.seeds())
        assert [*expected.complaints(server.log.hits)] == []
        assert len(expected.must) == 140
        assert expected.traps == {trap(world, kind) for kind in ZOO}
        assert zoo_hits(world, server.log.hits) == dict.fromkeys(ZOO, 20)

    def test_a_trap_that_no_link_leads_to(self, world):
        """A trap's page may be requested only if the crawl can have found the trap."""
        found = truth(world, [f"{world.origin(0)}/"], "host")
        url = f"{trap(world, 'zoo_subdomains')}".replace("//", "//a.b.") + "x.html"

        assert found.never(url)
        assert not truth(world, world.seeds()).never(url)

    def test_robots_txt_is_no_trap(self, world):
        """Requests for robots.txt are not counted among a trap's pages."""
        hits = [
            Hit(0.0, 0.0, trap(world, "zoo_items") + rest, "127.0.0.1", 1)
            for rest in ("robots.txt", "item/5")
        ]
        assert zoo_hits(world, hits) == {"zoo_items": 1}


class TestPopularity:
    def degrees(self, world):
        """From how many other hosts each host is linked to, the most popular first."""
        linking = defaultdict(set)
        for host in range(world.hosts):
            for at in range(world.pages_of(host)):
                for other, _, _ in links(world, host, at, draws(world.seed, host, at, 64)[4:44]):
                    linking[other].add(host)
        return sorted((len(hosts) for hosts in linking.values()), reverse=True)

    def test_few_hosts_are_popular(self):
        """With `popular` few hosts are known to most others, and most hosts to few; each is known
        to one at least.
        """
        degrees = self.degrees(World(300, 3000, popular=True))

        assert len(degrees) == 300
        assert degrees[0] > 100
        assert degrees[150] < 15

    def test_otherwise_all_are_alike(self):
        """Without it every host is known to about as many as any other."""
        degrees = self.degrees(World(300, 3000))

        assert degrees[0] < 3 * degrees[-1]


@given(st.text(max_size=20), st.integers(0, 60_000))
def test_prose_is_as_long_as_asked_for(key, length):
    """A text has exactly the wanted length, whatever it is about."""
    assert len(prose(key, length)) == length
