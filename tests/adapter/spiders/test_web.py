"""The spider `web` and the pages of a batch."""

from types import SimpleNamespace

from tests.support.warc_crawl import exchange
from webcrawl.adapter.run_moments import RunMoments
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.model import Link
from webcrawl.content.html.link_kinds import Found
from webcrawl.content.page import Page


def made(at_hand, follow=lambda _: None, bare=()):
    """What the spider makes of three answers, which outputs look at by these functions; `bare` ones have no links."""
    pages = []
    for number in range(3):
        url = f"http://a.test/{number}"
        pages.append(Page.of(Link(url), exchange(url)))
        pages[-1].found = None if number in bare else Found(url, "UTF-8")
    spider = WebSpider.__new__(WebSpider)
    spider._follow = follow
    visitor = SimpleNamespace(visit=pages.__getitem__)
    spider.__dict__["_scheduler"] = SimpleNamespace(visitor=visitor, moments=SimpleNamespace(at_hand=at_hand))
    outputs = spider._pages([SimpleNamespace(answer=lambda number=number: (number,)) for number in range(3)])
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

        assert made([noted(happened, "x"), noted(happened, "y")], noted(happened, "f")) == ["0", "1", "2"]
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
    """The crawl ends when a page finds no memory, not after its batch: what reads the next one may wait for ever."""
    happened = []

    def visit(number):
        happened.append(number)
        if number == 2:
            raise MemoryError
        return SimpleNamespace(number=number)

    spider = WebSpider.__new__(WebSpider)
    spider._follow = lambda _: None
    spider.__dict__["_scheduler"] = SimpleNamespace(
        visitor=SimpleNamespace(visit=visit), fail=lambda error: happened.append(type(error)), moments=RunMoments()
    )

    spider._pages([SimpleNamespace(answer=lambda number=number: (number,)) for number in range(1, 5)])

    assert list(dict.fromkeys(happened)) == [1, 2, MemoryError]
