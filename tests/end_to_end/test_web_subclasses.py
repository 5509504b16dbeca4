"""Spiders that extend `web`: what is checked before they start, their callbacks, and the links that
they choose.
"""

import json

import pytest

from tests.support.examples import in_campaign
from tests.support.plain_site import Site, serving
from tests.support.projects import OURS, Project
from tests.support.warc_reader import read
from webcrawl.adapter.spiders.web import WebSpider

LINKS = {  # a small site
    "/": ["/a", "/b", "/missing", "/again"],
    "/a": ["/a/1", "/a/2"],
    "/b": ["/b/1"],
    "/c": [],
}
PAGES = {"/", "/a", "/a/1", "/a/2", "/b", "/b/1", "/missing", "/again"}
FOUND = PAGES - {"/missing", "/again"}


class Small(Site):
    def answer(self):
        if self.path == "/robots.txt":
            self.say(200, b"")
        elif self.path == "/again":
            self.say(301, b"", location="/")
        else:
            links = "".join(f'<a href="{path}">to {path}</a>' for path in LINKS.get(self.path, ()))
            body = f"<title>Page {self.path}</title>{links}".encode()
            status = 404 if self.path == "/missing" else 200
            self.say(status, body, content_type="text/html; charset=utf-8", x_colour="blue")


@pytest.fixture(name="here", scope="module")
def _here():
    with serving(Small) as address:
        yield address


HEAD = """
from scrapy import Request
from webcrawl.content.html.link_kinds import PageLink
from webcrawl.adapter.spiders.web import WebSpider


class Own(WebSpider):
    name = "own"
"""


class Ran:
    """A spider's class body, run with a seed list to the end."""

    def __init__(self, folder, here, body, *words, **settings):
        (folder / "seeds.txt").write_text(f"{here}/\n")
        more = {
            "FEEDS": {"items.jsonl": {"format": "jsonlines", "item_classes": ["builtins.dict"]}},
            **settings,
        }
        self.project = Project(folder, OURS, HEAD + body, **more)
        self.status, self.said = self.project.run(
            "crawl", "own", *(words or ["-a", "seeds=seeds.txt"])
        )
        self.job = folder / "crawls/own"

    @property
    def items(self):
        return [
            json.loads(line)
            for line in (self.project.folder / "items.jsonl").read_text().splitlines()
        ]

    @property
    def logged(self):
        lines = (self.job / "logs/crawl.log").read_text().splitlines()
        return {"/" + line.split()[3].split("/", 3)[3] for line in lines} - {"/robots.txt"}

    @property
    def archived(self):
        found = [
            one
            for path in self.job.glob("warc/*.gz")
            for one in read(path)
            if one.kind in ("response", "revisit")
        ]
        urls = [one.fields["WARC-Target-URI"] for one in found]
        return {"/" + url.split("/", 3)[3] for url in urls} - {"/robots.txt"}


@pytest.fixture(name="ran")
def _ran(tmp_path, here):
    def run(body, *words, **settings):
        return Ran(tmp_path, here, body.replace("HERE", here), *words, **settings)

    return run


PARSE = """
    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get(), "depth": response.meta["depth"]}
"""
# Ways to write a callback, and what its items are
DAILY = ("a generator", "an error", "the page too")  # in every run; the others in the campaign
CALLBACKS = {
    "a generator": PARSE,
    "a list": """
    def parse(self, response):
        return [{"url": response.url}]
""",
    "nothing": """
    def parse(self, response):
        self.seen = response.url
""",
    "a coroutine": """
    async def parse(self, response):
        return {"url": response.url}
""",
    "an async generator": """
    async def parse(self, response):
        yield {"url": response.url}
""",
    "the page too": """
    def parse(self, response):
        yield from super().parse(response)
        yield {"url": response.url}
""",
    "only the page": """
    def parse(self, response):
        return super().parse(response)
""",
    "an error": """
    def parse(self, response):
        raise ValueError
""",
    "an error later": """
    def parse(self, response):
        yield {"url": response.url}
        raise ValueError
""",
    "an error after the page": """
    def parse(self, response):
        yield from super().parse(response)
        raise ValueError
""",
}
WITH_ITEMS = set(CALLBACKS) - {"nothing", "only the page", "an error", "an error after the page"}
ERRORS = {"ERROR_BREAKER": "1000/1"}


