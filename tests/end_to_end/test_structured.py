"""STRUCTURED_DATA: what tables, documents and texts have of a page's structured data."""

import gzip
import json

import pytest

import webcrawl
from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.lamp_site import PARAGRAPH
from tests.support.plain_site import Site, serving
from tests.support.tables import rows

for library in ("trafilatura", "resiliparse"):
    pytest.importorskip(library, reason=f"documents need {library}")
pytestmark = pytest.mark.xdist_group("structured")  # one crawl for all tests

FAST = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "OUTPUTS": "warc cdxj tables documents text",
}
PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "Lamp"}
JSON = f'<script type="application/ld+json">{json.dumps(PRODUCT)}</script>'
SAID = {"jsonld": [PRODUCT], "opengraph": {"og:title": ["A lamp"]}}
HEAD = f'<title>Lamp</title><meta property="og:title" content="A lamp">{JSON}'
BODY = f"<article><p>{PARAGRAPH}</p><p>{PARAGRAPH}</p></article>"
PAGES = {
    "/": "".join(f"<a href=/{path}>x</a>" for path in ("lamp", "large", "none", "mine", "copy")),
    "/lamp": HEAD + BODY,
    "/copy": HEAD + BODY,
    "/large": f"{HEAD}{BODY}<!--{'x' * (1 << 18)}-->",  # read in a thread
    "/none": f"<title>None</title>{BODY}<p>Nothing",
    "/mine": f"<meta name=tdm-reservation content=1>{HEAD}{BODY}<p>Mine",
}


class Shop(Site):
    """A site with structured data on some pages."""

    def answer(self):
        page = PAGES.get(self.path)
        self.say(200 if page else 404, (page or "").encode(), content_type="text/html")


def crawled(folder, here, **settings):
    (folder / "seeds.txt").write_text(f"{here}/\n")
    crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, {**FAST, **settings})
    assert crawl.run() == 0, crawl.output.read_text()
    return crawl.jobdir


@pytest.fixture(name="here", scope="module")
def _here():
    with serving(Shop) as here:
        yield here


@pytest.fixture(name="jobdir", scope="module")
def _jobdir(tmp_path_factory, here):
    return crawled(tmp_path_factory.mktemp("structured"), here, STRUCTURED_DATA=True)


def texts(jobdir):
    return [
        json.loads(line)
        for path in sorted((jobdir / "text").iterdir())
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


def by_path(found):
    """The structured data of each row, by the path of its page."""
    read = {}
    for row in found:
        said = row.get("structured")
        path = "/" + row["url"].split("/", 3)[3]
        read[path] = json.loads(said) if isinstance(said, str) else said
    return read


class TestOutputs:
    @pytest.mark.parametrize("table", ["pages", "documents"])
    def test_tables_have_json(self, jobdir, table):
        """A page's row has its data as JSON, read in a thread or not; null stands for none."""
        found = by_path(rows(jobdir, table))

        assert (found["/lamp"] or found["/copy"], found["/large"]) == (SAID, SAID)
        assert found["/none"] is None

    def test_texts_have_the_value(self, jobdir):
        """A line has the value itself, and no key where there is none."""
        found = {"/" + line["url"].split("/", 3)[3]: line for line in texts(jobdir)}

        assert found["/large"]["structured"] == SAID
        assert "structured" not in found["/none"]

    def test_a_copy_has_none(self, jobdir):
        """A body that was seen before has its data in the first row."""
        found = by_path(rows(jobdir, "pages"))

        assert [found["/lamp"], found["/copy"]].count(None) == 1

    def test_of_an_archive(self, jobdir, tmp_path):
        """`process` writes the same of the archive."""
        given = ("STRUCTURED_DATA=1", "OUTPUTS=tables text", f"JOBDIR={tmp_path}/again")
        done = command(
            "scrapy", "process", jobdir, *(word for one in given for word in ("-s", one))
        )
        assert done.returncode == 0, done.stderr

        assert by_path(rows(tmp_path / "again", "pages")) == by_path(rows(jobdir, "pages"))

    def test_what_owners_forbid(self, jobdir, tmp_path):
        """A page that is withheld has none, in no output."""
        given = (
            "STRUCTURED_DATA=1",
            "PURPOSE=train-ai",
            "OUTPUTS=tables documents text",
            f"JOBDIR={tmp_path}/again",
        )
        done = command(
            "scrapy", "process", jobdir, *(word for one in given for word in ("-s", one))
        )
        assert done.returncode == 0, done.stderr

        assert by_path(rows(tmp_path / "again", "pages"))["/mine"] is None
        assert "/mine" not in by_path(rows(tmp_path / "again", "documents"))
        assert "/mine" not in by_path(texts(tmp_path / "again"))

    def test_off(self, here, tmp_path):
        """Without the setting the columns are null, and texts have no key."""
        jobdir = crawled(tmp_path, here)

        for found in (rows(jobdir, "pages"), rows(jobdir, "documents"), texts(jobdir)):
            assert {"/lamp", "/large"} & by_path(found).keys()
            assert set(by_path(found).values()) == {None}


class TestPages:
    @pytest.mark.parametrize("setting", [True, False])
    def test_of_the_library(self, here, setting):
        """`page.structured` is there with the setting and without it, an empty dict for nothing."""
        crawl = webcrawl.crawl(
            f"{here}/",
            PRIVATE_NETWORKS_ALLOWED="127.0.0.0/8",
            POLITENESS_FACTOR=0,
            POLITENESS_MIN_DELAY=0,
            STRUCTURED_DATA=setting,
        )
        found = {page.url.removeprefix(here): page.structured for page in crawl}

        assert found["/large"] == found["/mine"] == SAID
        assert found["/none"] == found["/"] == {}
