"""`scrapy report` of a hive: one page on all drones, which says what the page on one crawl of all
would say.
"""

import shutil
from types import SimpleNamespace

import pytest

from tests.support.commands import command
from tests.support.hive_jobs import crawled, hive, named
from tests.support.jobs import tree
from tests.support.reports import Report, number, truth
from tests.support.tampering import tampered
from webcrawl.lab.simweb import World, running
from webcrawl.store.jobdir.job_dir import NoCrawl
from webcrawl.tools.report.report_page import report

pytestmark = pytest.mark.xdist_group("report hive")
MIX = dict.fromkeys(
    ("duplicate", "redirect_301", "status_404", "status_500", "closed", "png", "pdf"), 0.05
)


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    """Two drones that have crawled half of a small web each. Nobody may write there."""
    root = tmp_path_factory.mktemp("hive") / "web"
    world = World(16, 120, mix=MIX, size=(1000, 2000), port=0, addresses=4)
    with running(world, latency=0.0) as server:
        seeds = crawled(root, world, server, OUTPUTS="warc cdxj links neardup")
    log = root.parent / "both.log"
    log.write_bytes(
        b"".join((root / f"drone-{drone}/logs/crawl.log").read_bytes() for drone in range(2))
    )
    return SimpleNamespace(root=root, seeds=seeds, truth=truth(log), page=made(root))


@pytest.fixture(name="copy")
def _copy(tmp_path):
    return hive(tmp_path / "web")


def made(root):
    """The report, which must not change the hive."""
    before = tree(root)
    page = Report(report(root, {}, 0.0))
    assert tree(root) == before
    return page


class TestNumbers:
    def test_outcomes(self, job):
        """URLs by status, over both logs."""
        assert {row[0]: row[2] for row in job.page.numbers("outcome-table")} == job.truth.outcomes
        assert {row[0]: row[2] for row in job.page.numbers("robots-table")} == job.truth.robots

    def test_documents(self, job):
        """Hosts, types and depths of both; a host belongs to one of them."""
        assert {row[0]: row[1] for row in job.page.numbers("host-table")} == +job.truth.documents
        assert {row[0]: row[1] for row in job.page.numbers("type-table")} == job.truth.types
        assert {row[0]: row[1] for row in job.page.numbers("depth-table")} == job.truth.depths
        assert f"{job.truth.duplicates}" in job.page.section("copies")

    def test_the_seeds_of_a_hive_are_one_table(self, job):
        """One table of all seeds that have a line in a log."""
        rows = {row[0]: [number(cell) for cell in row[2:5]] for row in job.page.rows("seed-table")}

        assert set(rows) == set(job.seeds)
        assert rows == {seed: row[:3] for seed, row in job.truth.seeds.items()}

    def test_time(self, job):
        """The series has all documents."""
        (said, _) = job.page.tree.xpath("//section[@id='time']//svg[@role='img']/@aria-label")
        assert "documents per second" in said

    def test_files(self, job):
        """What both have written, by kind."""
        rows = {row[0]: row[1] for row in job.page.numbers("output-table")}

        assert rows["logs/crawl.log"] == rows["warc/*.warc.gz"] == 2

    def test_near_duplicates(self, job):
        """Fingerprints of both are compared with each other."""
        lines = [
            (job.root / f"drone-{drone}/logs/neardup.log").read_text().splitlines()
            for drone in range(2)
        ]
        pages = sum(not line.startswith("-") for line in [*lines[0], *lines[1]])

        assert f"{pages} pages with a fingerprint" in job.page.section("copies")

    def test_settings(self, job):
        """Settings that the drones have in common stand once, others side by side."""
        rows = {row[0]: row[1] for row in job.page.rows("terms-table")}

        assert rows["WARC_PREFIX"] == "drone0, drone1"
        assert rows["RETRY_TIMES"] == "1"

    def test_drones(self, job):
        """A table has a row for each drone, and the page's menu leads to it."""
        rows = job.page.numbers("drone-table")

        assert [row[0] for row in rows] == ["drone-0", "drone-1"]
        assert sum(row[1] for row in rows) == sum(job.truth.documents.values())
        assert sum(row[4] for row in rows) == sum(job.truth.outcomes.values())
        assert [row[10] for row in rows] == ["ended", "ended"]
        assert job.page.tree.xpath("//nav/a[@href='#drones']")
        assert "a hive of 2 drones. The last run ended (finished)" in job.page.text


class TestFolders:
    def test_drones_without_a_hive_file(self, copy):
        """Folders of drones that were copied into one make a page too; a single crawl's has no
        table of drones.
        """
        (copy / "hive.json").unlink()

        assert len(made(copy).rows("drone-table")) == 2
        assert made(copy / "drone-0").rows("drone-table") == []

    def test_a_missing_drone(self, copy):
        """The page is of the others, and says so."""
        shutil.rmtree(copy / "drone-1")
        page = made(copy)

        assert "drone-1 contains no crawl, so the work of that drone is not counted" in page.text
        assert len(page.rows("drone-table")) == 1

    def test_a_hive_that_has_not_begun(self, tmp_path):
        """Without any drone's crawl there is no page."""
        named(tmp_path, (0, 1))

        with pytest.raises(NoCrawl, match="none of its drones has begun a crawl"):
            report(tmp_path, {}, 0.0)

    def test_what_cannot_be_read_is_named_with_its_drone(self, copy):
        """What cannot be read is named with its drone."""
        tampered(
            copy / "drone-1/state/crawl.db", "UPDATE meta SET value = x'c1' WHERE name = 'tallies'"
        )

        assert "drone-1: tallies in state/crawl.db cannot be read" in made(copy).text

    def test_a_drone_that_runs(self, copy):
        """Of drones some of which have not ended the page says so."""
        assert "the last checkpoint of each drone" in made(copy).text

    def test_a_drone_that_failed(self, copy):
        """A drone that could not keep what it did is not said to run or to be killed."""
        (copy / "drone-1/stats.json").write_text('{"reason": "store_failed"}')

        states = [row[10] for row in made(copy).numbers("drone-table")]
        assert states == ["running, or killed", "failed (store_failed)"]

    def test_the_page_lies_in_the_hives_folder(self, copy, tmp_path):
        """The page lies in the hive's folder; the graph is of all links."""
        done = command("scrapy", "report", copy)
        assert (done.returncode, done.stdout) == (0, f"{copy}/report.html\n")

        both = command("scrapy", "export", "graph", copy, "-o", tmp_path / "both").stdout
        one = command("scrapy", "export", "graph", copy / "drone-0", "-o", tmp_path / "one").stdout
        assert number(both.split()[2].strip(",")) == 2 * number(one.split()[2].strip(","))
