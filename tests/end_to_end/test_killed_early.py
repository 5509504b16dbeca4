"""A crawl that is killed before its first checkpoint says what becomes of its pages, in every
command.
"""

import re

import pytest

from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving

PAGES = 400


class Chain(Site):
    """Each page leads to the next, and is large enough to be written at once."""

    requested = 0

    def answer(self):
        Chain.requested += 1
        if self.path == "/robots.txt":
            return self.say(404, b"")
        number = int(self.path[1:] or 0)
        body = f"<a href=/{number + 1}>next</a>" if number < PAGES else ""
        return self.say(
            200, f"<p>page {number}{body}".encode() + b"x" * 20_000, content_type="text/html"
        )


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory):
    """By command what was printed: of the killed crawl, and of the same when it was resumed."""
    folder = tmp_path_factory.mktemp("early")
    said, path = {}, folder / "said.txt"

    def run(name, *words):
        status = scrapy([*map(str, words), "-s", "MIN_FREE_DISK=0"], ROOT, path)
        said[name] = path.read_text()
        return status

    with serving(Chain) as here:
        fast = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "URL_MAX_DEPTH": 1000}
        crawl = Crawl(folder / "job", {"seeds": f"{here}/"}, {**fast, "CHECKPOINT_INTERVAL": 600})
        running = crawl.start()
        wait_until(lambda: Chain.requested > 50)
        running.kill()
        assert scrapy(["verify", str(crawl.jobdir)], ROOT, path) == 0
        said["verify"] = path.read_text()
        texts = ("process", crawl.jobdir, "-s", "OUTPUTS=text", "-s", f"JOBDIR={folder / 'texts'}")
        assert run("process", *texts) == 0
        assert crawl.run(CLOSESPIDER_PAGECOUNT=100) == 0
        said["crawl"] = crawl.output.read_text()
        assert run("process again", *texts) == 0
        assert crawl.run(CLOSESPIDER_PAGECOUNT=110) == 0
        said["crawl again"] = crawl.output.read_text()
    return said


@pytest.mark.campaign
def test_the_first_line_of_the_next_run(told):
    """It says that the crawl begins anew and why; the run after that was resumed as ever."""
    assert (
        ": starting over: the last run was killed or failed before it had saved a page\n"
        in told["crawl"]
    )
    assert re.search(r": resumed with \d+ pages and \d+ URLs? queued\n", told["crawl again"])


@pytest.mark.campaign
def test_what_verify_counts(told):
    """What lies behind the checkpoint is counted, also in files that no checkpoint has noted, and
    explained.
    """
    (size,) = re.findall(
        r"([0-9]+) bytes after the last checkpoint do not count: the last run was killed",
        told["verify"],
    )
    assert int(size) > 0


@pytest.mark.campaign
def test_each_page_is_processed_once(told):
    """`process` leaves out what the next run fetches again, and says so."""
    assert "0 pages in" in told["process"]
    assert re.search(r"\b(?:99|1\d\d) pages in", told["process again"])  # and robots.txt
    assert "with earlier runs" not in told["process again"]
