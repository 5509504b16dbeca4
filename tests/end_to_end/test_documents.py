"""OUTPUTS=documents: what is a document in a crawl, and that an archive gives the same ones
afterwards.
"""

import io
import json
import zipfile
from collections import Counter

import pytest
from pyarrow import parquet

from tests.support.cases import unpacked
from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.lamp_site import Lamps
from tests.support.plain_site import serving
from tests.support.tables import rows
from tests.support.warc_crawl import Archive, exchange
from webcrawl.crawl.outputs.documents import OFFICE
from webcrawl.tools.verify_crawl import verify

pytest.importorskip(
    "trafilatura", reason="documents are made by trafilatura: pip install 'trafilatura>=2.0,<3'"
)
pytest.importorskip(
    "resiliparse", reason="languages are found by resiliparse: pip install 'resiliparse>=0.15,<3'"
)
pytestmark = pytest.mark.xdist_group("documents")  # one crawl for all tests

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "OUTPUTS": "warc cdxj documents"}
PLACE = ("warc_filename", "warc_record_offset", "warc_record_length")


def crawled(folder, **settings):
    with serving(Lamps) as here:
        (folder / "seeds.txt").write_text(f"{here}/\n")
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, {**FAST, **settings})
        assert crawl.run() == 0, crawl.output.read_text()
    return crawl


def by_path(jobdir):
    found = rows(jobdir, "documents")
    assert len({row["id"] for row in found}) == len(found)
    return {"/" + row["url"].split("/", 3)[3]: row for row in found}


@pytest.fixture(name="crawl", scope="module")
def _crawl(tmp_path_factory):
    return crawled(tmp_path_factory.mktemp("documents"))


def test_each_new_page_is_a_document(crawl):
    """Pages of texts are, once; images, errors, redirects, copies and robots.txt are not."""
    assert by_path(crawl.jobdir).keys() == {
        "/",
        "/article",
        "/near",
        "/slovene",
        "/forbidden",
        "/plain",
    }
    assert crawl.stats["documents/written"] == 6
    assert [str(damage) for damage in verify(crawl.jobdir, Counter())] == []


def test_the_row_of_an_article(crawl):
    """Main text as Markdown, without navigation; what the page says of itself; where the archive
    has it.
    """
    row = by_path(crawl.jobdir)["/article"]

    for part in (
        "## How lamps work",
        "- A lamp",
        "| Lamp |",
        "[the manual](",
        "```\nlamp = on\nwick = cut\n```",
    ):
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
    first, second = sorted(
        (found["/article"], found["/near"]), key=lambda row: row["warc_record_offset"]
    )

    assert first["text"] != second["text"]
    assert first["cluster"] == first["neardup"] == second["cluster"]
    assert found["/slovene"]["cluster"] == found["/slovene"]["neardup"] != first["cluster"]


def test_what_is_left_out(crawl, tmp_path):
    """Pages whose owners forbid the crawl's PURPOSE."""
    job, row = tmp_path / "job", by_path(crawl.jobdir)["/forbidden"]
    given = ("PURPOSE=train-ai", "OUTPUTS=documents", f"JOBDIR={job}")
    done = command(
        "scrapy", "process", crawl.jobdir, *(word for one in given for word in ("-s", one))
    )
    assert done.returncode == 0, done.stderr
    stats = json.loads((job / "stats.json").read_text())

    assert row["forbidden"] == "train-ai"
    assert by_path(job).keys() == by_path(crawl.jobdir).keys() - {"/forbidden"}
    assert stats["withheld"] == 1
    assert [str(damage) for damage in verify(job, Counter())] == []


