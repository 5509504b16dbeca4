"""OUTPUTS=documents: what is a document in a crawl, and that an archive gives the same ones afterwards."""

import json

import pytest
import zstandard
from pyarrow import parquet

from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.lamp_site import Lamps
from tests.support.plain_site import serving
from tests.support.tables import rows
from webcrawl.tools.verify.verify_crawl import verify

pytest.importorskip("trafilatura", reason="documents are made by trafilatura: pip install 'trafilatura>=2.0,<3'")
pytest.importorskip("resiliparse", reason="languages are found by resiliparse: pip install 'resiliparse>=0.15,<3'")
pytestmark = pytest.mark.xdist_group("documents")  # one crawl for all tests

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "OUTPUTS": "warc cdxj documents"}
PLACE = ("warc_filename", "warc_record_offset", "warc_record_length")


def crawled(folder, **settings):
    with serving(Lamps) as here:
        (folder / "seeds.txt").write_text(f"{here}/\n")
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, {**FAST, **settings})
        assert crawl.run() == 0, crawl.output.read_text()
    return crawl


def processed(crawl, job, **settings):
    """The documents that `scrapy process` makes of the crawl's archive, by path."""
    words = [f"{name}={value}" for name, value in {"JOBDIR": job, "OUTPUTS": "documents", **settings}.items()]
    done = command("scrapy", "process", crawl.jobdir, *(word for one in words for word in ("-s", one)))
    assert done.returncode == 0, done.stderr
    return by_path(job)


def by_path(jobdir):
    found = rows(jobdir, "documents")
    assert len({row["id"] for row in found}) == len(found)
    return {"/" + row["url"].split("/", 3)[3]: row for row in found}


@pytest.fixture(name="crawl", scope="module")
def _crawl(tmp_path_factory):
    return crawled(tmp_path_factory.mktemp("documents"))


def test_each_new_page_is_a_document(crawl):
    """Pages of texts are, once; images, errors, redirects, copies and robots.txt are not."""
    assert by_path(crawl.jobdir).keys() == {"/", "/article", "/near", "/slovene", "/forbidden", "/plain"}
    assert crawl.stats["documents/written"] == 6
    assert [str(damage) for damage in verify(crawl.jobdir, {})] == []


def test_the_row_of_an_article(crawl):
    """Main text as Markdown, without navigation; what the page says of itself; where the archive has it."""
    row = by_path(crawl.jobdir)["/article"]

    for part in ("## How lamps work", "- A lamp", "| Lamp |", "[the manual](", "```\nlamp = on\nwick = cut\n```"):
        assert part in row["text"]
    assert "Subscribe now" not in row["text"]
    assert (row["title"], row["date"], row["author"]) == ("Lamps", "2024-05-17", "Ada Lovelace")
    assert (row["language"], row["language_detected"]) == ("en-GB", "en")
    assert row["license"] == "CC BY 4.0"
    assert row["words"] > 100
    assert row["change"] == "new"
    assert None not in [row[name] for name in PLACE]


def test_near_duplicates_share_a_cluster(crawl):
    """Its name is the fingerprint of the first of them."""
    found = by_path(crawl.jobdir)
    first, second = sorted((found["/article"], found["/near"]), key=lambda row: row["warc_record_offset"])

    assert first["text"] != second["text"]
    assert first["cluster"] == first["neardup"] == second["cluster"]
    assert found["/slovene"]["cluster"] == found["/slovene"]["neardup"] != first["cluster"]


def test_what_the_owner_says(crawl, tmp_path):
    """It is noted; with a PURPOSE that the owner forbids, the page is no document."""
    assert by_path(crawl.jobdir)["/forbidden"]["forbidden"] == "train-ai"
    kept = processed(crawl, tmp_path / "job", PURPOSE="train-ai")

    assert by_path(crawl.jobdir).keys() - kept.keys() == {"/forbidden"}


def test_an_archive_gives_the_same(crawl, tmp_path):
    """`scrapy process` makes them of WARC files, row for row, but for what the crawl alone knows: places."""
    ours, theirs = by_path(crawl.jobdir), processed(crawl, tmp_path / "job")

    for found in (*ours.values(), *theirs.values()):
        for name in (*PLACE, "cluster"):  # the archive has another order than the crawl's ends
            found.pop(name)
    assert theirs == ours


def test_short_ones_and_other_languages_are_left_out(crawl, tmp_path):
    """By DOCUMENT_MIN_WORDS and DOCUMENT_LANGUAGES; they are counted."""
    found = processed(crawl, tmp_path / "job", DOCUMENT_MIN_WORDS=30, DOCUMENT_LANGUAGES="sl")
    stats = json.loads((tmp_path / "job/stats.json").read_text())

    assert found.keys() == {"/slovene"}
    assert (stats["documents/short"], stats["documents/language"]) == (2, 3)


class TestExport:
    """`scrapy export documents`."""

    def test_as_lines(self, crawl, tmp_path):
        """Of a crawl that made documents: the same rows, as `text`, `id` and `metadata`, in one frame of zstd."""
        target = tmp_path / "lamps.jsonl.zst"
        done = command("scrapy", "export", "documents", crawl.jobdir, "-o", target)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}: 6 documents\n", "")

        with target.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as unpacked:
            lines = [json.loads(line) for line in unpacked.read().decode().splitlines()]
        found = rows(crawl.jobdir, "documents")
        assert [(line["text"], line["id"]) for line in lines] == [(row["text"], row["id"]) for row in found]
        assert lines[0].keys() == {"text", "id", "metadata"}
        assert lines[0]["metadata"].keys() == found[0].keys() - {"text", "id"}
        assert list(tmp_path.iterdir()) == [target]

    def test_of_an_archive(self, crawl, tmp_path):
        """Of WARC files, with settings: they are made now."""
        target, archive = tmp_path / "lamps.parquet", sorted((crawl.jobdir / "warc").glob("*.warc.gz"))
        done = command("scrapy", "export", "documents", *archive, "-o", target, "-s", "DOCUMENT_MIN_WORDS=30")

        assert (done.returncode, done.stdout) == (0, f"{target}: of the archive, 4 documents\n"), done.stderr
        assert parquet.read_table(target).num_rows == 4

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["{job}", "-o", "{folder}/x.csv"], "{folder}/x.csv: the name must end in .parquet or .jsonl.zst"),
            (["{job}", "-o", "{folder}/there.parquet"], "{folder}/there.parquet exists"),
        ],
    )
    def test_refusals(self, crawl, tmp_path, words, line):
        """One line, status 1, and nothing is changed."""
        (tmp_path / "there.parquet").write_text("mine")
        fill = {"job": crawl.jobdir, "folder": tmp_path}
        done = command("scrapy", "export", "documents", *(word.format(**fill) for word in words))

        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{line.format(**fill)}\n")
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
