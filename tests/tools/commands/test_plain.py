"""Commands that look at single pages: they print what they print in a plain project, and touch no
crawl.
"""

import os
import re
import subprocess
import sys

import pytest

from tests.support.examples import in_campaign
from tests.support.jobs import tree
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from tests.support.projects import OURS, PLAIN, Project

SPIDERS = '''
from scrapy import Spider
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.pipelines.output import open_output


class Looking(Spider):
    name = "looking"
    start_urls = ["{here}/1"]

    def parse(self, response):
        """
        @url {here}/9
        @returns items 1 1
        """
        number = int(response.url.rpartition("/")[2])
        yield {{"url": response.url, "title": response.css("title::text").get()}}
        yield response.follow(f"/{{number + 1}}")


class Choosing(WebSpider):
    name = "choosing"

    def links_to_follow(self, page):
        return [link for link in page.links if "no" not in link.text]


class Noting:
    @classmethod
    def from_crawler(cls, crawler):
        pipeline = cls()
        pipeline.crawler = crawler
        return pipeline

    def open_spider(self):
        self.output = open_output(self.crawler, "notes")

    def process_item(self, item):
        self.output.write(b"an item\\n")
        return item
'''
BROWSER = 'import os\nos.environ["BROWSER"] = "echo opened %s"\n'
TITLE = "response.css('title::text').get()"
COMMANDS = {  # what is printed in a plain project, as an expression
    "fetch": (["fetch", "{here}/7"], "<title>/7</title>"),
    "fetch a redirect": (["fetch", "{here}/to/7"], "<title>/7</title>"),
    "fetch its headers": (["fetch", "--headers", "{here}/7"], "< Content-Type: text/html"),
    "fetch as a spider": (["fetch", "--spider", "looking", "{here}/7"], "<title>/7</title>"),
    "fetch with a JOBDIR": (
        ["fetch", "-s", "JOBDIR=crawls/looking", "{here}/7"],
        "<title>/7</title>",
    ),
    "shell": (["shell", "-c", TITLE, "{here}/7"], "/7\n"),
    "shell on a file": (["shell", "-c", TITLE, "./page.html"], "a file\n"),
    "shell alone": (["shell", "-c", "response"], "None\n"),
    "view": (["view", "{here}/7"], "opened file://"),
    "parse": (["parse", "--spider", "looking", "--nocolour", "{here}/7"], "'title': '/7'"),
    "parse deeper": (
        ["parse", "--spider", "looking", "--nocolour", "-d", "3", "{here}/7"],
        "'title': '/9'",
    ),
    "check": (["check"], "Ran 1 contract"),
}
DAILY = ("fetch", "shell", "parse deeper")  # in every run; the others in the campaign


class Pages(Site):
    """Pages whose title is their path; /to/x redirects to /x."""

    def answer(self):
        if self.path.startswith("/to/"):
            self.say(302, b"", location=self.path[3:])
        else:
            body = b"" if self.path == "/robots.txt" else f"<title>{self.path}</title>".encode()
            if self.path == "/links":
                body += b'<a href="a#x">yes</a><a href="/b?c">yes</a><a href="/n">no</a>'
                body += b'<a href="http://[">yes</a><img src=i>'
            self.say(200, body, content_type="text/html")


@pytest.fixture(name="here", scope="module")
def _here():
    with serving(Pages) as address:
        yield address


@pytest.fixture(name="plain", scope="module")
def _plain(here, tmp_path_factory):
    return _project(tmp_path_factory.mktemp("plain"), PLAIN, here)


@pytest.fixture(name="ours", scope="module")
def _ours(here, tmp_path_factory):
    """A project with a crawl that was stopped and has URLs queued."""
    project = _project(tmp_path_factory.mktemp("ours"), OURS, here)
    status, said = project.run("crawl", "looking", CLOSESPIDER_PAGECOUNT=2)
    assert status == 0, said
    return project


def _project(folder, settings, here):
    pipelines = {"spiders.Noting": 300} if settings is OURS else {}  # it writes to the crawl
    project = Project(
        folder, BROWSER + settings, SPIDERS.format(here=here), ITEM_PIPELINES=pipelines
    )
    (folder / "page.html").write_text("<title>a file</title>")
    return project


def _printed(text):
    """Without what differs from run to run."""
    text = re.sub(r"in \d+\.\d+s|/tmp\S+\.html|< (Server|Date): .*", "…", text)
    return re.sub(r"(?m)^-+$", "", text)


