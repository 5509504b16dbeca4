"""Who else might see what is withheld: middlewares, listeners of Scrapy's signals, answers that
become no page.
"""

import pytest

from tests.end_to_end.test_preferences_seen import NOINDEX, bodies
from tests.support.named_sites import sites
from tests.support.projects import OURS, Project

CODE = """
from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from webcrawl.adapter.spiders.web import WebSpider


class Web(WebSpider):
    name = "web"


class Batches(WebSpider):
    name = "batches"

    def parse_all(self, responses):
        for response in responses:
            note("parse_all", response)
        return super().parse_all(responses)


class Callbacks(WebSpider):
    name = "callbacks"

    def parse(self, response):
        note("parse", response)


def note(who, response):
    with open("seen", "a") as seen:
        seen.write(f"{who} {response.url.rpartition('/')[2]} {response.body!r}\\n")


class Downloads:
    def process_response(self, request, response):
        note("downloader", response)
        return response


class Spiders:
    def process_spider_input(self, response):
        note("spider", response)


class Listener:
    @classmethod
    def from_crawler(cls, crawler):
        listener = cls()
        crawler.signals.connect(listener.downloaded, signals.response_downloaded)
        crawler.signals.connect(listener.dropped, signals.item_dropped)
        return listener

    def downloaded(self, response, request):
        note("downloaded", response)

    def dropped(self, item, response):
        note("dropped", response)


class Refusing:
    def process_response(self, request, response):
        if response.url.endswith("closed"):
            raise IgnoreRequest("no page of it")
        return response
"""

MIDDLEWARES = {
    "DOWNLOADER_MIDDLEWARES": {"spiders.Downloads": 10},
    "SPIDER_MIDDLEWARES": {"spiders.Spiders": 10},
}
LISTENER = {"EXTENSIONS": {"spiders.Listener": 10}}


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl of two pages, one of which is forbidden: what was seen of them, and what was
    archived.
    """

    def answer(host, path, _):
        if path == "/robots.txt":
            return None
        closed = path != "/open"
        status = 503 if path == "/away" else 200
        return status, NOINDEX if closed else [], b"<p>secret" if closed else b"<p>open"

    def run(spider, *paths, **settings):
        with sites(answer) as site:
            (tmp_path / "hosts").write_text("127.0.0.1 a.test\n")
            (tmp_path / "seeds.txt").write_text(
                "\n".join(site.url("a.test", path) for path in paths)
            )
            more = {
                "HOSTS_FILE": str(tmp_path / "hosts"),
                "PURPOSE": "search",
                "RETRY_TIMES": 1,
                **settings,
            }
            project = Project(tmp_path, OURS, CODE, **more)
            status, said = project.run("crawl", spider, "-a", "seeds=seeds.txt")
            assert status == 0, said
        seen = (tmp_path / "seen").read_text() if (tmp_path / "seen").exists() else ""
        job = tmp_path / "crawls" / spider
        return seen, b"".join(bodies(job)), (job / "logs/crawl.log").read_text()

    return run


class TestResponses:
    @pytest.mark.parametrize(
        ("spider", "settings", "who"),
        [
            ("web", MIDDLEWARES, ["downloader", "spider"]),
            ("web", LISTENER, ["downloaded", "dropped"]),
            ("batches", {}, ["parse_all"]),
        ],
    )
    def test_they_have_no_body(self, crawl, spider, settings, who):
        """Whoever gets responses gets those of withheld pages without a body, and all others whole."""
        seen, archived, _ = crawl(spider, "/open", "/closed", **settings)

        assert all(f"{one} closed b''" in seen for one in who)
        assert "b'<p>open'" in seen
        assert "secret" not in seen
        assert b"secret" not in archived


class TestAnswersWithoutAPage:
    @pytest.mark.parametrize(
        ("spider", "path", "settings"),
        [
            ("callbacks", "/away", {"OUTAGE_END_WAIT": 60}),  # they get the last answer alone
            ("web", "/closed", {"DOWNLOADER_MIDDLEWARES": {"spiders.Refusing": 10}}),
        ],
    )
    def test_they_are_judged_too(self, crawl, spider, path, settings):
        """An answer that is tried again, or that a middleware has refused, is withheld from the
        archive and noted.
        """
        _, archived, log = crawl(spider, path, **settings)

        assert b"secret" not in archived
        lines = [line.split() for line in log.splitlines()]
        assert {line[-1] for line in lines if line[3].endswith(path)} == {"withheld:header"}
