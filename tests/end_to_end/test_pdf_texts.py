"""PDFs in texts, index and documents: while crawling, after kill -9, and from an archive."""

import textwrap
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.fulltext import written
from tests.support.lamp_site import PARAGRAPH
from tests.support.named_sites import Typed, sites
from tests.support.pdfs import pdf, with_content
from tests.support.tables import rows
from webcrawl.record.fulltext.text_search import IndexSearch
from webcrawl.tools.verify_crawl import verify

pytest.importorskip("pypdfium2", reason="PDFs are read by pypdfium2: pip install 'pypdfium2>=5,<6'")
pytest.importorskip(
    "trafilatura", reason="documents are made by trafilatura: pip install 'trafilatura>=2.0,<3'"
)
NAMES = ("lamp", "other", "broken", "blank")
LINES = " ".join(f"({line} ) Tj 0 -14 Td" for line in textwrap.wrap(PARAGRAPH, 60))
PAGES = {
    "/": "".join(f"<a href=/{name}.pdf>{name}</a>" for name in NAMES).encode(),
    "/lamp.pdf": Typed(
        with_content(f"BT /F1 12 Tf 72 700 Td {LINES} ET".encode(), urls=["/from-a-pdf"]),
        "application/pdf",
    ),
    "/other.pdf": Typed(pdf(text="Lamps are sold here"), "application/octet-stream"),
    "/broken.pdf": Typed(b"%PDF-1.4 nothing", "application/pdf"),
    "/blank.pdf": Typed(pdf(), "application/pdf"),
    "/from-a-pdf": b"<p>not followed",
}
WANTED = {"OUTPUTS": "warc cdxj index documents", "CHECKPOINT_INTERVAL": 0.2}


def paths(lines):
    return sorted("/" + line["url"].split("/", 3)[3] for line in lines)


@pytest.mark.campaign
def test_texts_of_pdfs(tmp_path):
    """Each PDF with a text is in all three, once, whoever kills the crawl; a broken one is noted."""
    with sites(lambda _, path, __: PAGES.get(path)) as served:
        crawl = served.crawl(tmp_path, ["site.test"], **WANTED)
        running = crawl.start()
        wait_until(lambda: len(served.pages()) >= 3)
        running.kill()
        assert crawl.run() == 0
        requested = {path for _, path in served.pages()}
    again = tmp_path / "again"
    options = ("-s", f"JOBDIR={again}", "-s", "OUTPUTS=index documents", "-s", "MIN_FREE_DISK=0")
    done = command("scrapy", "process", crawl.jobdir, *options)
    assert done.returncode == 0, done.stderr

    assert "/from-a-pdf" not in requested
    for folder in (crawl.jobdir, again):
        assert paths(written(folder)) == ["/", "/lamp.pdf", "/other.pdf"]
        assert paths(rows(folder, "documents")) == ["/", "/lamp.pdf"]
        (text,) = [row["text"] for row in rows(folder, "documents") if row["url"].endswith("pdf")]
        assert text.split() == PARAGRAPH.split()
        total, answers = IndexSearch(folder).find("burning wicks site:site.test", 10)
        assert (total, [answer.url.rpartition("/")[2] for answer in answers]) == (1, ["lamp.pdf"])
        assert list(verify(folder, Counter())) == []
    notes = {line.split()[3].rpartition("/")[2]: line.split()[11] for line in crawl_log(crawl)}
    assert "pdf:unreadable" in notes["broken.pdf"]


def crawl_log(crawl):
    return (crawl.jobdir / "logs/crawl.log").read_text().splitlines()


def test_without_the_library(tmp_path):
    """The crawl runs, and a line says that PDFs will have no text, and how to get it."""
    words = [
        "-a",
        "seeds=http://127.0.0.1:9/",
        "-s",
        "OUTPUTS=index",
        "-s",
        f"JOBDIR={tmp_path}/job",
    ]
    done = command("tests.support.without", "pypdfium2", "scrapy", "crawl", "web", *words)

    said = "OUTPUTS: index will have no text from PDFs: pypdfium2 is not installed: pip install 'pypdfium2>=5,<6'"
    assert done.stderr.count(said) == 1
