"""`webcrawl mcp`, asked by the client of the protocol's reference library."""

import asyncio
import json
import sys

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.support.commands import command
from tests.support.crawling import QUICK, Crawl
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving

PAGES = 12
READING = ["crawls", "status", "hosts", "why", "search", "page"]


class Pages(Site):
    """A page that links to eleven others."""

    requested = 0

    def answer(self):
        type(self).requested += 1
        links = "".join(f"<a href=/{one}>page</a>" for one in range(1, PAGES))
        text = f"<title>Page {self.path}</title><p>Number {self.path[1:]}</p>{links}"
        status = 404 if self.path == "/robots.txt" else 200
        self.say(status, text.encode(), content_type="text/html")


@pytest.fixture(name="site", scope="module")
def _site():
    with serving(Pages) as address:
        yield address


@pytest.fixture(name="folder", scope="module")
def _folder(site, tmp_path_factory):
    """A folder with a finished crawl in crawls/job."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "seeds.txt").write_text(f"{site}/\n")
    settings = {"OUTPUTS": "warc cdxj index", **QUICK}
    crawl = Crawl(folder / "crawls/job", {"seeds": folder / "seeds.txt"}, settings)
    assert crawl.run() == 0, crawl.output.read_text()
    return folder


def talk(folder, questions, *words):
    """The names of the tools, and of each question whether it failed, and its answer."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "webcrawl", "mcp", *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
    )

    async def talking(log):
        async with Client(stdio_client(server, errlog=log)) as client:
            tools = (await client.list_tools()).tools
            answers = [await client.call_tool(name, values) for name, values in questions]
            return tools, [(bool(one.is_error), one.content[0].text) for one in answers]

    with (folder / "mcp.log").open("w") as log:
        return asyncio.run(talking(log))


def test_reading(folder, site):
    """An agent finds, reads and explains; every tool says that it only reads."""
    tools, answers = talk(
        folder,
        [
            ("crawls", {}),
            ("search", {"words": "number"}),
            ("page", {"url": f"{site}/3", "crawl": "job"}),
            ("why", {"url": f"{site}/none"}),
            ("status", {}),
        ],
    )

    assert [tool.name for tool in tools] == READING
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert [failed for failed, _ in answers] == [False] * 5
    crawls, found, page, why, status = [json.loads(text) for _, text in answers]
    assert [one["name"] for one in crawls] == ["job"]
    assert found["total"] == PAGES
    assert (page["title"], page["text"].split("\n")[0]) == ("Page /3", "Number 3")
    assert why["state"] == "unknown"
    assert (status["state"], status["pages"]) == ("stopped", PAGES)


def test_nothing_is_fetched_unless_allowed(folder, site):
    """There is no tool that crawls, and none that commands."""
    before = Pages.requested
    _, answers = talk(folder, [("crawl", {"url": f"{site}/", "pages": 1}), ("commands", {})])

    assert [failed for failed, _ in answers] == [True, True]
    assert answers[0][1] == f"crawl: there are {', '.join(READING)}"
    assert Pages.requested == before


def test_a_crawl_within_scope_and_budget(folder, site):
    """--allow-crawl lets an agent crawl these hosts, so many pages; then it reads them."""
    port = site.rpartition(":")[2]
    settings = {"PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8", "PORTS_ALLOWED": port, **QUICK}
    words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    tools, answers = talk(
        folder,
        [
            ("crawl", {"url": f"{site}/", "pages": 3}),
            ("crawl", {"url": f"{site}/", "pages": 3}),
            ("crawl", {"url": f"http://127.0.0.2:{port}/", "pages": 1}),
            ("crawl", {"url": "x", "pages": 1}),
            ("crawl", {"url": f"{site}/", "pages": 100}),
            ("crawl", {"url": f"{site}/robots.txt", "pages": 1}),
            ("crawls", {}),
        ],
        "--allow-crawl",
        "127.0.0.1=5",
        *words,
    )

    first, second, elsewhere, no_url, too_many, not_found, crawls = answers
    assert [tool.name for tool in tools] == [*READING, "crawl"]
    assert not first[0], first[1]
    assert len(json.loads(first[1])["pages"]) == 3
    assert json.loads(first[1])["left"] == 2
    assert second == (True, "127.0.0.1: its budget has 2 pages left")
    assert elsewhere == (True, "127.0.0.2: may not be crawled; --allow-crawl names 127.0.0.1")
    assert no_url[0]
    assert too_many == (True, "pages: must be a whole number from 1 to 5")
    # An answer that is no page costs nothing
    assert (json.loads(not_found[1])["pages"], json.loads(not_found[1])["left"]) == ({}, 2)
    assert json.loads(first[1])["crawl"] in {one["name"] for one in json.loads(crawls[1])}


@pytest.mark.parametrize(
    "budget", ["127.0.0.1", "=5", "a.test=0", "http://a.test/=5", "*=5", "a.test=x"]
)
def test_a_budget_that_cannot_be(tmp_path, budget):
    """The server does not start."""
    done = command("webcrawl", "mcp", "--allow-crawl", budget, cwd=tmp_path)

    assert done.returncode == 1
    assert done.stderr.startswith(f"--allow-crawl {budget}: must be a domain and a number of pages")


def test_a_folder_without_a_crawl(tmp_path):
    """The server does not start."""
    done = command("webcrawl", "mcp", tmp_path)

    assert (done.returncode, done.stderr) == (1, f"{tmp_path}: contains no crawl and no hive\n")