class TestSinglePages:
    @pytest.mark.parametrize(
        "name", [*DAILY, *in_campaign(*(name for name in COMMANDS if name not in DAILY))]
    )
    def test_it_prints_what_plain_scrapy_prints(self, ours, plain, here, name):
        """A command on a page prints what it prints without webcrawl, and leaves the crawl in
        JOBDIR untouched.
        """
        words, expected = COMMANDS[name]
        words = [word.format(here=here) for word in words] + ["--nolog"]
        before = tree(ours.folder / "crawls")
        said = ours.run(*words)

        assert tree(ours.folder / "crawls") == before
        assert expected in said[1]
        status, text = plain.run(*words)
        assert (said[0], _printed(said[1])) == (status, _printed(text))

    def test_the_broad_crawls_own_spider(self, ours, here):
        """`parse` shows the page that `web` or a subclass makes, and the links that it would
        follow.
        """
        status, said = ours.run(
            "parse", "--spider", "choosing", "--nocolour", "--nolog", f"{here}/links"
        )

        assert status == 0
        assert "'title': '/links'" in said
        assert (
            said.rpartition("# Requests")[2].strip("- \n") == f"[<GET {here}/a>, <GET {here}/b?c>]"
        )

    @pytest.mark.campaign
    def test_bench(self, ours):
        """`bench` crawls its own server, with Scrapy's scheduler and its log, and no JOBDIR."""
        before = tree(ours.folder / "crawls")
        status, said = ours.run("bench", CLOSESPIDER_TIMEOUT=1)

        assert (status, tree(ours.folder / "crawls")) == (0, before)
        assert "[scrapy.extensions.logstats] INFO: Crawled" in said
        assert "webcrawl.adapter.extensions" not in said

    def test_pipelines_that_write_to_the_crawl(self, ours, here):
        """`parse --pipelines` runs a pipeline that writes to JOBDIR, and says that nothing is
        written.
        """
        before = tree(ours.folder / "crawls")
        status, said = ours.run(
            "parse", "--spider", "looking", "--pipelines", "--nocolour", f"{here}/7"
        )

        assert (status, tree(ours.folder / "crawls")) == (0, before)
        assert (
            said.count(
                "notes is not written, because this command is not a crawl and has no JOBDIR"
            )
            == 1
        )
        assert "'title': '/7'" in said

    def test_a_spider_that_asks_for_the_crawl_itself(self, here, tmp_path):
        """Custom settings of a spider, and those of another add-on, are undone like the project's."""
        spiders = SPIDERS.format(here=here).replace(
            "    start_urls",
            "    custom_settings = {name: getattr(settings, name) for name in NAMES}\n    start_urls",
        )
        names = "from webcrawl import settings\nNAMES = ['SCHEDULER', 'DOWNLOADER', 'DOWNLOAD_HANDLERS_BASE']\n"
        project = Project(
            tmp_path, PLAIN + 'COMMANDS_MODULE = "webcrawl.commands"\n', names + spiders
        )
        status, said = project.run("fetch", "--spider", "looking", f"{here}/7", "--nolog")

        assert (status, said) == (0, "<title>/7</title>\n")
        assert not (tmp_path / "crawls").exists()

    def test_the_crawl_goes_on(self, ours):
        """After all those commands the crawl resumes where it was stopped."""
        before = (ours.folder / "crawls/looking/logs/crawl.log").read_text().splitlines()
        assert ours.run("crawl", "looking", CLOSESPIDER_PAGECOUNT=2)[0] == 0
        after = (ours.folder / "crawls/looking/logs/crawl.log").read_text().splitlines()
        urls = [
            line.split()[3].rpartition("/")[2]
            for line in after
            if not line.split()[3].endswith("robots.txt")
        ]

        assert len(after) > len(before)
        assert urls == [str(number) for number in range(1, len(urls) + 1)]


SCRIPT = """
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

process = AsyncCrawlerProcess(get_project_settings())
process.crawl("looking")
process.start()
"""
ANOTHER = """
from scrapy import Spider


class Another(Spider):
    name = "{name}"
    start_urls = ["{here}/1"]

    def parse(self, response):
        yield {{"url": response.url}}
"""


class TestJobdirs:
    @pytest.fixture(name="project")
    def _project(self, here, tmp_path):
        (tmp_path / "another.py").write_text(ANOTHER.format(name="another", here=here))
        return Project(tmp_path, OURS, SPIDERS.format(here=here), CLOSESPIDER_PAGECOUNT=1)

    def test_each_spider_has_its_own(self, project):
        """Without a JOBDIR the state of a spider is in crawls/ and its name, whatever command runs
        it.
        """
        assert project.run("crawl", "looking") == (0, project.output.read_text())
        assert project.run("runspider", "another.py") == (0, project.output.read_text())

        assert sorted(path.name for path in (project.folder / "crawls").iterdir()) == [
            "another",
            "looking",
        ]
        assert all(
            (path / "logs/crawl.log").read_text() for path in (project.folder / "crawls").iterdir()
        )

    @pytest.mark.campaign
    def test_a_script_crawls(self, project):
        """A program of the user's own that runs a spider with the project's settings runs the
        crawl.
        """
        command = [sys.executable, "-c", SCRIPT]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("SCRAPY_SETTINGS_MODULE", None)  # another test's
        done = subprocess.run(
            command, cwd=project.folder, env=environment, capture_output=True, check=False
        )

        assert done.returncode == 0, done.stderr
        assert (project.folder / "crawls/looking/logs/crawl.log").read_text()

    @pytest.mark.parametrize(
        "words", [["crawl", "looking"], ["runspider", "another.py"]], ids=lambda words: words[0]
    )
    def test_another_spider_is_refused(self, project, here, words):
        """A JOBDIR belongs to the spider that began it; another one is refused in one line, by both
        commands.
        """
        (project.folder / "first.py").write_text(ANOTHER.format(name="first", here=here))
        assert project.run("runspider", "first.py", JOBDIR="job")[0] == 0
        before = tree(project.folder / "job/logs")

        name = "looking" if words[0] == "crawl" else "another"
        line = (
            f"{project.folder}/job: belongs to the spider first, not {name}: use another JOBDIR\n"
        )
        assert project.run(*words, JOBDIR=project.folder / "job") == (1, line)
        assert tree(project.folder / "job/logs") == before

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (None, "file not found: mistake.py"),
            ("", "no spider found in file: mistake.py"),
            (
                "import no_such_module",
                "unable to load 'mistake.py': No module named 'no_such_module'",
            ),
        ],
    )
    def test_a_file_without_a_spider(self, project, content, line):
        """A file that cannot be run is a usage error, exit status 2."""
        if content is not None:
            (project.folder / "mistake.py").write_text(content)
        status, said = project.run("runspider", "mistake.py")

        assert status == 2
        assert said.splitlines()[-1].endswith(f"error: {line}")
