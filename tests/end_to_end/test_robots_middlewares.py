"""Downloader and spider middlewares of a user's that stop a robots.txt, or its answer, on the way."""

import pytest

from tests.support.named_sites import sites
from tests.support.projects import OURS, Project

CODE = """
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from webcrawl.adapter.spiders.web import WebSpider


class Web(WebSpider):
    name = "web"


class Of:
    def of(self, request):
        return request.url.endswith("/robots.txt")


class Refuses(Of):
    def process_request(self, request):
        if self.of(request):
            raise IgnoreRequest("no robots.txt here")


class Replaces(Of):
    def process_request(self, request):
        return Request(request.url + "?") if self.of(request) else None


class RefusesAnswer(Of):
    def process_response(self, request, response):
        if self.of(request):
            raise IgnoreRequest("not this one")
        return response


class SwallowsAnswer(Of):
    def process_response(self, request, response):
        return Request(request.url + "?again", dont_filter=True) if self.of(request) else response


class RetriesAnswer(Of):
    def process_response(self, request, response):
        return request.replace(dont_filter=True, priority=-1) if self.of(request) else response


class RaisesAtInput(Of):
    def process_spider_input(self, response):
        if self.of(response):
            raise ValueError("not this one")


class SwallowsOutput(Of):
    async def process_spider_output(self, response, result):
        if not self.of(response):
            async for one in result:
                yield one
"""
OF_DOWNLOADER, OF_SPIDER = "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES"


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl of two URLs, one of them forbidden: the status of each, what was requested, and what
    was printed.
    """

    def answer(host, path, _):
        return b"User-agent: *\nDisallow: /no\n" if path.startswith("/robots.txt") else b"<p>page"

    def run(kind, middleware, **settings):
        with sites(answer) as site:
            (tmp_path / "hosts").write_text("127.0.0.1 a.test\n")
            (tmp_path / "seeds.txt").write_text(
                "\n".join(site.url("a.test", path) for path in ("/yes", "/no"))
            )
            more = {
                "HOSTS_FILE": str(tmp_path / "hosts"),
                kind: {f"spiders.{middleware}": 10},
                **settings,
            }
            status, said = Project(tmp_path, OURS, CODE, **more).run(
                "crawl", "web", "-a", "seeds=seeds.txt"
            )
        log = (tmp_path / "crawls/web/logs/crawl.log").read_text().splitlines()
        ends = {line.split()[3].rpartition("/")[2]: int(line.split()[1]) for line in log}
        pages = {name: end for name, end in ends.items() if name != "robots.txt"}
        # it says if it got nothing
        assert status == (0 if any(end > 0 for end in pages.values()) else 1), said
        return ends, [path for _, path, _ in site.requested], said

    return run


@pytest.mark.parametrize("middleware", ["Refuses", "Replaces"])
def test_one_that_is_never_requested_is_unreachable(crawl, middleware):
    """Nothing is fetched from its host, its URLs end after HOST_PATIENCE, and one warning says why."""
    ends, requested, said = crawl(OF_DOWNLOADER, middleware)

    assert "/yes" not in requested
    assert (ends["yes"], ends["no"]) == (-61, -61)
    assert said.count("a downloader middleware stopped the request for this robots.txt") == 1


@pytest.mark.parametrize(
    ("kind", "middleware"),
    [
        (OF_DOWNLOADER, "RefusesAnswer"),
        (OF_DOWNLOADER, "SwallowsAnswer"),
        (OF_DOWNLOADER, "RetriesAnswer"),
        (OF_SPIDER, "RaisesAtInput"),
        (OF_SPIDER, "SwallowsOutput"),
    ],
)
def test_an_answer_that_came_counts(crawl, kind, middleware):
    """Whatever a middleware does with it, what the server said is obeyed."""
    ends, requested, _ = crawl(kind, middleware)

    assert (ends["yes"], ends["no"]) == (200, -9998)
    assert "/no" not in requested
    assert requested.count("/robots.txt") == 1
