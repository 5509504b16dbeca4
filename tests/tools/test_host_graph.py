"""The graph of hosts: every link between two of them is counted, by the numbers that hosts.tsv
gives.
"""

import subprocess
import sys
from argparse import Namespace
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.places import ROOT
from tests.support.tables import Job
from webcrawl.base.url_text import host_of
from webcrawl.lab.simweb import World, running
from webcrawl.tools import host_graph
from webcrawl.tools.commands.export import GraphExport
from webcrawl.tools.host_graph import HostGraph

URLS = st.sampled_from(
    [
        "http://a/",
        "http://a:8080/x",
        "https://b/",
        "http://b.c/?q=/",
        "http://[::1]/",
        "http://1.2.3.4/",
    ]
)


@given(st.lists(st.lists(st.tuples(URLS, URLS), max_size=30), max_size=10), st.integers(1, 40))
def test_links_are_counted_between_hosts(batches, chunk):
    """Whatever the batches, an edge has as many links as pairs of different hosts were added."""
    whole = HostGraph()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_graph, "MIN_UNCOUNTED_LINKS", chunk)
        for batch in batches:
            whole.add(batch)
    hosts = ((host_of(one), host_of(other)) for batch in batches for one, other in batch)

    found = {(whole.hosts[one], whole.hosts[other]): links for one, other, links in whole.edges()}
    assert found == Counter(pair for pair in hosts if pair[0] != pair[1])
    assert whole.size == len(found)


@pytest.mark.parametrize("damaged", ["", "http", "http:/", "http://[::1/"])
def test_what_is_no_url_is_no_link(damaged):
    """A damaged line of links.log costs its own link alone."""
    found = HostGraph()
    found.add([("http://a/", damaged), (damaged, "http://a/"), ("http://a/", "http://b/")])

    assert [(found.hosts[one], found.hosts[other]) for one, other, _ in found.edges()] == [
        ("a", "b")
    ]


def edges(folder):
    """The graph as written, by names."""
    hosts = dict(line.split("\t") for line in (folder / "hosts.tsv").read_text().splitlines())
    rows = [line.split("\t") for line in (folder / "edges.tsv").read_text().splitlines()]
    assert sorted(hosts, key=int) == [str(number) for number in range(len(hosts))]
    return {(hosts[one], hosts[other]): int(links) for one, other, links in rows}


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawled")
    with running(World(6, 40, port=0, tls_port=0, addresses=4), latency=0.0) as server:
        (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
        settings = {"DNS_NAMESERVERS": server.nameserver, "OUTPUTS": "links tables"}
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0, crawl.output.read_text()
    return crawl.jobdir


class TestCrawls:
    def test_the_log_s_graph(self, crawled, tmp_path):
        """`scrapy export graph JOBDIR -o FOLDER` numbers the hosts of links.log, and counts what
        leads to pages.
        """
        done = command("scrapy", "export", "graph", crawled, "-o", tmp_path / "graph")
        rows = [line.split("\t") for line in (crawled / "logs/links.log").read_text().splitlines()]
        pairs = [
            (host_of(row[0]), host_of(row[2]))
            for row in rows
            if row[2] and row[3] in host_graph.KINDS_TO_PAGES
        ]
        wanted = Counter(pair for pair in pairs if pair[0] != pair[1])

        assert edges(tmp_path / "graph") == wanted
        assert (
            done.stdout
            == f"{tmp_path}/graph: hosts {len({h for p in pairs for h in p})}, edges {len(wanted)}\n"
        )

    def test_the_tables_graph(self, crawled, tmp_path):
        """Finished tables give the same graph, where there is no links.log."""
        found = HostGraph()
        for batch in host_graph._links_in_tables(
            sorted((crawled / "tables").glob("links-*.parquet"))
        ):
            found.add(batch)
        host_graph.write_graph(crawled, tmp_path / "graph")

        by_name = {
            (found.hosts[one], found.hosts[other]): links for one, other, links in found.edges()
        }
        assert by_name == edges(tmp_path / "graph")

    def test_a_log_behind_its_checkpoint(self, crawled):
        """Lines behind the last checkpoint do not count, nor does one that it truncates."""
        log = crawled / "logs/links.log"
        first, second, *_ = log.read_bytes().splitlines(keepends=True)

        assert (
            len(
                [
                    pair
                    for batch in host_graph._links_in_log(log, len(first) + len(second) - 1)
                    for pair in batch
                ]
            )
            <= 1
        )


def test_a_crawl_without_links(tmp_path):
    """A crawl that has written no links has no graph: one line, and exit status 1."""
    (tmp_path / "seeds.txt").write_text("http://127.0.0.99/\n")
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"OUTPUTS": "warc"})
    assert crawl.run(HOST_PATIENCE=0, HOST_MAX_FAILURES=1) == 1
    done = command("scrapy", "export", "graph", crawl.jobdir, "-o", tmp_path / "graph")

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "the graph needs links or tables in OUTPUTS" in done.stderr
    assert not (tmp_path / "graph").exists()


