"""Processing modules in a crawl: chosen by content type, beside ordinary pipelines, in their order."""

import json

import pytest

from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving

MODULE = "tests.support.module_pipelines"
NAMES = ("Markup", "Images", "Broken", "Late", "Ordinary")
TYPES = {
    "": "text/html; charset=utf-8",
    "x": "application/xhtml+xml",
    "i.png": "image/png",
    "t": "text/plain",
    "n": "",
}
pytestmark = pytest.mark.xdist_group("modules")  # one crawl for all tests


class Typed(Site):
    """Pages of several content types."""

    def answer(self):
        links = b"".join(b"<a href=/%s>" % name.encode() for name in TYPES)
        return self.say(200, links + self.path.encode(), content_type=TYPES[self.path[1:]])


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    with serving(Typed) as here:
        (folder / "seeds.txt").write_text(f"{here}/\n")
        pipelines = {f"{MODULE}.{name}": 300 + at for at, name in enumerate(NAMES)}
        settings = {
            "ITEM_PIPELINES": json.dumps(pipelines),
            "NOTES": folder,
            "ROBOTSTXT_OBEY": False,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        crawl.status = crawl.run()
    return crawl


def noted(crawl, name):
    return sorted((crawl.jobdir.parent / name).read_text().splitlines())


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("Markup", ["", "x"]),
        ("Images", ["i.png"]),
        ("Broken", ["", "i.png", "t", "x"]),
        ("Late", ["", "t"]),
        ("Ordinary", ["", "i.png", "n", "t", "x"]),
    ],
)
def test_each_gets_its_pages(crawled, name, paths):
    """A module is called for its content types alone; an ordinary pipeline for all, also behind a
    broken module.
    """
    assert noted(crawled, name) == paths


def test_an_error_costs_nothing_else(crawled):
    """Each error of a module is in errors.log with its page and traceback; crawl, log and exit
    status are as ever.
    """
    errors = (crawled.jobdir / "logs/errors.log").read_text()
    lines = (crawled.jobdir / "logs/crawl.log").read_text().splitlines()

    assert crawled.status == 0
    assert errors.count(f"{MODULE}.Broken: http://") == errors.count("ValueError: http://") == 4
    assert (crawled.stats["reason"], crawled.stats["answers"]) == ("finished", len(TYPES))
    assert len(lines) == len(TYPES)
