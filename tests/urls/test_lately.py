"""The cache in front of the filters: it knows only URLs that were added, and keeps its size."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.url_settings import url_settings
from webcrawl.urls.link_pipeline import build_pipeline
from webcrawl.urls.recent_urls import RecentUrls

PAGE = "http://h.example/a/b"


class TestLately:
    batches = st.lists(st.lists(st.sampled_from("abcdefghijkl"), max_size=6, unique=True), max_size=40)

    @given(batches, st.integers(1, 10))
    def test_it_never_knows_what_was_not_added(self, batches, size):
        """Unknown URLs are returned in their order; known URLs were added before."""
        lately, added = RecentUrls(size), set()
        for batch in batches:
            unknown = lately.unknown(batch)
            assert [url for url in batch if url in unknown] == unknown
            assert set(batch) - set(unknown) <= added
            lately.add(unknown)
            added.update(unknown)

    @given(st.lists(st.text(min_size=1), max_size=80), st.integers(1, 10))
    def test_the_url_added_last_is_known(self, urls, size):
        """Only a URL that is added later can replace a URL."""
        lately = RecentUrls(size)
        for url in urls:
            lately.add([url])
            assert lately.unknown([url]) == []

    def test_a_question_counts_for_nothing(self):
        """Who only asks whether a URL is known changes neither the answer nor the count."""
        lately = RecentUrls(1000)
        lately.add(["a"])

        assert ("a" in lately, "b" in lately, "b" in lately, lately.absorbed) == (True, False, False, 0)

    def test_it_counts_what_it_leaves_out(self):
        """The URLs that were left out are counted: the hit rate of the crawl's caches includes them."""
        lately = RecentUrls(1000)
        lately.add(["http://h.example/1"])
        lately.unknown(["http://h.example/1", "http://h.example/2", "http://h.example/1"])

        assert lately.absorbed == 2

    def test_most_urls_stay_when_half_the_places_are_used(self):
        """URLs spread over the places: of half as many URLs as places, more than two thirds stay."""
        lately, urls = RecentUrls(1000), [f"http://h.example/{number}" for number in range(512)]
        lately.add(urls)

        assert len(lately.unknown(urls)) < 512 / 3

    def test_its_repr_has_its_size(self):
        """The repr shows the number of places."""
        assert repr(RecentUrls(5)) == "<RecentUrls of 8>"


class TestPipeline:
    @pytest.fixture(name="pipeline")
    def _pipeline(self):
        return build_pipeline(url_settings(), bytes(16), clock=lambda: 1_700_000_000)

    def test_a_known_url_is_not_a_candidate(self, pipeline):
        """Only URLs that are not known are submitted to the seen store."""
        lately = RecentUrls(10)
        lately.add(["http://h.example/known"])
        found = pipeline.process(PAGE, 1, ["/known", "new", "/known#x"], lately=lately)

        assert found.urls == ["http://h.example/a/new"]

    def test_filtered_links_are_filtered_every_time(self, pipeline):
        """A dropped URL is never known: on another page it may be in scope, or nearer to a seed."""
        lately = RecentUrls(10)
        for _ in range(2):
            found = pipeline.process(PAGE, 1, ["/picture.zip", "/x"], lately=lately)
            lately.add(found.urls)

        assert pipeline.filtered == Counter({"extension": 2})
