"""The spider `web` and the pages of a batch."""

from types import SimpleNamespace

from webcrawl.spiders.web import WebSpider


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
        visitor=SimpleNamespace(visit=visit), fail=lambda error: happened.append(type(error))
    )

    spider._pages([SimpleNamespace(answer=lambda number=number: (number,)) for number in range(1, 5)])

    assert list(dict.fromkeys(happened)) == [1, 2, MemoryError]
