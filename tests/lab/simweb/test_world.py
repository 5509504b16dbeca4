"""The synthetic web as a pure function of its parameters."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs import kind_words
from webcrawl.lab.simweb import World, even, hostile
from webcrawl.lab.simweb.host_kinds import PLAIN, ROBOTS, robots_forbid
from webcrawl.lab.simweb.mix import GROUPS, SLOPES
from webcrawl.lab.simweb.name_server import IPV6_KINDS
from webcrawl.lab.simweb.random_content import Shares, page_number, path
from webcrawl.lab.simweb.tree_pages import anchors, links
from webcrawl.lab.simweb.web_answers import WebRequest

NUMBERS = st.integers(0, 10**9)


class TestSizes:
    @given(hosts=st.integers(1, 300), more=st.integers(0, 5000))
    def test_hosts_share_all_pages(self, hosts, more):
        """Each host has at least one page, all together have the given number, and the first has
        most.
        """
        world = World(hosts, hosts + more)

        sizes = [world.pages_of(host) for host in range(hosts)]

        assert sum(sizes) == hosts + more
        assert min(sizes) >= 1
        assert max(sizes) <= sizes[0] + 1

    def test_sizes_follow_zipf(self):
        """The n-th host has about one n-th of the first one's pages."""
        world = World(1000, 1_000_000)

        ratios = [
            world.pages_of(host - 1) * host / world.pages_of(0) for host in (10, 30, 100, 300)
        ]

        # the integral of 1/x is ln 2 over the first step, not 1
        assert all(1.2 < ratio < 1.6 for ratio in ratios)

    @pytest.mark.parametrize(
        "options",
        [
            {"hosts": 0},
            {"pages": 3},
            {"size": (9, 8)},
            {"links": 5},
            {"addresses": 0},
            {"mix": {"what": 1}},
        ],
    )
    def test_impossible_worlds_are_refused(self, options):
        """An impossible world is a ValueError in the constructor."""
        with pytest.raises(ValueError, match=r"\S"):
            World(**{"hosts": 5, "pages": 10, **options})


class TestNames:
    @given(NUMBERS)
    def test_paths_name_their_page(self, page):
        """A page's path gives back its number, and is the path of a canonical URL."""
        assert page_number(path(page)) == page

    @given(st.text(max_size=40), NUMBERS)
    def test_other_paths_name_no_page(self, text, page):
        """A path that differs from every page's names no page."""
        assert (
            page_number(path(page) + text) is None
            or text == ""
            or page_number(path(page) + text) != page
        )

    @given(st.integers(0, 199))
    def test_hosts_are_found_by_their_names(self, host):
        """A host's name and its URLs give back the host; other names give none."""
        world = World(200, 400, port=8000, mix={"subdomain": 0.5, "https": 0.5})

        assert world.number(world.name(host)) == host
        assert world.locate(f"{world.origin(host)}/a?b") == (host, "/a?b")
        assert world.number("x" + world.name(host)) is None

    @pytest.mark.parametrize(
        "name", ["", "test", "site200.test", "site01.test", "site1.site0.test", "site1.test.test"]
    )
    def test_other_names_are_no_hosts(self, name):
        """A name that no host has is not found."""
        assert World(200, 400).number(name) is None

    def test_hosts_share_addresses(self):
        """Hosts have loopback addresses in 127.0.0.0/16, and several hosts share one."""
        world = World(100, 100, addresses=30)

        counts = Counter(world.address(host) for host in range(100))

        assert len(counts) == 30
        assert all(address.startswith("127.0.") for address in counts)


