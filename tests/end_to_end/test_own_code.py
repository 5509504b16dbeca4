"""Code of the user's own that is not what its setting asks for, or answers wrongly: one line says
what and where.

A politeness policy with a misspelt `wait` died at the first answer as "half a change:
AttributeError"; a filter that returned None, and a pipeline with `proces_item`, said nothing of it.
"""

import pytest

from tests.support.examples import in_campaign
from tests.support.plain_site import Site, serving
from tests.support.projects import OURS, Project

CODE = """
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.content.html.link_kinds import PageLink


class Own(WebSpider):
    name = "own"


class Misspelt(WebSpider):
    name = "misspelt"

    def link_to_follow(self, page):
        return []


class Callbacks(WebSpider):
    '''None of its names is a misspelling: it uses them.'''

    name = "callbacks"

    def parse(self, response):
        yield from self.parse_al(response)

    def parse_al(self, response):
        return []


class Texts(WebSpider):
    name = "texts"

    def links_to_follow(self, page):
        return [link.address for link in page.links]


class Nothing(WebSpider):
    name = "nothing"

    def links_to_follow(self, page):
        "Forgets to return."


class Any:
    def __init__(self, *arguments, **options): ...


class Waits(Any):
    def waits(self, times): ...


class Levels(Any):
    def levl(self, link): ...


class Mosts(Any):
    lead = 10

    def most_pages(self, links, *, seed): ...

    def sure(self, links, *, seed): ...


class NoLead(Any):
    leads = 10

    def most(self, links, *, seed): ...

    def sure(self, links, *, seed): ...


class Keeps(Any):
    name = "keeps"

    def keeps(self, urls, origin): ...


class Missing(Any):
    def misses_of(self, keys): ...


class Submits(Any):
    def submits(self, keys, records): ...


class Takes(Any):
    def takes(self, now): ...


class Asks(Any):
    def asks(self, host): ...


class Broken:
    def __init__(self, *arguments):
        raise KeyError("token")


class Short(Any):
    def wait(self, times):
        return "1 s"


class Endless(Any):
    def wait(self, times):
        return float("inf")


class Last(Any):
    def level(self, link):
        return -1


class Half(Any):
    def level(self, link):
        return 0.5


class Negative(Any):
    lead = float("inf")

    def most(self, links, *, seed):
        return -1

    def sure(self, links, *, seed):
        return 0


class Forgets(Any):
    name = "forgets"

    def keep(self, urls, origin):
        [url for url in urls if "x" not in url]


class Adds(Any):
    name = "adds"

    def keep(self, urls, origin):
        return [*urls, "http://elsewhere.test/"]


def folds(url):
    return None


class Pages:
    content_type = ("text/html",)

    def proces_item(self, page):
        return page


class Careful:
    def process_item(self, page):
        return self.processed_item(page)

    def processed_item(self, page):
        return page


class ForgetsThePage:
    def process_item(self, page):
        page.title


class Unflushed:
    def process_item(self, page):
        return page

    def close_spider(self):
        raise OSError("the rows are not stored")


class NoType:
    content_types = ("html",)

    def process_item(self, page):
        return page
"""


class OnePage(Site):
    """A page with a link to itself."""

    def answer(self):
        self.say(
            404 if self.path == "/robots.txt" else 200,
            b"<a href=/x>x</a>",
            content_type="text/html",
        )


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    def crawl(spider="own", **settings):
        project = Project(tmp_path, OURS, CODE, **settings)
        with serving(OnePage) as here:
            return project.run("crawl", spider, "-a", f"seeds={here}/0")

    return crawl


@pytest.mark.parametrize(
    ("setting", "name", "line"),
    [
        (
            "POLITENESS_POLICY",
            "Waits",
            "a politeness policy must have a method wait(times). It has waits; did you mean wait?",
        ),
        (
            "FRONTIER_PRIORITIZER",
            "Levels",
            "a prioritizer must have a method level(link). It has levl; did you mean level?",
        ),
        (
            "DOMAIN_BUDGET",
            "Mosts",
            "a method most(links, seed). It has most_pages; did you mean most?",
        ),
        (
            "DOMAIN_BUDGET",
            "NoLead",
            "a budget of a domain must have an attribute lead. It has leads; did you mean lead?",
        ),
        (
            "URL_CACHE",
            "Missing",
            "a URL cache must have a method misses(keys). It has misses_of; did you mean misses?",
        ),
        (
            "SEEN_STORE",
            "Submits",
            "a seen store must have a method submit(keys, records). It has submits; did you mean submit?",
        ),
        ("FRONTIER", "Takes", "a frontier must have "),
        (
            "DNS_LOOKUP",
            "Asks",
            "a name lookup must have a method ask(host). It has asks; did you mean ask?",
        ),
        ("POLITENESS_POLICY", "Broken", "cannot be created: KeyError('token')"),
    ],
)
def test_what_is_not_of_its_kind_does_not_start(crawl, setting, name, line):
    """The start ends with one line that names setting, class, and what the class lacks."""
    status, said = crawl(**{setting: f"spiders.{name}"})

    last = said.splitlines()[-1]
    assert status == 1
    assert last.startswith(f"{setting}: spiders.{name}")
    assert line in last


