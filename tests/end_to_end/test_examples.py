"""docs/examples/: each small project does what it says, on a local site."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.commands import command
from tests.support.crawling import PATIENCE
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from webcrawl.store.jobdir.crawls import crawls_of

EXAMPLES = ROOT / "docs/examples"
PAGES = {
    "/": "<title>Front</title><a href=/news>The news</a> <a href=/print/news>Print</a> <a href=/article>Read</a>",
    "/news": "<title>News</title>one two three <a href=/more>more</a>",
    "/article": "<title>Article</title>",
    "/more": "<title>More</title>",
    "/quotes": '<div class=quote><span>Yes.</span><small>A.</small></div><li class=next><a href="/quotes2">Next</a>',
    "/quotes2": "<div class=quote><span>No.</span><small>B.</small></div>",
}
POLITE = [
    "POLITENESS_MIN_DELAY=0.05",
    "POLITENESS_FACTOR=0",
    "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8",
    "LOG_LEVEL=WARNING",
]


class Pages(Site):
    def answer(self):
        text = PAGES.get(self.path)
        self.say(404 if text is None else 200, (text or "").encode(), content_type="text/html")


@pytest.fixture
def site():
    with serving(Pages) as address:
        yield address


@pytest.fixture
def project(tmp_path):
    """Copies an example, and runs a command in the copy."""

    def run(name, *words, module="webcrawl"):
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
        done = command(
            module, *words, *[word for one in POLITE for word in ("-s", one)], cwd=folder
        )
        assert done.returncode == 0, done.stderr
        return folder

    return run


def allowed(site):
    return ["-s", f"PORTS_ALLOWED={site.rpartition(':')[2]}"]


def fetched(folder):
    """Paths that crawl.log has with status 200, in their order."""
    lines = (folder / "crawls/web/logs/crawl.log").read_text().splitlines()
    return [
        re.sub(r"^http://[^/]*", "", line.split()[3]) for line in lines if line.split()[1] == "200"
    ]


def crawl(site, *settings):
    given = [word for one in settings for word in ("-s", one)]
    return ["crawl", "web", "-a", f"seeds={site}/", *allowed(site), *given]


def test_pipeline(site, project):
    """One line per HTML page, with the number of its visible words."""
    folder = project("pipeline", *crawl(site, 'ITEM_PIPELINES={"words.WordsPipeline": 300}'))

    rows = {
        row["title"]: row["words"]
        for row in map(json.loads, (folder / "words.jsonl").read_text().splitlines())
    }
    assert rows["News"] == 4


def test_filter(site, project):
    """The printable page is never requested; all others are."""
    folder = project("filter", *crawl(site, 'URL_FILTERS={"no_print_pages.NoPrintPages": 960}'))

    assert {*fetched(folder)} == {"/", "/news", "/article", "/more"}


def test_prioritizer(site, project):
    """An article goes before a page that was found first."""
    folder = project(
        "prioritizer", *crawl(site, "FRONTIER_PRIORITIZER=articles_first.ArticlesFirst")
    )

    paths = fetched(folder)
    assert paths.index("/article") < paths.index("/more")


def test_scorer(site, project):
    """Each page has its score in the log."""
    focus = "FRONTIER_PRIORITIZER=webcrawl.frontier.prioritizers.focus.ByFocus"
    folder = project("scorer", *crawl(site, "SCORER=about_lamps.score", focus))

    assert (folder / "crawls/web/logs/crawl.log").read_text().count("score:0.000") == 4


def test_feature(project):
    """Ten pages of the host have the language, in all runs together; its other URLs end without a
    request.
    """

    class German(Site):
        def answer(self):
            links = "".join(f"<a href=/{number}>{number}</a>" for number in range(1, 21))
            page = f"<html lang=de><title>{self.path}</title>{links}"
            self.say(
                404 if self.path == "/robots.txt" else 200, page.encode(), content_type="text/html"
            )

    with serving(German) as address:
        words = crawl(address, "FEATURES=ten_of_a_language.TenOfALanguage")
        folder = project("feature", *words, "-s", "CLOSESPIDER_PAGECOUNT=4")
        before = len(fetched(folder))
        project("feature", *words)

    stats = json.loads((folder / "crawls/web/stats.json").read_text())
    assert 0 < before < len(fetched(folder)) == 10
    assert (
        stats["languages/de"],
        stats["languages/full hosts"],
        stats["frontier/dropped/-5006"],
    ) == (10, 1, 11)


def test_spider(site, project):
    """Only links with the word are followed, and each page gives an item."""
    words = [
        "runspider",
        "news.py",
        "-a",
        f"seeds={site}/",
        "-a",
        "word=news",
        "-o",
        "news.jsonl",
        *allowed(site),
    ]
    folder = project("spider", *words)

    items = [json.loads(line) for line in (folder / "news.jsonl").read_text().splitlines()]
    assert {item["title"] for item in items if "title" in item} == {"Front", "News"}


def test_addon(site, project):
    """A project's own spider crawls with webcrawl: its feed is whole, and the JOBDIR is a crawl."""
    folder = project(
        "addon",
        "crawl",
        "quotes",
        "-a",
        f"start={site}/quotes",
        "-O",
        "quotes.jsonl",
        *allowed(site),
        module="scrapy",
    )

    items = [json.loads(line) for line in (folder / "quotes.jsonl").read_text().splitlines()]
    assert [item["by"] for item in items] == ["A.", "B."]
    assert crawls_of(folder / "crawls/quotes")


@pytest.mark.campaign
def test_hive(site, tmp_path):
    """The script starts a hive, which crawls the site and ends."""
    folder = tmp_path / "hive"
    shutil.copytree(EXAMPLES / "hive", folder)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "webcrawl").write_text(f'#!/bin/sh\nexec {sys.executable} -m webcrawl "$@"\n')
    (programs / "webcrawl").chmod(0o755)
    words = [
        "./crawl.sh",
        f"{site}/",
        *allowed(site),
        *[word for one in POLITE for word in ("-s", one)],
    ]

    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert len(crawls_of(folder / "crawl")) == 2
