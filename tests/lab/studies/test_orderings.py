"""The orders in which a known graph is fetched, and PageRank, against what they are defined to be."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.front_end import Sift
from webcrawl.lab.studies import ORDERS
from webcrawl.lab.studies.link_graph import crawled, pagerank
from webcrawl.lab.studies.ordering_study import (
    CRAWL,
    EXACT,
    LEVELS,
    CrawlShape,
    OrderingRow,
    compare,
    replay,
    row_kinds,
)
from webcrawl.lab.studies.page_queues import (
    DomainQueue,
    ExactQueue,
    LevelQueue,
    PoliteQueue,
    SiftedFrontEnd,
)
from webcrawl.lab.studies.page_signals import (
    CashSignal,
    DepthSignal,
    DomainVotes,
    EstimatedPageRank,
    IndegreeSignal,
    TrueScores,
)

PAGES = 12
EDGES = st.lists(st.tuples(st.integers(0, PAGES - 1), st.integers(0, PAGES - 1)), max_size=60)
SITES = st.lists(st.integers(0, 3), min_size=PAGES, max_size=PAGES)


def graph_of(edges, sites=(0,) * PAGES, seeds=(0,)):
    ends = np.array(edges, np.int64).reshape(-1, 2)
    numbers = np.array(sites, np.int64)
    return crawled(ends[:, 0], ends[:, 1], len(sites), seeds, numbers, numbers)


def links_of(graph, page):
    return graph.links[graph.offsets[page] : graph.offsets[page + 1]].tolist()


def by_definition(graph, worth):
    """Fetches the waiting page that is worth most, of equals the one that was found first:
    `worth(page, fetched)`.
    """
    fetched, found = [], dict.fromkeys(range(graph.seeds))
    while len(fetched) < len(found):
        page = max(
            (one for one in found if one not in fetched), key=lambda one: worth(one, fetched)
        )
        fetched.append(page)
        found |= dict.fromkeys(link for link in links_of(graph, page) if link not in found)
    return fetched


class TestGraph:
    def test_pages_are_numbered_breadth_first(self):
        """Page 0 is the seed, then come its links as they are written; what no seed leads to is
        left out.
        """
        graph = graph_of([(2, 5), (2, 1), (1, 2), (5, 3), (2, 5), (2, 2), (4, 1)], seeds=(2,))
        assert [links_of(graph, page) for page in range(graph.pages)] == [[1, 2], [3], [0], []]
        assert graph.unreached == PAGES - 4

    @given(EDGES)
    def test_breadth_first_is_the_order_of_the_numbers(self, edges):
        """Fetching by depth in exact order fetches pages as they are numbered."""
        graph = graph_of(edges)
        signal = DepthSignal(graph)
        assert replay(graph, signal, ExactQueue(graph.pages, signal)).tolist() == [
            *range(graph.pages)
        ]


class TestExact:
    @given(EDGES)
    def test_indegree(self, edges):
        """The page to which most of the fetched pages link is next."""
        graph, signal = graph_of(edges), IndegreeSignal(graph_of(edges))
        expected = by_definition(
            graph, lambda page, fetched: sum(page in links_of(graph, one) for one in fetched)
        )
        assert replay(graph, signal, ExactQueue(graph.pages, signal)).tolist() == expected

    def test_of_equals_the_one_that_this_crawl_found_first(self):
        """Not the one that a breadth-first crawl finds first: page 5 is found on page 3 before page
        4 on page 2.
        """
        graph = graph_of([(0, 1), (0, 2), (0, 3), (1, 3), (2, 4), (3, 5)])
        for signal, waiting in (
            ((indegree := IndegreeSignal(graph)), ExactQueue(graph.pages, indegree)),
            ((known := TrueScores([0, 0, 0, 1, 0, 0])), ExactQueue(graph.pages, known)),
        ):
            order = replay(graph, signal, waiting).tolist()
            assert order.index(5) < order.index(4)

    @given(EDGES)
    def test_opic(self, edges):
        """The page with the most cash is next: its own, and its part of that of each page which
        gave it some.
        """
        graph, signal = graph_of(edges), CashSignal(graph_of(edges))

        def cash(page, fetched):
            held = dict.fromkeys(range(graph.pages), 1.0)
            for one in fetched:
                links = links_of(graph, one)
                for link in links:
                    held[link] += held[one] / len(links)
                held[one] *= not links
            return held[page]

        assert replay(graph, signal, ExactQueue(graph.pages, signal)).tolist() == by_definition(
            graph, cash
        )

    @given(EDGES)
    def test_cash_is_conserved(self, edges):
        """However it goes round, there is as much as there are pages."""
        graph = graph_of(edges)
        signal = CashSignal(graph)
        replay(graph, signal, ExactQueue(graph.pages, signal))
        assert sum(signal.values) == pytest.approx(graph.pages)

    @given(EDGES, SITES)
    def test_reputation(self, edges, sites):
        """The oldest page of the domain that most other domains link to is next."""
        graph = graph_of(edges, sites)
        domains, signal = graph.domains.tolist(), DomainVotes(graph)
        found = []  # in the order in which the pages are found

        def votes(page, fetched):
            found[:] = dict.fromkeys(
                [0, *(link for one in fetched for link in links_of(graph, one))]
            )
            linked = ((one, link) for one in fetched for link in links_of(graph, one))
            voters = {domains[one] for one, link in linked if domains[link] == domains[page]} - {
                domains[page]
            }
            firsts = {}
            for one in found:
                if one not in fetched:
                    firsts.setdefault(domains[one], found.index(one))
            first = firsts[domains[page]]
            return len(voters), first == found.index(page), -first

        assert replay(graph, signal, DomainQueue(domains, signal)).tolist() == by_definition(
            graph, votes
        )

    def test_pagerank_of_what_is_known(self):
        """It is that of the fetched pages' links, whenever it is computed."""
        chance = Random(1)
        graph = graph_of(
            [(chance.randrange(300), chance.randrange(300)) for _ in range(1500)], (0,) * 300
        )
        signal = EstimatedPageRank(graph)
        for page in range(64):
            signal.record_page(page, links_of(graph, page))
        kept = graph.heads < 64
        known = np.unique(np.concatenate((np.arange(64), graph.links[kept])))
        expected = pagerank(
            np.searchsorted(known, graph.heads[kept]),
            np.searchsorted(known, graph.links[kept]),
            len(known),
        )
        assert np.array(signal.values)[known] == pytest.approx(expected, abs=1e-3)

    def test_best(self):
        """Of what is known the page with the most PageRank is next."""
        graph = graph_of([(0, 1), (0, 2), (2, 3), (1, 4), (4, 2), (3, 2)])
        rank = pagerank(graph.heads, graph.links, graph.pages).tolist()
        signal = TrueScores(rank)
        assert replay(graph, signal, ExactQueue(graph.pages, signal)).tolist() == by_definition(
            graph, lambda page, _: rank[page]
        )