class TestCallbacks:
    @pytest.mark.parametrize(
        "name", [*DAILY, *in_campaign(*(name for name in CALLBACKS if name not in DAILY))]
    )
    def test_links_are_followed_and_pages_archived(self, ran, here, name):
        """Whatever a `parse` of its own gives back or raises, each page is archived, and its links
        are followed.
        """
        crawl = ran(CALLBACKS[name], **ERRORS)

        assert crawl.status == 0
        assert (crawl.logged, crawl.archived) == (PAGES, PAGES)
        items = sorted(item["url"] for item in crawl.items) if name in WITH_ITEMS else []
        assert items == (sorted(here + path for path in FOUND) if name in WITH_ITEMS else [])
        stats = json.loads((crawl.job / "stats.json").read_text())
        assert stats["errors"] == (len(FOUND) if "error" in name else 0)

    def test_a_response_is_scrapys(self, ran, here):
        """A response in a callback has text, selectors, headers, its request with meta, `urljoin`
        and `follow`.
        """
        crawl = ran("""
    def parse(self, response):
        yield {
            "url": response.url,
            "text": response.text[:6],
            "css": response.css("title::text").get(),
            "xpath": response.xpath("//a/@href").getall(),
            "colour": response.headers["X-Colour"].decode(),
            "kind": type(response).__name__,
            "request": response.request.url,
            "depth": response.meta["depth"],
            "joined": response.urljoin("x"),
            "followed": response.follow("y").url,
            "address": str(response.ip_address),
        }
""")

        (first,) = [item for item in crawl.items if item["url"] == f"{here}/a"]
        assert first == {
            "url": f"{here}/a",
            "text": "<title",
            "css": "Page /a",
            "xpath": ["/a/1", "/a/2"],
            "colour": "blue",
            "kind": "HtmlResponse",
            "request": f"{here}/a",
            "depth": 1,
            "joined": f"{here}/x",
            "followed": f"{here}/y",
            "address": "127.0.0.1",
        }

    def test_only_what_succeeded(self, ran, here):
        """As in Scrapy a callback gets answers with a status of 2xx, and those that
        `handle_httpstatus_list` names.
        """
        crawl = ran("    handle_httpstatus_list = [404]\n" + CALLBACKS["a generator"])

        assert {item["url"] for item in crawl.items} == {
            here + path for path in FOUND | {"/missing"}
        }

    def test_requests_of_its_own(self, ran, here):
        """Requests that a callback yields, with a callback of theirs, become pages too, whose links
        are followed.
        """
        crawl = ran("""
    def parse(self, response):
        if response.url.endswith("/b"):
            yield response.follow("/c?own", self.of_c, cb_kwargs={"word": "w"})
            yield Request("HERE/c?own2", self.of_c, errback=self.never, cb_kwargs={"word": "x"}, dont_filter=True)

    def of_c(self, response, word):
        yield {"url": response.url, "word": word, "depth": response.meta["depth"]}

    def never(self, failure):
        raise failure.value
""")

        assert crawl.archived == crawl.logged == PAGES | {"/c?own", "/c?own2"}
        assert sorted(crawl.items, key=lambda item: item["word"]) == [
            {"url": f"{here}/c?own", "word": "w", "depth": 2},
            {"url": f"{here}/c?own2", "word": "x", "depth": 2},
        ]

    def test_settings_of_its_own(self, ran):
        """`custom_settings` of a subclass add to those of `web`, and do not replace them."""
        crawl = ran('    custom_settings = {"DEPTH_STATS_VERBOSE": True}\n')

        assert (crawl.status, crawl.logged, crawl.archived) == (0, PAGES, PAGES)

    def test_start_urls(self, ran):
        """`start_urls` of a subclass begin a crawl as seeds do."""
        crawl = ran('    start_urls = ["HERE/"]\n', "-a", "scope=any")

        assert (crawl.status, crawl.logged, crawl.archived) == (0, PAGES, PAGES)


