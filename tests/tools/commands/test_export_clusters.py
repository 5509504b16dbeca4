"""`scrapy export clusters`: which documents it joins, and what it leaves out."""

import random
from argparse import Namespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import command
from tests.support.tables import Job
from tests.support.warc_crawl import NOW
from webcrawl.crawl.checks import check
from webcrawl.crawl.control.in_force import InForce
from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.commands import export
from webcrawl.urls.exclusion_rules import OptOut

WORDS = [f"word{number}" for number in range(900)]


def prose(seed):
    """A text, and nearly the same one."""
    words = random.Random(seed).choices(WORDS, k=300)
    return [f"<p>{' '.join(text)}".encode() for text in (words, [*words, "more"])]


def crawled(root, **bodies):
    """A crawl that has ended, with a document for each of these pages."""
    job = Job(root, tables=False, documents=True)
    for name, body in bodies.items():
        host, _, path = name.partition("_")
        job.page(f"http://{host}.test/{path}", body=body)
    job.stop()
    return root


def exported(target, *sources):
    """Exit status, and the rows of the file as {URL: (fingerprint, cluster)}."""
    one = export.ClustersExport()
    one.run([*map(str, sources)], Namespace(o=str(target)))
    if not target.exists():
        return one.exitcode, None
    found = pq.read_table(target).to_pylist()
    return one.exitcode, {row["url"]: (row["neardup"], row["cluster"]) for row in found}


def test_clusters_over_several_crawls(tmp_path, capsys):
    """Near-duplicates of different crawls have one cluster; a text too short to compare has none."""
    (first, second), (other, _) = prose(1), prose(2)
    one = crawled(tmp_path / "one", a_1=first, a_2=other)
    two = crawled(tmp_path / "two", b_1=second, b_2=b"<p>short")

    status, found = exported(tmp_path / "x.parquet", one, two)

    near = {found["http://a.test/1"], found["http://b.test/1"]}
    assert status == 0
    assert {cluster for _, cluster in near} == {min(name for name, _ in near)}
    assert found["http://a.test/2"][0] == found["http://a.test/2"][1]
    assert found["http://b.test/2"] == (None, None)
    assert capsys.readouterr().out == (
        f"{tmp_path}/x.parquet: 4 documents, 1 too short to compare; "
        "2 clusters: 1 is a near-duplicate of another\n"
    )


def test_files_and_folders_are_the_same(tmp_path):
    """The order and the way in which documents are named make no difference; twice is once."""
    first, second = prose(1)
    one, two = crawled(tmp_path / "one", a_1=first), crawled(tmp_path / "two", b_1=second)
    tables = [next((root / "tables").glob("*.parquet")) for root in (two, one)]

    _, by_folder = exported(tmp_path / "a.parquet", one, two)
    _, by_file = exported(tmp_path / "b.parquet", *tables, one)
    assert by_folder == by_file
    assert pq.read_metadata(tmp_path / "b.parquet").num_rows == 2


def test_who_wants_to_be_forgotten(tmp_path):
    """No row is of such a site, by whichever way its documents are named."""
    first, second = prose(1)
    root = crawled(tmp_path / "job", a_1=first, b_1=second)
    db = CrawlDB(root / "state")
    InForce(db, check({}), clock=lambda: NOW).exclude(OptOut("b.test", NOW + 10, forget=True))
    db.checkpoint()
    db.close()

    for number, source in enumerate((root, next((root / "tables").glob("*.parquet")))):
        _, found = exported(tmp_path / f"{number}.parquet", source)
        assert [*found] == ["http://a.test/1"]


def test_the_columns_are_those_of_the_documents(tmp_path):
    """They join with the table of documents."""
    exported(tmp_path / "x.parquet", crawled(tmp_path / "job", a_1=prose(1)[0]))

    schema = pq.read_schema(tmp_path / "x.parquet")
    assert [(field.name, field.type) for field in schema] == [
        (name, SCHEMAS["documents"].field(name).type)
        for name in ("id", "url", "neardup", "cluster")
    ]


class TestRefusals:
    @pytest.fixture(name="job")
    def _job(self, tmp_path):
        return crawled(tmp_path / "job", a_1=prose(1)[0])

    def refused(self, target, *sources):
        done = command("scrapy", "export", "clusters", *sources, "-o", target)
        assert done.stdout == ""
        assert not list(target.parent.glob("*.part"))
        return done.returncode, done.stderr

    def test_no_such_file(self, tmp_path):
        """One line names it."""
        assert self.refused(tmp_path / "x.parquet", tmp_path / "none") == (
            1,
            f"{tmp_path}/none: no such file\n",
        )

    def test_a_file_that_exists_is_not_replaced(self, tmp_path, job):
        """It stays as it is."""
        (tmp_path / "x.parquet").write_bytes(b"mine")

        assert self.refused(tmp_path / "x.parquet", job) == (1, f"{tmp_path}/x.parquet exists\n")
        assert (tmp_path / "x.parquet").read_bytes() == b"mine"

    def test_another_ending(self, tmp_path, job):
        """The file is Parquet, and its name says so."""
        assert self.refused(tmp_path / "x.json", job) == (
            1,
            f"{tmp_path}/x.json: the name must end in .parquet\n",
        )

    def test_another_table(self, tmp_path):
        """A file without the columns of documents is named, with the output that makes them."""
        pq.write_table(pa.table({"url": ["x"]}), tmp_path / "pages.parquet")

        status, said = self.refused(tmp_path / "x.parquet", tmp_path / "pages.parquet")
        assert status == 1
        assert said.startswith(f"{tmp_path}/pages.parquet: has no column id of type string")
        assert "OUTPUTS=documents" in said

    def test_no_parquet(self, tmp_path):
        """A file of something else is named."""
        (tmp_path / "x.txt").write_text("text")

        status, said = self.refused(tmp_path / "x.parquet", tmp_path / "x.txt")
        assert (status, said.partition(": ")[2][:18]) == (1, "not a Parquet file")
        assert said.count("\n") == 1

    def test_a_crawl_that_writes_no_documents(self, tmp_path, job):
        """A line says how to make them: nothing is joined without those of a crawl that is named."""
        other = Job(tmp_path / "other", tables=False)
        other.stop()

        status, said = self.refused(tmp_path / "x.parquet", job, tmp_path / "other")
        assert status == 1
        assert said.startswith(f"{tmp_path}/other: no documents: ")
        assert "-s OUTPUTS=documents" in said

    def test_without_an_argument(self):
        """It is a wrong use."""
        done = command("scrapy", "export", "clusters")

        assert done.returncode == 2
        assert "which documents? scrapy export clusters JOBDIR, or Parquet files" in done.stderr