class TestLevels:
    @given(EDGES, st.sampled_from((1, 2, 8)))
    def test_with_an_overwhelming_bias_the_first_level_goes_first(self, edges, levels):
        """No page is fetched while another one has twice its links, as far as there are levels."""
        graph = graph_of(edges)
        signal = IndegreeSignal(graph)
        order = replay(
            graph, signal, LevelQueue(graph.pages, signal, levels, 1e9, Random(1))
        ).tolist()

        def level(page, fetched):
            links = sum(page in links_of(graph, one) for one in fetched)
            return max(levels - max(links, 1).bit_length(), 0)

        for at, page in enumerate(order[1:], 1):
            waiting = {link for one in order[:at] for link in links_of(graph, one)} - set(
                order[:at]
            )
            assert level(page, order[:at]) == min(level(one, order[:at]) for one in waiting)

    def test_what_does_not_move_stays(self):
        """Otherwise a page has the level of the moment when it was found."""
        graph = graph_of([(0, 1), (0, 2), (0, 3), (1, 3)])
        for moving, expected in ((True, [0, 1, 3, 2]), (False, [0, 1, 2, 3])):
            signal = IndegreeSignal(graph)
            waiting = LevelQueue(graph.pages, signal, 2, 1e9, Random(1), moving=moving)
            assert replay(graph, signal, waiting).tolist() == expected