class TestLinks:
    def test_a_spider_chooses_them(self, ran):
        """Only the links that `links_to_follow` returns are submitted; the pages are archived all
        the same.
        """
        crawl = ran("""
    def links_to_follow(self, page):
        for link in page.links:
            if link.text != "to /b" and page.title != "Page /a":
                yield link
        if page.title == "Page /a":
            yield PageLink("a", "c")
""")

        assert crawl.status == 0
        assert crawl.logged == crawl.archived == {"/", "/a", "/c", "/missing", "/again"}

    def test_an_error_of_its_choice(self, ran):
        """If `links_to_follow` raises, the error is logged with its traceback, and the page is
        archived.
        """
        crawl = ran("""
    def links_to_follow(self, page):
        return [page.links[5]]
""")

        assert (crawl.logged, crawl.archived) == ({"/"}, {"/"})
        assert "IndexError" in (crawl.job / "logs/errors.log").read_text()

    def test_a_panic_of_its_choice(self, ran):
        """So it is if what is raised is no Exception: it costs that page's links, and the crawl
        goes on to its end.
        """
        crawl = ran("""
    def links_to_follow(self, page):
        if page.title == "Page /a":
            raise type("Panic", (BaseException,), {})
        return page.links
""")

        assert crawl.status == 0
        assert crawl.logged == crawl.archived == PAGES - {"/a/1", "/a/2"}

    def test_a_crawl_that_it_ends_keeps_its_page_for_the_next_run(self, ran):
        """If `links_to_follow` raises CloseSpider, the page comes again, and no link is lost."""
        crawl = ran("""
    stop = "yes"

    def links_to_follow(self, page):
        if self.stop and page.title == "Page /a":
            raise __import__("scrapy").exceptions.CloseSpider("enough")
        return page.links
""")
        assert "/a" not in crawl.logged

        crawl.project.run("crawl", "own", "-a", "seeds=seeds.txt", "-a", "stop=")
        assert crawl.logged == crawl.archived == PAGES

    def test_it_costs_no_batch(self):
        """A subclass that only chooses links, or begins elsewhere, is as fast as `web`; one with
        callbacks is not.
        """

        class Choosing(WebSpider):
            name = "choosing"
            attribute = 3

            def links_to_follow(self, page):
                return []

            async def start(self):
                yield

        class Calling(Choosing):
            def of_item(self, response):
                pass

        class Together(Calling):
            def parse_all(self, responses):
                return super().parse_all(responses)

        assert [kind.has_callbacks for kind in (WebSpider, Choosing, Calling, Together)] == [
            False,
            False,
            True,
            False,
        ]


class TestChecks:
    @pytest.mark.parametrize(
        ("body", "words", "line"),
        [
            (
                "",
                ["-a", "seed=seeds.txt"],
                "-a seed=…: unknown argument; allowed are seeds, scope, limit, since, follow, languages",
            ),
            (
                '    lang = "en"\n',
                ["-a", "lnag=de"],
                "-a lnag=…: unknown argument; allowed are seeds, scope, limit, since, follow, languages, lang",
            ),
            (
                PARSE,
                ["-a", "lang=de"],
                "-a lang=…: unknown argument; allowed are seeds, scope, limit, since, follow, languages",
            ),
            (
                "",
                ["-a", "limit=3"],
                "no seeds: give -a seeds= a file or a URL, or several separated by commas",
            ),
            ("", ["-a", "seeds=nowhere.txt"], "nowhere.txt: No such file or directory"),
            (
                '    allowed_domains = ["a.test"]\n',
                ["-a", "seeds=seeds.txt"],
                "own: allowed_domains has no effect here: use -a scope=, URL_SCOPE or URL_INCLUDE",
            ),
            (
                '    start_urls = ["http://a.test/"]\n',
                ["-a", "scope=seeds"],
                "scope=seeds: start_urls are not seeds: give -a seeds=FILE, or another scope",
            ),
            (
                '    custom_settings = {"FRONTIER_LEVELS": 0}\n',
                ["-a", "seeds=seeds.txt"],
                "FRONTIER_LEVELS = 0: must be a whole number from 1 to 1000",
            ),
            (
                '    custom_settings = {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}\n',
                ["-a", "seeds=seeds.txt"],
                "SCHEDULER = 'scrapy.core.scheduler.Scheduler': own needs webcrawl's own scheduler",
            ),
        ],
    )
    def test_it_is_refused_before_it_starts(self, ran, body, words, line):
        """A subclass is checked as `web` is: what is wrong is one line and exit status 1."""
        crawl = ran(body or "    pass\n", *words)

        assert (crawl.status, crawl.said) == (1, f"{line}\n")

    def test_arguments_of_its_own(self, ran, here):
        """A parameter of its constructor and a plain attribute are arguments; a constructor may
        give the seeds.
        """
        crawl = ran(
            """
    lang = "en"

    def __init__(self, folder, **kwargs):
        super().__init__(seeds=f"{folder}/seeds.txt", **kwargs)

    def parse(self, response):
        yield {"lang": self.lang}
""",
            *("-a", "folder=.", "-a", "lang=de"),
        )

        assert (crawl.status, crawl.archived) == (0, PAGES)
        assert crawl.items == [{"lang": "de"}] * len(FOUND)

    @pytest.mark.parametrize(
        ("seeds", "line"),
        [
            ("", "own: nothing to crawl: give it -a seeds=, start_urls, or a start() method"),
            ("nowhere.txt", "nowhere.txt: No such file or directory"),
        ],
    )
    def test_seeds_that_only_a_constructor_knows(self, ran, seeds, line):
        """A constructor that gives no seeds, or a list that is not there, ends the crawl with
        status 1 and a line.
        """
        crawl = ran(
            f"""
    def __init__(self, **kwargs):
        super().__init__(seeds={seeds!r}, **kwargs)
""",
            *("-a", "limit=1"),
        )

        assert crawl.status == 1
        assert f"CRITICAL: {line}\n" in crawl.said