class TestExport:
    """`scrapy export documents`."""

    def test_as_lines(self, crawl, tmp_path):
        """Of a crawl that made documents: the same rows, as `text`, `id` and `metadata`, in one
        frame of zstd.
        """
        target = tmp_path / "lamps.jsonl.zst"
        done = command("scrapy", "export", "documents", crawl.jobdir, "-o", target)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}: 6 documents\n", "")

        lines = [json.loads(line) for line in unpacked(target).decode().splitlines()]
        found = rows(crawl.jobdir, "documents")
        assert [(line["text"], line["id"]) for line in lines] == [
            (row["text"], row["id"]) for row in found
        ]
        assert lines[0].keys() == {"text", "id", "metadata"}
        assert lines[0]["metadata"].keys() == found[0].keys() - {"text", "id"}
        assert list(tmp_path.iterdir()) == [target]

    def test_of_an_archive(self, crawl, tmp_path):
        """Of WARC files they are made now: the same, but for their places, and the order in which
        clusters begin.
        """
        target, archive = (
            tmp_path / "lamps.parquet",
            sorted((crawl.jobdir / "warc").glob("*.warc.gz")),
        )
        done = command("scrapy", "export", "documents", *archive, "-o", target)
        assert (done.returncode, done.stdout) == (0, f"{target}: of the archive, 6 documents\n"), (
            done.stderr
        )

        others = {row["id"]: row for row in parquet.read_table(target).to_pylist()}
        for row in rows(crawl.jobdir, "documents"):
            changed = {name for name, value in others.pop(row["id"]).items() if value != row[name]}
            assert changed <= {*PLACE, "cluster"}
        assert others == {}

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (
                ["{job}", "-o", "{folder}/x.csv"],
                "{folder}/x.csv: the name must end in .parquet or .jsonl.zst",
            ),
            (["{job}", "-o", "{folder}/there.parquet"], "{folder}/there.parquet exists"),
            (["{folder}/none.warc.gz"], "{folder}/none.warc.gz: no such file"),
        ],
    )
    def test_refusals(self, crawl, tmp_path, words, line):
        """One line, status 1, and nothing is changed."""
        (tmp_path / "there.parquet").write_text("mine")
        fill = {"job": crawl.jobdir, "folder": tmp_path}
        done = command("scrapy", "export", "documents", *(word.format(**fill) for word in words))

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines()[-1] == line.format(**fill)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_chunks_bring_documents(crawl, tmp_path):
    """OUTPUTS=chunks writes documents too, and their texts in parts, which `verify` reads."""
    job = tmp_path / "job"
    given = ("OUTPUTS=chunks", "CHUNK_SIZE=400", f"JOBDIR={job}")
    done = command(
        "scrapy", "process", crawl.jobdir, *(word for one in given for word in ("-s", one))
    )
    assert done.returncode == 0, done.stderr

    found = by_path(job)
    assert found.keys() == by_path(crawl.jobdir).keys()
    texts = {row["id"]: row["text"] for row in found.values()}
    chunks = rows(job, "chunks")
    assert {row["document_id"] for row in chunks} == texts.keys()
    for row in chunks:
        assert texts[row["document_id"]][row["start"] :].startswith(row["text"])
    article = [row["headings"] for row in chunks if row["url"].endswith("/article")]
    assert article[-1] == ["Lamps and their history", "How lamps work"]
    assert [str(damage) for damage in verify(job, Counter())] == []
    next((job / "tables").glob("chunks-*")).write_bytes(b"x")
    assert [damage.path.name for damage in verify(job, Counter())] == ["chunks-00000.parquet"]


def test_office_files(tmp_path):
    """With OFFICE_FILES a DOCX file is a document, and one that is none has a row with a flaw."""
    archive = Archive(tmp_path / "archive")
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f"<w:d xmlns:w='{space}'><w:p><w:t>Lamps burn oil.</w:t></w:p></w:d>"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("word/document.xml", body)
    for path, sent in (("good", data.getvalue()), ("bad", b"PK")):
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {OFFICE[0]}\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        archive.write(exchange(f"http://a.test/{path}.docx", sent, head=head.encode()))
    archive.stop()
    for name, found in (("0", {}), ("1", {"/good.docx": "Lamps burn oil.", "/bad.docx": None})):
        job = tmp_path / name
        given = ("OUTPUTS=documents", f"OFFICE_FILES={name}", f"JOBDIR={job}")
        done = command(
            "scrapy",
            "process",
            tmp_path / "archive",
            *(word for one in given for word in ("-s", one)),
        )
        assert done.returncode == 0, done.stderr
        assert {path: row["text"] for path, row in by_path(job).items()} == found
    assert by_path(job)["/bad.docx"]["flaw"] == "NotReadable"


def test_tokens(crawl, tmp_path):
    """With a tokenizer, documents and chunks have as many tokens as it makes of their texts."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))  # noqa: S106 - no password
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.enable_truncation(max_length=5)  # as a model may want its input
    words.save(str(tmp_path / "tokenizer.json"))
    words.no_truncation()
    job = tmp_path / "job"
    given = ("OUTPUTS=chunks", "CHUNK_SIZE=400", f"JOBDIR={job}")
    given += (f"TOKENIZER_FILE={tmp_path}/tokenizer.json",)
    done = command(
        "scrapy", "process", crawl.jobdir, *(word for one in given for word in ("-s", one))
    )
    assert done.returncode == 0, done.stderr

    found = [*by_path(job).values(), *rows(job, "chunks")]
    assert max(row["token_count"] for row in found) > 100
    for row in found:
        assert row["token_count"] == len(words.encode(row["text"] or "").ids)


@pytest.mark.parametrize(
    ("content", "line"),
    [(None, "there is no such file"), ("{}", "it describes no tokenizer")],
)
def test_no_tokenizer(crawl, tmp_path, content, line):
    """A file that is missing, or describes none, is refused before anything is read."""
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    given = ("OUTPUTS=documents", f"TOKENIZER_FILE={path}", f"JOBDIR={tmp_path}/job")
    done = command(
        "scrapy", "process", crawl.jobdir, *(word for one in given for word in ("-s", one))
    )

    assert done.returncode == 1
    assert f"TOKENIZER_FILE = '{path}': must be the path of a tokenizer.json" in done.stderr
    assert line in done.stderr


def test_how_sure_a_language_is(crawl):
    """`language_score` is between 0 and 1, and a text that could be decoded has no U+FFFD."""
    row = by_path(crawl.jobdir)["/article"]

    assert row["language_score"] == pytest.approx(1 - row["language_distance"] / 1200)
    assert row["replacement_share"] == 0
