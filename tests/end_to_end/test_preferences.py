"""PURPOSE on the synthetic web, which has every kind of word: what is forbidden is nowhere, all
else is there.
"""

import gzip
import json
import re

import pyarrow.parquet as pq
import pytest

from tests.support.crawling import QUICK, Crawl, scrapy
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from tests.support.warc_crawl import files
from tests.support.warc_reader import read
from webcrawl.base.readable import count
from webcrawl.lab.simweb import World, even, host_kinds, running, truth, wait_until_idle
from webcrawl.lab.simweb.mix import GROUPS

OUTPUTS = "warc cdxj text index tables links neardup pagefiles skipped"
SIZE = (2000, 3000)


pytestmark = pytest.mark.xdist_group("preferences")  # one crawl for each set of purposes


@pytest.fixture(
    name="crawl",
    scope="module",
    params=["search", *in_campaign("archive", "train-ai research", "search ai-input"), ""],
)
def _crawl(request, tmp_path_factory):
    """A crawl for these purposes; what is forbidden in its world, and what it therefore must not
    keep.
    """
    folder = tmp_path_factory.mktemp("purpose")
    world = World(76, 228, port=0, tls_port=0, addresses=4, mix=even(GROUPS["owner"]), size=SIZE)
    with running(world) as server:
        (folder / "seeds.txt").write_text("\n".join(world.seeds()))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "OUTPUTS": OUTPUTS,
            "PURPOSE": request.param,
            **QUICK,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0
        wait_until_idle(server)
        hits = list(server.log.hits)
    assert [*truth(world, world.seeds()).complaints(hits)] == []
    requested = {hit.url for hit in hits if not hit.path.endswith("/robots.txt")}
    return Purposes(world, crawl, frozenset(request.param.split()), requested)


class Purposes:
    def __init__(self, world, crawl, purposes, requested):
        self.world, self.crawl, self.purposes, self.requested = world, crawl, purposes, requested
        self.withheld = {url for url in requested if purposes and purposes <= self.forbidden(url)}
        self.kept = requested - self.withheld

    def forbidden(self, url):
        return host_kinds.owner_forbids(self.world, *self.world.locate(url))

    def lines(self, pattern):
        for path in sorted(self.crawl.jobdir.glob(pattern)):
            yield from map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())

    def log(self, name):
        return [
            line.split("\t")
            for line in (self.crawl.jobdir / "logs" / name).read_text().splitlines()
        ]

    def rows(self, name):
        return [
            row
            for path in self.crawl.jobdir.glob(f"tables/{name}-*.parquet")
            for row in pq.read_table(path).to_pylist()
        ]


class TestTruth:
    def test_the_archive(self, crawl):
        """It has the answer of every page that may be kept, and request and head alone of each that
        may not.
        """
        records = [record for path in files(crawl.crawl.jobdir) for record in read(path)]
        bodies = {
            one.fields["WARC-Target-URI"] for one in records if one.kind in ("response", "revisit")
        }
        bare = crawl.withheld | {
            url
            for url in crawl.kept
            if "archive" in crawl.purposes and "archive" in crawl.forbidden(url)
        }
        requested = {one.fields["WARC-Target-URI"] for one in records if one.kind == "request"}

        assert {url for url in bodies if not url.endswith("/robots.txt")} == crawl.requested - bare
        assert crawl.requested <= requested
        heads = [
            one
            for one in records
            if one.kind == "metadata" and "response" in one.fields["Content-Type"]
        ]
        assert {one.fields["WARC-Target-URI"] for one in heads} == bare
        assert all(
            one.block.endswith(b"\r\n\r\n") and one.block.count(b"\r\n\r\n") == 1 for one in heads
        )

    def test_what_is_written_of_texts(self, crawl):
        """text, neardup.log, pagefiles and links have all pages that may be kept, and no others."""
        lines = list(crawl.lines("text/*.gz"))

        assert {line["url"] for line in lines} == crawl.kept
        assert {line["url"]: set(line.get("forbidden", ())) for line in lines} == {
            url: set(crawl.forbidden(url)) for url in crawl.kept
        }
        assert {row[-1] for row in crawl.log("neardup.log")} == crawl.kept
        assert {row[0] for row in crawl.log("links.log")} <= crawl.kept
        assert {row["from_url"] for row in crawl.rows("links")} <= crawl.kept

    def test_the_table(self, crawl):
        """Each page has a row with what its owner forbids, and whether it is withheld; of those no
        title, no links.
        """
        rows = {row["url"]: row for row in crawl.rows("pages") if row["subset"] == "warc"}

        assert rows.keys() == crawl.requested
        assert {
            url: set((row["forbidden"] or "").split(",")) - {""} for url, row in rows.items()
        } == {url: set(crawl.forbidden(url)) for url in crawl.requested}
        assert {url for url, row in rows.items() if row["withheld"]} == crawl.withheld
        assert {url for url, row in rows.items() if row["title"] or row["links"]} == crawl.kept

    def test_who_is_told(self, crawl):
        """Counters, annotations and skipped.log know of each page that was withheld."""
        lines = (crawl.crawl.jobdir / "logs/crawl.log").read_text().splitlines()
        noted = {line.split()[3] for line in lines if re.search(r" withheld:[a-z.+]+$", line)}

        assert (
            noted
            == crawl.withheld
            == {row[2] for row in crawl.log("skipped.log") if row[1] == "withheld"}
        )
        assert crawl.crawl.stats.get("withheld", 0) == len(crawl.withheld)
        told = f"{count(len(crawl.withheld), 'page')} (their bodies: their owners forbid "
        assert (told in crawl.crawl.output.read_text()) == bool(crawl.withheld)

    def test_all_agrees(self, crawl, tmp_path):
        """`scrapy verify` finds nothing wrong."""
        assert scrapy(["verify", str(crawl.crawl.jobdir)], ROOT, tmp_path / "out") == 0, (
            tmp_path / "out"
        ).read_text()