def test_what_is_no_filter_does_not_start(crawl):
    """A filter with a misspelt method is named with the method that was meant."""
    status, said = crawl(URL_FILTERS={"spiders.Keeps": 650})

    assert (status, said.splitlines()[-1].endswith(". It has keeps; did you mean keep?")) == (
        1,
        True,
    )


@pytest.mark.parametrize(
    ("setting", "value", "line"),
    [
        (
            "POLITENESS_POLICY",
            "spiders.Short",
            "spiders.Short.wait returned '1 s': expected seconds: a number from 0",
        ),
        (
            "FRONTIER_PRIORITIZER",
            "spiders.Last",
            "spiders.Last.level returned -1: expected a whole number from 0 to 7",
        ),
        (
            "DOMAIN_BUDGET",
            "spiders.Negative",
            "spiders.Negative.most returned -1: expected a number of pages",
        ),
        (
            "URL_FILTERS",
            {"spiders.Forgets": 650},
            "spiders.Forgets.keep of the filter forgets returned None: expected ",
        ),
        ("URL_FOLDINGS", ["spiders.folds"], "spiders.folds returned None: expected a str"),
        *in_campaign(
            (
                "POLITENESS_POLICY",
                "spiders.Endless",
                "spiders.Endless.wait returned inf: expected seconds",
            ),
            (
                "FRONTIER_PRIORITIZER",
                "spiders.Half",
                "spiders.Half.level returned 0.5: expected a whole number",
            ),
            (
                "URL_FILTERS",
                {"spiders.Adds": 650},
                "spiders.Adds.keep of the filter adds returned ['http://",
            ),
        ),
    ],
)
def test_a_wrong_answer_ends_the_crawl(crawl, setting, value, line):
    """The exit status is 1, and the line names setting, class, method and value."""
    status, said = crawl(**{setting: value})

    assert status == 1
    assert f"{setting}: {line}" in said


@pytest.mark.parametrize(
    ("spider", "line"),
    [
        (
            "texts",
            "spiders.Texts.links_to_follow returned '/x' among its links: expected PageLinks",
        ),
        ("nothing", "spiders.Nothing.links_to_follow returned None: expected PageLinks"),
    ],
)
def test_wrong_links_are_an_error_of_the_page(crawl, tmp_path, spider, line):
    """errors.log names the spider, its method and the value."""
    crawl(spider)

    assert line in (tmp_path / "crawls" / spider / "logs/errors.log").read_text()


def test_a_misspelt_hook_of_a_pipeline_is_named(crawl):
    """A pipeline that is never called says so at the start, and one whose names are its own says
    nothing.
    """
    _, said = crawl(ITEM_PIPELINES={"spiders.Pages": 300, "spiders.Careful": 301})

    assert "spiders.Pages.proces_item is never called; did you mean process_item?" in said
    assert "spiders.Pages.content_type is never called; did you mean content_types?" in said
    assert "spiders.Careful" not in said.partition("Enabled item pipelines")[0]
    assert "processed_item" not in said


def test_a_misspelt_hook_of_a_spider_is_named(crawl):
    """A subclass of `web` with a name that is nearly a hook's gets a warning."""
    _, said = crawl("misspelt")

    assert "spiders.Misspelt.link_to_follow is never called; did you mean links_to_follow?" in said


def test_a_name_that_is_used_is_no_misspelling(crawl):
    """A callback whose name is nearly a hook's is left alone if the spider uses it."""
    _, said = crawl("callbacks")

    assert "did you mean" not in said


def test_a_pipeline_that_returns_no_page_is_named(crawl):
    """What fails for lack of a page is a later pipeline or a feed: one line names the first."""
    _, said = crawl(ITEM_PIPELINES={"spiders.ForgetsThePage": 300, "spiders.Careful": 301})

    line = "spiders.ForgetsThePage.process_item returned None: later pipelines and feeds get None"
    assert said.count(line) == 1


def test_a_pipeline_that_cannot_close_is_no_success(crawl):
    """The exit status is 1 if `close_spider` raises: the pipeline may not have stored its data."""
    status, said = crawl(ITEM_PIPELINES={"spiders.Unflushed": 300})

    assert "the rows are not stored" in said
    assert status == 1


def test_a_content_type_that_is_none_is_one_line(crawl):
    """The start ends without a traceback, which would hide the line."""
    status, said = crawl(ITEM_PIPELINES={"spiders.NoType": 300})

    assert status == 1
    assert "spiders.NoType: content_types must be types such as text/html" in said.splitlines()[-1]
    assert "Traceback" not in said
