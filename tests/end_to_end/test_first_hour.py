"""What a stranger meets on one small site: a URL as the argument, readable rows, and commands for
what to do next.
"""

import json
import re
import shlex

import pytest

from tests.support.commands import command
from tests.support.crawling import SETTINGS
from tests.support.plain_site import Site, serving

LINKS = (
    b'<title>A shop</title><h1>Welcome</h1><a href="/tea">Tea</a> <a '
    b'href="/tea#black">Black</a> <a href="/cup">Cup</a>'
)


class Shop(Site):
    """Three pages, and no robots.txt."""

    def answer(self):
        found = {
            "/": LINKS,
            "/tea": b"<title>Tea</title><p>green and black",
            "/cup": b"<p>blue",
        }.get(self.path)
        self.say(200 if found else 404, found or b"", content_type="text/html")


def folder_of(site):
    """The folder of a crawl from a URL of this site, where none is given."""
    return f"crawls/{site.removeprefix('http://').replace(':', '_')}"


def webcrawl(folder, *words, **settings):
    """The command in a folder that is no project."""
    given = [
        word
        for name, value in {**SETTINGS, **settings}.items()
        for word in ("-s", f"{name}={value}")
    ]
    return command("webcrawl", *words, *given, cwd=folder)


def test_a_url_in_place_of_a_spider(tmp_path):
    """`crawl URL` is `crawl web -a seeds=URL -a scope=host`, in a folder of the host's name."""
    with serving(Shop) as site:
        done = webcrawl(tmp_path, "crawl", f"{site}/")

    assert done.returncode == 0, done.stderr
    assert "scope any" not in done.stderr
    assert json.loads((tmp_path / folder_of(site) / "stats.json").read_text())["status/200"] == 3


def test_several_urls(tmp_path):
    """Each URL is a seed, a comma in one is no end of it, and `-a scope=` says how far to go."""
    with serving(Shop) as site:
        done = webcrawl(tmp_path, "crawl", f"{site}/tea", f"{site}/a,b", "-a", "scope=host")

    log = (tmp_path / folder_of(site) / "logs/crawl.log").read_text()
    assert (done.returncode, "scope any" in done.stderr) == (0, False)
    assert f"{site}/tea " in log
    assert f"{site}/a%2Cb " in log


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "xml"])
def test_rows_that_people_read(tmp_path, name):
    """A feed has a page's address, title, text and links, and nothing in base64."""
    with serving(Shop) as site:
        assert webcrawl(tmp_path, "crawl", f"{site}/", "-o", f"pages.{name}").returncode == 0

    text = (tmp_path / f"pages.{name}").read_text()
    assert "PGgxPldlbGNv" not in text
    assert re.search(r"Welcome\W+Tea Black Cup", text.replace("\\n", "\n"))
    if name == "jsonl":
        first = json.loads(text.splitlines()[0])
        assert (first["url"], first["title"]) == (f"{site}/", "A shop")
        assert first["links"] == [f"{site}/tea", f"{site}/tea#black", f"{site}/cup"]


def test_bodies_when_asked(tmp_path):
    """FEED_EXPORT_FIELDS names what a row has, a body too."""
    with serving(Shop) as site:
        webcrawl(
            tmp_path, "crawl", f"{site}/cup", "-o", "pages.jsonl", FEED_EXPORT_FIELDS="url,body"
        )

    assert json.loads((tmp_path / "pages.jsonl").read_text()) == {
        "url": f"{site}/cup",
        "body": "PHA+Ymx1ZQ==",
    }


def test_the_last_lines_can_be_run(tmp_path):
    """The commands at the end make text, tables and an index of what is there, search it and report
    on it.
    """
    with serving(Shop) as site:
        done = webcrawl(tmp_path, "crawl", f"{site}/")
    _, index, search, report, _ = done.stderr.splitlines()[-5:]

    for line in (index, search, report):
        words = shlex.split(line[line.index("webcrawl ") :])[1:]
        done = command(
            "webcrawl", *(word.replace("WORDS", "green") for word in words), cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        if line is search:
            assert f"{site}/tea" in done.stdout
    assert (tmp_path / folder_of(site) / "report.html").exists()
    assert list((tmp_path / f"{folder_of(site)}-read/text").iterdir())


def test_a_limit_is_told(tmp_path):
    """A crawl that a limit ends says so in its last line, and that the same command resumes it: it
    does.
    """
    with serving(Shop) as site:
        first = webcrawl(tmp_path, "crawl", f"{site}/", CLOSESPIDER_PAGECOUNT=2)
        second = webcrawl(tmp_path, "crawl", f"{site}/")

    told = "stopped by CLOSESPIDER_PAGECOUNT: run the same command to resume"
    assert (told in first.stderr.splitlines()[-2], "stopped" in second.stderr) == (True, False)
    assert json.loads((tmp_path / folder_of(site) / "stats.json").read_text())["status/200"] == 3


def test_another_crawls_folder(tmp_path):
    """Who gives other seeds in the folder of a crawl reads in one line what lies there, and that
    they are added.
    """
    with serving(Shop) as site:
        webcrawl(tmp_path, "crawl", f"{site}/cup", "-a", "scope=host")
        done = webcrawl(tmp_path, "crawl", f"{site}/tea", "-a", "scope=host")

    (line,) = (one for one in done.stderr.splitlines() if "another JOBDIR" in one)
    assert (
        f"{folder_of(site)}: resumed with 1 page and 0 URLs queued of a crawl that began on 20"
        in line
    )
    assert f"last run with the seeds {site}/cup; {site}/tea is added to it: to crawl" in line
    assert json.loads((tmp_path / folder_of(site) / "stats.json").read_text())["pages"] == 2