class TestPages:
    def test_every_page_can_be_reached(self):
        """Links lead from the root of host 0 to every page of every host."""
        world = World(30, 900)
        seen, todo = {(0, 0)}, [(0, 0)]

        while todo:
            found = {(host, page) for host, page, _ in links(world, *todo.pop(), (0,) * 20)} - seen
            seen |= found
            todo += found

        assert len(seen) == 900

    def test_four_of_five_links_are_local(self):
        """Of the random links 80 % stay on their host."""
        world = World(1000, 100_000, port=8000)

        local = [
            link.url.startswith(world.origin(host) + "/")
            for host in range(100, 200)
            for link in anchors(world, host, 30)
            if link.source == "a"
        ]

        assert len(local) == 4100
        assert 0.77 < sum(local) / len(local) < 0.83

    @given(host=st.integers(0, 99), page=st.integers(0, 5000))
    def test_pages_have_the_size_that_was_asked_for(self, host, page):
        """The size of every page is within the world's bounds."""
        world = World(100, 10_000, size=(20_000, 24_000))

        body = world.answer(WebRequest(host, path(page % world.pages_of(host)))).body

        assert 20_000 <= len(body) <= 24_000

    def test_the_same_seed_is_the_same_web(self):
        """Two worlds with the same parameters give the same answers; another seed gives another
        web.
        """
        one, two, other = (World(50, 500, seed, mix=hostile(), port=8000) for seed in (1, 1, 2))
        targets = [
            "/",
            path(3),
            "/robots.txt",
            "/x/spellings/3",
            "/x/trap_growing/3",
            "/x/coding_zstd/1",
        ]
        asks = [WebRequest(host, target) for host in range(20) for target in targets]

        assert [one.answer(ask).body for ask in asks] == [two.answer(ask).body for ask in asks]
        assert [one.answer(ask).body for ask in asks] != [other.answer(ask).body for ask in asks]

    def test_unknown_pages_are_not_found(self):
        """A path that no link leads to is a 404 without links."""
        world = World(5, 50)

        answers = [
            world.answer(WebRequest(0, target))
            for target in (path(10**6), "/never/comment/1", "/x/what/1", "*", "/x/")
        ]

        assert [answer.status for answer in answers] == [404] * 5

    def test_the_size_of_the_web_costs_nothing(self):
        """Of a hundred million hosts only those are computed that are requested."""
        world = World(10**8, 10**10, port=8000)

        answer = world.answer(WebRequest(99_999_999, "/"))

        assert answer.status == 200
        assert world.locate("http://site99999999.test:8000/") == (99_999_999, "/")

    def test_a_page_changes_with_the_clock(self):
        """A changing page changes after `slow` seconds, and not before."""
        now = 1000.0
        world = World(1, 10, slow=5.0, clock=lambda: now)

        def look():
            return world.answer(WebRequest(0, "/x/changing/1"))

        first = look()
        now = 1004.9
        same = look()
        now = 1005.0

        assert first.body == same.body != look().body
        tag = look().headers[0].removeprefix("ETag: ")
        assert world.answer(WebRequest(0, "/x/changing/1", etag=tag)).status == 304


class TestMix:
    @given(st.sampled_from(sorted(SLOPES)), st.integers(4, 60), st.floats(0, 1))
    def test_shares_hold_for_few_numbers_already(self, group, kinds, offset):
        """Among five times as many numbers as there are equal kinds, every kind occurs."""
        shares = Shares({str(kind): 1 / kinds for kind in range(kinds)}, SLOPES[group], offset)

        assert {shares.at(page_number) for page_number in range(5 * kinds)} == {
            str(kind) for kind in range(kinds)
        }

    def test_what_no_share_reaches_is_plain(self):
        """With shares of a third together, two thirds of the numbers have no kind."""
        shares = Shares({"a": 0.2, "b": 0.13}, SLOPES["page"], 0.5)

        counts = Counter(shares.at(page_number) for page_number in range(10_000))

        assert {kind: round(count / 100) for kind, count in counts.items()} == {
            "": 67,
            "a": 20,
            "b": 13,
        }

    def test_shares_beyond_the_whole_are_refused(self):
        """The kinds of one group cannot exceed the whole."""
        with pytest.raises(ValueError, match="at most 1"):
            World(5, 5, mix={"png": 0.6, "pdf": 0.6})

    def test_a_plain_world_has_no_oddities(self):
        """Without a mix every page is a 200, every host is open and nothing is forbidden."""
        world = World(50, 200)

        assert {world.answer(WebRequest(host, "/")).status for host in range(50)} == {200}
        assert {world.standing(host) for host in range(50)} == {0}

    def test_words_are_for_kinds_that_exist(self):
        """docs/simweb-kinds.md explains kinds and groups of the web, and no other."""
        kinds = {*IPV6_KINDS, *(kind for kinds in GROUPS.values() for kind in kinds)}

        assert kind_words.KINDS.keys() <= kinds
        assert kind_words.GROUPS.keys() == GROUPS.keys()

    def test_kinds_are_of_one_group_each(self):
        """No two groups have a kind of the same name."""
        names = [kind for kinds in GROUPS.values() for kind in kinds]

        assert len(names) == len(set(names))
        assert even(names).keys() == set(names)


class TestRobots:
    @pytest.mark.parametrize(
        "kind", [kind for kind, robots in ROBOTS.items() if robots.standing == 0]
    )
    def test_rules_as_text_mean_the_condition(self, kind):
        """What a standard parser reads from a robots.txt is what the truth says it forbids."""
        from protego import Protego

        from tests.support.simweb_reader import unpacked

        world = World(9, 9, mix={kind: 1.0})
        answer = world.answer(WebRequest(3, "/robots.txt", attempt=2))
        if answer.location:
            answer = world.answer(WebRequest(4, "/x/robots/0"))
        text = (
            unpacked(answer.body)[: 500 * 1024].decode("utf-8-sig") if answer.status == 200 else ""
        )
        rules = Protego.parse(text)
        targets = [path(page) for page in range(600)]

        expected = [
            target
            for target in targets
            if not rules.can_fetch(f"http://site3.test{target}", "webcrawl")
        ]

        assert [target for target in targets if robots_forbid(world, 3, target)] == expected
        assert bool(expected) == (kind not in _HARMLESS)

    def test_no_mix_no_rules(self):
        """A plain host's robots.txt forbids nothing."""
        assert not PLAIN.forbids("/archive/x-1.html")


_HARMLESS = {"robots_missing", "robots_gone", "robots_denied", "robots_empty", "robots_html"}
