"""The cache before the filters: what it knows was submitted, and it stays within its size."""

from collections import Counter
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.url_settings import url_settings
from webcrawl.urls.assembly import build_pipeline
from webcrawl.urls.lately import Lately

PAGE = "http://h.example/a/b"


class TestLately:
    batches = st.lists(st.lists(st.sampled_from("abcdefghijkl"), max_size=6, unique=True), max_size=40)

    @given(batches, st.integers(1, 10))
    def test_it_never_knows_what_was_not_added(self, batches, size):
        """What is unknown comes back in its order; what is not was added before."""
        lately, added = Lately(size), set()
        for batch in batches:
            unknown = lately.unknown(batch)
            assert [url for url in batch if url in unknown] == unknown
            assert set(batch) - set(unknown) <= added
            lately.add(unknown)
            added.update(unknown)
            assert len(lately) <= 2 * max(1, size // 2)

    @given(st.lists(st.sampled_from("abcdefghijkl"), max_size=80), st.integers(2, 10))
    def test_the_half_that_was_met_last_is_known(self, urls, size):
        """An address that comes on every page is never forgotten, however many others there are."""
        lately, met = Lately(size), []
        for url in urls:
            lately.add(lately.unknown([url]))
            met.append(url)
            recent = list(dict.fromkeys(reversed(met)))[: size // 2]

            assert deepcopy(lately).unknown(recent) == []

    def test_it_says_how_full_it_is(self):
        """For whoever looks at it in a debugger."""
        lately = Lately(4)
        lately.add(["a", "b", "c"])

        assert repr(lately) == "<Lately 3 at most 4>"


class TestPipeline:
    @pytest.fixture(name="pipeline")
    def _pipeline(self):
        return build_pipeline(url_settings(), bytes(16), clock=lambda: 1_700_000_000)

    def test_what_is_known_is_no_candidate_and_still_a_link(self, pipeline):
        """A page's known links have their canonical form; only the others are to be asked of the seen store."""
        lately = Lately(10)
        lately.add(["http://h.example/known"])
        found = pipeline.process(PAGE, 1, ["/known", "new", "/known#x"], lately=lately)

        assert found.urls == ["http://h.example/known", "http://h.example/a/new", "http://h.example/known"]
        assert [(url, at) for _, url, at in found.candidates] == [("http://h.example/a/new", 1)]

    def test_refused_links_are_refused_every_time(self, pipeline):
        """What a filter drops is never known: another page may have it in its scope, or nearer to a seed."""
        lately = Lately(10)
        for _ in range(2):
            found = pipeline.process(PAGE, 1, ["/picture.zip", "/x"], lately=lately)
            lately.add(url for _, url, _ in found.candidates)

        assert pipeline.refused == Counter({"extension": 2})
