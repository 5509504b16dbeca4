"""PageRank by power iteration, against the solution of its equations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.lab.studies.link_graph import pagerank

GRAPHS = st.integers(1, 8).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes), st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=24)
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
