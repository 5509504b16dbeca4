"""All outputs of one crawl that is killed by kill -9 again and again agree with its archive and its
log.
"""

import gzip
import json
import random
from collections import Counter

import pytest
from pyarrow import parquet

from tests.support.all_outputs import (
    HAS_DOCUMENTS,
    KINDS,
    OUTPUTS,
    PAGES,
    Everything,
    archived,
    page,
    rows,
)
from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.plain_site import serving
from webcrawl.content.near_duplicates import fingerprint
from webcrawl.crawl.outputs.tags import start_tags
from webcrawl.record.pagefiles import page_file_name
from webcrawl.tools.verify_crawl import verify

pytestmark = pytest.mark.xdist_group("all outputs")  # one killed crawl for all tests

KILLS = 3


@pytest.fixture(name="killed", scope="module")
def _killed(tmp_path_factory):
    """The crawl's folder, the server's address, and how often each path was requested."""
    folder, chance = tmp_path_factory.mktemp("all"), random.Random(5)
    Everything.requested = Counter()
    with serving(Everything) as here:
        (folder / "seeds.txt").write_text(f"{here}/page/0\n")
        settings = {
            "OUTPUTS": OUTPUTS,
            "LINK_SOURCES": "a",
            "CHECKPOINT_INTERVAL": 0.1,
            "POLITENESS_FACTOR": 0,
            "POLITENESS_MIN_DELAY": 0.01,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        for _ in range(KILLS):
            running, before = crawl.start(), Everything.requested.total()
            many = before + chance.randint(6, 14)
            wait_until(
                lambda many=many, running=running: (
                    Everything.requested.total() >= many or not running.process.is_alive()
                )
            )
            assert running.process.is_alive(), crawl.output.read_text()
            running.kill()
            assert [str(damage) for damage in verify(crawl.jobdir, Counter())] == []
        assert crawl.run() == 0, crawl.output.read_text()
    return crawl.jobdir, here, Counter(Everything.requested)


def numbered(here, kind, first=1):
    return {f"{here}/{kind}/{number}" for number in range(first, PAGES + 1)}


def test_verify_finds_no_damage(killed):
    """Every file has the form and the length that the last checkpoint noted."""
    assert [str(damage) for damage in verify(killed[0], Counter())] == []


def test_every_url_has_its_line_and_its_record(killed):
    """Once in crawl.log, and once in the archive unless it was not fetched."""
    jobdir, here, _ = killed
    logged = Counter(
        line.split()[3] for line in (jobdir / "logs/crawl.log").read_text().splitlines()
    )
    all_of_them = set().union(*(numbered(here, kind) for kind in KINDS)) | {
        f"{here}/page/0",
        f"{here}/robots.txt",
    }

    assert logged == Counter(all_of_them)
    assert archived(jobdir).keys() == all_of_them - numbered(here, "forbidden")


def test_links(killed):
    """Each page has its links once, twins those of the page they repeat, and each redirect is one."""
    jobdir, here, _ = killed
    found = Counter(row[0] for row in rows(jobdir, "logs/links.log"))
    wanted = dict.fromkeys(numbered(here, "page", 0) | numbered(here, "twin"), len(KINDS) + 2)
    wanted |= {f"{here}/page/{PAGES}": 2} | dict.fromkeys(numbered(here, "moved"), 1)

    assert found == wanted
    assert {row[0] for row in rows(jobdir, "logs/links.log") if row[3] == "redirect"} == numbered(
        here, "moved"
    )


def test_tags(killed):
    """The counts are those of the new bodies in the archive."""
    elements, pages = Counter(), Counter()
    for url, body in archived(killed[0]).items():
        if "/page/" in url:
            names = Counter(name.decode() for name in start_tags(body))
            elements.update(names)
            pages.update(names.keys())

    found = {name: (int(count), int(on)) for name, count, on in rows(killed[0], "tags.tsv")}
    assert found == {name: (elements[name], pages[name]) for name in elements}


def test_images(killed):
    """Each image once, with its size."""
    jobdir, here, _ = killed
    found = sorted(tuple(row[:4]) for row in rows(jobdir, "logs/images.log"))

    assert found == sorted((url, "gif", "7", "5") for url in numbered(here, "image"))


def test_page_files(killed):
    """Each new body once, byte for byte as in the archive."""
    jobdir, here, _ = killed
    stored = rows(jobdir, "logs/store.log")
    bodies = archived(jobdir)

    wanted = numbered(here, "page", 0) | numbered(here, "image")
    assert Counter(row[1] for row in stored) == Counter(wanted)
    for _, url, _, _, _, _, size, _, number, offset in stored:
        body = (jobdir / page_file_name(int(number))).read_bytes()[int(offset) :][: int(size)]
        assert body == bodies[url]


def test_fingerprints(killed):
    """Each page once, and all of a different text."""
    jobdir, here, _ = killed
    found = rows(jobdir, "logs/neardup.log")

    assert Counter(url for _, url in found) == Counter(numbered(here, "page", 0))
    assert len({number for number, _ in found}) > PAGES // 2
    assert all(len(number) == 16 for number, _ in found)
    assert fingerprint(page(0).decode()) is not None


def test_tables(killed):
    """The lines of crawl.log in their order, with places in the archive, and the fingerprints of
    neardup.log.
    """
    jobdir, *_ = killed
    pages = parquet.read_table(sorted((jobdir / "tables").glob("pages-*.parquet"))).to_pylist()
    links = parquet.read_table(sorted((jobdir / "tables").glob("links-*.parquet"))).to_pylist()
    logged = [line.split() for line in (jobdir / "logs/crawl.log").read_text().splitlines()]
    prints = {url: int(number, 16) for number, url in rows(jobdir, "logs/neardup.log")}

    assert [(row["url"], row["fetch_status"]) for row in pages] == [
        (line[3], int(line[1])) for line in logged
    ]
    assert {row["url"] for row in pages if row["warc_filename"]} == archived(jobdir).keys()
    assert {row["url"]: row["neardup"] for row in pages if row["neardup"] is not None} == prints
    assert Counter(row["from_url"] for row in links) == Counter(
        row[0] for row in rows(jobdir, "logs/links.log") if row[2]
    )


@pytest.mark.skipif(not HAS_DOCUMENTS, reason="documents need trafilatura and resiliparse")
def test_documents(killed):
    """Each new page once, with its text and its place in the archive."""
    jobdir, here, _ = killed
    found = parquet.read_table(sorted((jobdir / "tables").glob("documents-*.parquet"))).to_pylist()

    assert Counter(row["url"] for row in found) == Counter(numbered(here, "page", 0))
    assert all("word" in row["text"] and row["flaw"] is None for row in found)
    assert {row["url"] for row in found if row["warc_filename"]} <= archived(jobdir).keys()
    assert len({row["id"] for row in found}) == len(found)


def test_text_and_index(killed):
    """Each new page has one line of text, and is found once."""
    jobdir, here, _ = killed
    texts = b"".join(
        gzip.decompress(path.read_bytes()) for path in sorted((jobdir / "text").iterdir())
    )
    lines = [json.loads(line) for line in texts.splitlines()]
    done = command("scrapy", "search", jobdir, "--json", "-n", 100, "page")

    assert Counter(line["url"] for line in lines) == Counter(numbered(here, "page", 0))
    assert sorted(json.loads(line)["url"] for line in done.stdout.splitlines()) == sorted(
        numbered(here, "page", 0)
    )


def test_skipped(killed):
    """What robots.txt forbids and what a filter drops, each once, with the page that links there."""
    jobdir, here, _ = killed
    found = Counter((reason, url, via) for _, reason, url, via in rows(jobdir, "logs/skipped.log"))
    forbidden = [
        ("robots_forbidden", f"{here}/forbidden/{n + 1}", f"{here}/page/{n}") for n in range(PAGES)
    ]
    dropped = [("extension", f"{here}/deep/{n}.zip", f"{here}/page/{n}") for n in range(PAGES + 1)]

    assert found == Counter(forbidden + dropped)


def test_requests(killed):
    """Every request that reached the server has its line, repeats included; a kill can only come
    between the two.
    """
    jobdir, here, requested = killed
    found = Counter(row[2].removeprefix(here) for row in rows(jobdir, "logs/requests.log"))

    assert requested - found == Counter()
    assert (found - requested).total() <= KILLS
    assert any(times > 1 for times in requested.values())
