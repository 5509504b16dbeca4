"""What `benchmarks.trip` follows: the functions between `take` and `finish`, for each page that is
handed out.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.trip import PACKAGE, Ways, figures, route
from webcrawl.base.model import Link
from webcrawl.crawl.trip import Trip


@dataclass
class Loop:
    """A crawl of these links, each of which some functions of this file process."""

    links: list

    def run(self):
        while self.links:
            self.start()

    def start(self):
        if (found := self.take()) is not None and not found.link.is_own:
            self.read(found)
            self.finish(found)

    def take(self):
        link = self.links.pop(0)
        return link and Trip(link)

    def read(self, found):
        return self.deeper(found)

    def deeper(self, found):
        return [url.upper() for url in (found.url,)]

    def finish(self, found):
        found.booked = True


@pytest.fixture(name="follow")
def _follow():
    def follow(*links, folder=Path(__file__).parent, before=0, followed=100):
        ways = Ways(
            folder, Loop.take.__code__, Loop.finish.__code__, before=before, followed=followed
        )
        ways.begin()
        try:
            Loop([*links]).run()
        finally:
            ways.end()
        return ways.ended

    return follow


def names(way):
    return [code.co_name for code in way.functions]


PAGE, ROBOTS = Link("http://a.test/"), Link("http://a.test/robots.txt", path="P")


def test_a_page(follow):
    """The functions come in the order in which they are met, and calls are counted from the event
    loop's on.
    """
    [way] = follow(PAGE)

    assert names(way) == ["take", "read", "deeper", "finish"]
    assert way.depth == 3  # start, read, deeper
    assert way.files == [__file__]


def test_what_is_no_page(follow):
    """A look that finds nothing due, or a robots.txt, is no page's way."""
    assert len(follow(None, ROBOTS, PAGE, None)) == 1


def test_warm_up(follow):
    """The first pages are let go by, and the following ends with the last page that is asked for."""
    assert len(follow(*[PAGE] * 5, before=1, followed=3)) == 3
    assert len(follow(*[PAGE] * 3, before=1)) == 2


def test_report(follow):
    """The figures are a page's; files are named as the package has them, with the share of pages
    that meet them.
    """
    ways = follow(PAGE, PAGE, folder=PACKAGE)

    assert figures(ways) == {
        "files": 2,
        "functions": 2,
        "depth": 4,
        "files_of_all": 2,
        "functions_of_all": 2,
        "depth_at_most": 4,
    }
    assert route(ways) == {
        "base/model.py": (1.0, ["Link.is_own"]),
        "crawl/trip.py": (1.0, ["Trip.url"]),
    }