class TestAll:
    @given(EDGES, SITES, st.integers(1, 3))
    def test_every_page_is_fetched_once(self, edges, sites, hosts):
        """Whatever the order, and however pages wait, all have been fetched in the end, and none
        twice.
        """
        graph = graph_of(edges, sites)
        rank = np.ones(graph.pages)
        shape = CrawlShape(levels=3, hosts=hosts)
        rows = [*compare(graph, rank, ORDERS, shape)]
        assert [(row.ordering, row.how) for row in rows] == [
            (name, how) for name in ORDERS for how in row_kinds(name, shape)
        ]
        assert all(row.curve.tolist() == [*range(1, graph.pages + 1)] for row in rows)

    def test_hosts_take_turns(self):
        """So many hosts are asked one after the other; another one comes in when one has no pages
        left.
        """
        star = [(0, page) for page in range(1, PAGES)]
        graph = graph_of(star, (0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3))
        signal = TrueScores([0.0] * graph.pages)
        sift = Sift(lambda page: -page)
        order = replay(
            graph, signal, PoliteQueue(SiftedFrontEnd(sift), graph.hosts.tolist(), 2, sift)
        ).tolist()
        assert graph.hosts[order].tolist() == [0, 1, 2, 1, 2, 1, 2, 3, 3, 3, 3, 3]

    def test_what_is_asked_for(self):
        """A row tells how much the first pages have."""
        row = OrderingRow("best", EXACT, np.array([0.4, 0.7, 0.9, 1.0]))
        assert [row.at(share) for share in (0, 0.25, 0.5, 0.6, 1)] == [0, 0.4, 0.7, 0.7, 1.0]
        assert row.mean == pytest.approx(0.75)
        assert row_kinds("best", CrawlShape()) == [EXACT]
        assert row_kinds("indegree", CrawlShape(hosts=2)) == [EXACT, LEVELS, CRAWL]


GRAPHS = st.integers(1, 8).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes),
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=24),
    )
)


def solved(links, nodes, damping):
    """The fixed point, by linear algebra."""
    steps = np.zeros((nodes, nodes))
    for page, link in links:
        steps[page, link] += 1
    steps[steps.sum(axis=1) == 0] = 1
    steps /= steps.sum(axis=1, keepdims=True)
    return np.linalg.solve(np.eye(nodes) - damping * steps.T, np.full(nodes, (1 - damping) / nodes))


def ranked(links, nodes, damping=0.85):
    ends = np.array(links, np.int64).reshape(-1, 2)
    return pagerank(ends[:, 0], ends[:, 1], nodes, damping)


@given(GRAPHS, st.sampled_from((0.5, 0.85, 0.95)))
def test_solves_the_equations(graph, damping):
    """The values are those that a step of the random surfer leaves as they are."""
    nodes, links = graph
    assert ranked(links, nodes, damping) == pytest.approx(solved(links, nodes, damping), abs=1e-9)


def test_known_values():
    """Of two pages that link to a third, which links back to one, each has what the equations say."""
    links = [(0, 2), (1, 2), (2, 0)]
    c = (0.05 * 2 + 0.85 * (0.05 + 0.05) - 0.05) / (1 - 0.85**2)
    assert ranked(links, 3) == pytest.approx([0.05 + 0.85 * c, 0.05, c], abs=1e-9)


def test_nobody_links():
    """Without links all pages have the same."""
    assert ranked([], 4) == pytest.approx([0.25] * 4)


def test_no_pages():
    """No pages have no PageRank."""
    assert len(ranked([], 0)) == 0