def tabled(root, *pages):
    """A crawl that goes on, with a checkpoint that has these pages with a link each in tables, and
    no links.log.
    """
    job = Job(root)
    for page in pages:
        job.page(page, [("a", "http://c.test/", "", "")])
    job.checkpoint()
    return job


def made(folder):
    """The graph that the command writes of the crawl in this folder, if any, and its exit status."""
    command = GraphExport()
    options = {"o": str(folder / "graph")}
    command.run([str(folder / "job")], Namespace(**options))
    return edges(folder / "graph") if (folder / "graph").exists() else None, command.exitcode


class TestLeftOut:
    def test_a_table_that_is_not_here(self, tmp_path, capsys):
        """Links that were counted before must not be missing without a word."""
        for url in ("http://a.test/", "http://b.test/"):
            tabled(tmp_path / "job", url).stop()
        (tmp_path / "job/tables/links-00000.parquet").unlink()

        assert made(tmp_path) == ({("b.test", "c.test"): 1}, 0)
        assert (
            capsys.readouterr().err == f"{tmp_path}/job: left out 1 file of links: no longer here\n"
        )

    def test_links_in_no_finished_table(self, tmp_path, capsys):
        """A line says how many."""
        tabled(tmp_path / "job", "http://a.test/").stop()
        job = tabled(tmp_path / "job", "http://b.test/")

        assert made(tmp_path) == ({("a.test", "c.test"): 1}, 0)
        why = "left out 1 link, not in a finished file yet: the crawl is running"
        assert capsys.readouterr().err == f"{tmp_path}/job: {why}\n"
        job.close()

    def test_links_that_nobody_will_finish(self, tmp_path, capsys):
        """If the crawl does not run, it is a failure that its last links are missing."""
        tabled(tmp_path / "job", "http://a.test/").stop()
        tabled(tmp_path / "job", "http://b.test/").close()

        assert made(tmp_path) == ({("a.test", "c.test"): 1}, 1)
        assert "left out 1 link, not in a finished file yet: resume" in capsys.readouterr().err

    def test_no_table_is_here(self, tmp_path, capsys):
        """Nobody is told that no links are written yet."""
        tabled(tmp_path / "job", "http://a.test/").stop()
        (tmp_path / "job/tables/links-00000.parquet").unlink()

        assert made(tmp_path) == (None, 1)
        assert (
            capsys.readouterr().err == f"{tmp_path}/job: left out 1 file of links: no longer here\n"
        )


def test_a_link_in_the_place_of_a_new_file(crawled, tmp_path):
    """It is removed and not followed."""
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".edges.tsv.new").symlink_to("precious")
    host_graph.write_graph(crawled, tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "edges.tsv",
        "hosts.tsv",
        "precious",
    ]
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "edges.tsv").is_symlink()


def test_a_disk_that_takes_nothing(crawled, tmp_path):
    """The one line says which folder could not be written, as the system's error names no file."""
    folder = tmp_path / "graph"
    export = [sys.executable, "-m", "scrapy", "export", "graph", str(crawled), "-o", str(folder)]
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", *export],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, f"{folder}: File too large\n")
    assert [*folder.iterdir()] == []
