"""The cache before the filters: what it knows was submitted, and it stays within its size."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.url_settings import url_settings
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

    @given(st.lists(st.text(min_size=1), max_size=80), st.integers(1, 10))
    def test_what_was_added_last_is_known(self, urls, size):
        """Only an address that came later can take an address's place."""
        lately = Lately(size)
        for url in urls:
            lately.add([url])
            assert lately.unknown([url]) == []

    def test_most_of_as_many_as_it_has_places_are_known(self):
        """Addresses spread over the places: of half as many as there are, more than two of three stay."""
        lately, urls = Lately(1000), [f"http://h.example/{number}" for number in range(512)]
        lately.add(urls)

        assert len(lately.unknown(urls)) < 512 / 3

    def test_it_says_how_large_it_is(self):
        """For whoever looks at it in a debugger."""
        assert repr(Lately(5)) == "<Lately of 8>"


class TestPipeline:
    @pytest.fixture(name="pipeline")
    def _pipeline(self):
        return build_pipeline(url_settings(), bytes(16), clock=lambda: 1_700_000_000)

    def test_what_is_known_is_no_candidate(self, pipeline):
        """Only links that are not known are to be asked of the seen store."""
        lately = Lately(10)
        lately.add(["http://h.example/known"])
        found = pipeline.process(PAGE, 1, ["/known", "new", "/known#x"], lately=lately)

        assert [(url, at) for _, url, at in found] == [("http://h.example/a/new", 1)]

    def test_filtered_links_are_filtered_every_time(self, pipeline):
        """What a filter drops is never known: another page may have it in its scope, or nearer to a seed."""
        lately = Lately(10)
        for _ in range(2):
            found = pipeline.process(PAGE, 1, ["/picture.zip", "/x"], lately=lately)
            lately.add(url for _, url, _ in found)

        assert pipeline.filtered == Counter({"extension": 2})
