"""What is made of answers that are read together."""

from types import SimpleNamespace

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.page_making import PageMaking
from webcrawl.crawl.trip import Trip


class StopError(Exception):
    """Ends a crawl."""


def making(visit, follow=lambda _: None, look_ups=(), fail=None):
    return PageMaking(SimpleNamespace(visit=visit), follow, look_ups, fail, end_error=StopError)


def trips(urls):
    return [Trip(Link(url), exchange=exchange(url)) for url in urls]


def made(at_hand, follow=lambda _: None, bare=()):
    """What is made of three answers, which outputs look at by these functions; `bare` ones have no
    links.
    """

    def visit(link, answer):
        page = Page.of(link, answer)
        page.found = None if int(link.url[-1]) in bare else DocumentLinks(link.url, "UTF-8")
        return page

    outputs = making(visit, follow, at_hand).pages(
        trips(f"http://a.test/{number}" for number in range(3))
    )
    return [one.url[-1] for output in outputs for one in output]


def noted(happened, what, wrong=None):
    """Notes for which page it is called, and raises an error for the second one."""

    def call(page):
        happened.append(what + page.url[-1])
        if wrong is not None and page.url[-1] == "1":
            raise wrong

    return call


class TestAtHand:
    def test_outputs_look_at_all_pages_once_their_links_are_followed(self):
        """One look-up after the other, each at all pages."""
        happened = []

        assert made([noted(happened, "x"), noted(happened, "y")], noted(happened, "f")) == [
            "0",
            "1",
            "2",
        ]
        assert happened == ["f0", "f1", "f2", "x0", "x1", "x2", "y0", "y1", "y2"]

    def test_a_page_without_links_of_its_own_is_not_looked_at(self):
        """A body that was seen before need not be read unless an output asks for it."""
        happened = []
        made([noted(happened, "x")], bare=(1,))

        assert happened == ["x0", "x2"]

    def test_an_error_costs_neither_its_page_nor_others(self):
        """The output that asks for what was looked up gets the error."""
        happened = []

        assert made([noted(happened, "x", ValueError())]) == ["0", "1", "2"]
        assert happened == ["x0", "x1", "x2"]

    def test_without_memory_nothing_more_is_looked_up(self):
        """The pages go on: the first output that asks finds no memory either, or does without."""
        happened = []

        assert made([noted(happened, "x", MemoryError()), noted(happened, "y")]) == ["0", "1", "2"]
        assert happened == ["x0", "x1"]


def test_without_memory_no_further_page_is_read():
    """The crawl ends when a page finds no memory, not after its batch: what reads the next one may
    wait for ever.
    """
    happened = []

    def visit(link, answer):
        happened.append(link.url[-1])
        if link.url[-1] == "2":
            raise MemoryError
        return Page.of(link, answer)

    pages = making(visit, fail=lambda error: happened.append(type(error)))
    pages.pages(trips(f"http://a.test/{number}" for number in range(1, 5)))

    assert list(dict.fromkeys(happened)) == ["1", "2", MemoryError]


def test_what_ends_the_crawl_leaves_its_page_to_the_next_run():
    """Its links were not chosen: the trip counts as cancelled, and whoever runs the crawl gets the
    error.
    """

    def follow(page):
        if page.url[-1] == "1":
            raise StopError

    under_way = trips(f"http://a.test/{number}" for number in range(3))
    outputs = making(Page.of, follow).pages(under_way)

    assert [trip.abandoned for trip in under_way] == [False, True, False]
    assert isinstance(outputs[1], StopError)


def test_a_page_whose_links_cannot_be_chosen_is_processed_all_the_same():
    """The error comes after the page."""

    def follow(_page):
        raise ValueError("a mistake")

    (output,) = making(Page.of, follow).pages(trips(["http://a.test/"]))
    pages = iter(output)

    assert next(pages).url == "http://a.test/"
    with pytest.raises(ValueError, match="a mistake"):
        next(pages)
