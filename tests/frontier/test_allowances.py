"""Policies for the pages of a registered domain: all keep the contract, and each does what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.allowances.fixed import Fixed
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.allowances.unlimited import Unlimited

LINKS = st.integers(0, 64)


@pytest.mark.parametrize("policy", [ByReputation, Fixed, Unlimited])
class TestContract:
    @given(pages=st.integers(1, 10**9), links=LINKS, more=LINKS, seed=st.booleans())
    def test_more_links_never_mean_fewer_pages(self, policy, pages, links, more, seed):
        """A domain has a page at least, and no fewer if more domains link to it or if it is a
        seed's.
        """
        allowance = policy(pages)

        assert (
            1
            <= allowance.most(min(links, more), seed=seed)
            <= allowance.most(max(links, more), seed=seed)
        )
        assert allowance.most(links, seed=False) <= allowance.most(links, seed=True)
        assert (
            1
            <= allowance.sure(min(links, more), seed=seed)
            <= allowance.sure(max(links, more), seed=seed)
        )

    @given(pages=st.integers(1, 10**9))
    def test_somebody_may_begin(self, policy, pages):
        """The lead is a page at least: before the first page nothing can have been new."""
        assert policy(pages).lead >= 1


class TestPolicies:
    def test_reputation(self):
        """The first links count much, further ones by the doubling of their number."""
        allowance = ByReputation(1000)
        pages = [allowance.most(links, seed=False) for links in (0, 1, 2, 3, 6, 12, 64)]

        assert pages == [1000, 1000, 4000, 128_000, 256_000, 384_000, 693_124]

    def test_a_seed_has_more(self):
        """A seed's domain has ten times as many pages, unless its reputation gives it more."""
        assert [ByReputation(1000).most(links, seed=True) for links in (0, 2, 3)] == [
            10_000,
            10_000,
            128_000,
        ]

    def test_too_many_urls(self):
        """A domain with far more URLs than it may have pages has eight times the first budget, a
        well-known one all.
        """
        assert [ByReputation(1000).sure(links, seed=False) for links in (3, 11, 12)] == [
            8000,
            8000,
            float("inf"),
        ]
        assert ByReputation(1000).sure(0, seed=True) == 10_000

    def test_fixed_is_the_same_for_all(self):
        """Neither links nor novelty change a fixed budget."""
        allowance = Fixed(50)

        assert (allowance.most(0, seed=False), allowance.most(64, seed=True), allowance.lead) == (
            50,
            50,
            float("inf"),
        )
