"""`scrapy lab orderings` on graphs that crawls and others have."""

import gzip
import json

import pytest
from lxml import etree

from tests.support.commands import command
from webcrawl.lab.studies.link_graph import read_graph
from webcrawl.lab.studies.traces import NoTrace


def run(*words):
    done = command("scrapy", *words)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(name="edges")
def _edges(tmp_path):
    path = tmp_path / "edges.tsv"
    pages = [f"http://h{page % 7}.test/{page}" for page in range(300)]
    links = [(page, (page * 7 + link * link) % 300) for page in range(300) for link in range(12)]
    path.write_text("".join(f"{pages[page]}\t{pages[link]}\n" for page, link in links))
    return path


class TestReading:
    def test_hosts_and_domains(self, tmp_path):
        """Pages are of hosts, and hosts of registered domains; names that are no URLs are all of
        one host.
        """
        (tmp_path / "edges").write_text(
            "http://a.x.org/ http://b.x.org/\nhttp://a.x.org/ http://y.org/\n"
        )
        graph = read_graph([tmp_path / "edges"])
        assert (graph.hosts.tolist(), graph.domains.tolist()) == ([0, 1, 2], [0, 0, 1])
        (tmp_path / "names").write_text("a b\na c\n")
        assert read_graph([tmp_path / "names"]).hosts.tolist() == [0, 0, 0]

    def test_several_files_are_one_graph(self, tmp_path):
        """Links of one page may be in several files, and files may be compressed."""
        (tmp_path / "one").write_text("a b\n")
        with gzip.open(tmp_path / "two.gz", "wt") as file:
            file.write("a c\nc d\n")
        graph = read_graph([tmp_path / "one", tmp_path / "two.gz"])
        assert (graph.pages, graph.links.tolist()) == (4, [1, 2, 3])

    def test_a_crawl_is_its_link_log(self, tmp_path):
        """A JOBDIR stands for all links of its pages; its crawl.log has one link to each page, and
        is no graph.
        """
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/crawl.log").write_text("")
        with pytest.raises(NoTrace, match="has none of tables"):
            read_graph([tmp_path])
        (tmp_path / "logs/links.log").write_text(
            "http://a/\t/b\thttp://a/b\tL\tx\nhttp://a/\t:\t\tL\tx\n"
        )
        assert read_graph([tmp_path]).pages == 2

    def test_a_crawl_may_begin_at_several_pages(self, tmp_path):
        """A crawl may begin elsewhere, and at several pages."""
        (tmp_path / "edges").write_text("a b\nc a\nd b\n")
        assert read_graph([tmp_path / "edges"]).unreached == 2
        assert read_graph([tmp_path / "edges"], ["c"]).pages == 3
        assert (read_graph([tmp_path / "edges"], ["d", "c"]).seeds) == 2

    @pytest.mark.parametrize(
        ("text", "line"),
        [("", "no links"), ("a\nb\n", "some links have no page"), ("a b c\n", "3 columns")],
    )
    def test_no_graph(self, tmp_path, text, line):
        """What is no graph is refused."""
        (tmp_path / "file").write_text(text)
        with pytest.raises(NoTrace, match=line):
            read_graph([tmp_path / "file"])


def test_json_has_the_graph_and_a_curve_for_each_order(edges):
    """One object: the graph, and a row for each order with its curve."""
    status, said, error = run(
        "lab", "orderings", edges, "--orders", "opic,best", "--hosts", "3", "--json"
    )
    assert (status, error) == (0, "")
    answer = json.loads(said)
    assert answer["graph"] == {
        "pages": 300,
        "links": answer["graph"]["links"],
        "unreached": 0,
        "seeds": 1,
    }
    assert [(row["ordering"], row["how"]) for row in answer["rows"]] == [
        *(("opic", how) for how in ("exact", "levels", "crawl")),
        *(("best", how) for how in ("exact", "crawl")),
    ]
    for row in answer["rows"]:
        assert [share for share, _ in row["curve"]] == [step / 100 for step in range(101)]
        assert row["curve"][-1][1] == pytest.approx(1)


def test_table_and_plot(edges, tmp_path):
    """A table with a line per order and way, and a drawing with a line per order."""
    status, said, error = run(
        "lab", "orderings", edges, "--plot", tmp_path / "plot.svg", "--levels", "4"
    )
    assert (status, error) == (0, "")
    assert "pages: 300, hosts: 7" in said
    assert "levels: FIFO queues (4)" in said
    names = {line.split()[0] for line in said.splitlines() if " exact " in line}
    drawing = etree.parse(tmp_path / "plot.svg")
    assert {one.text for one in drawing.iter("{http://www.w3.org/2000/svg}text")} >= {
        *names,
        "100 %",
    }


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        ([], 2, "a graph"),
        (["no-such-file"], 1, "no-such-file"),
        (["{edges}", "--orders", "best,worst"], 2, "--orders best,worst"),
        (["{edges}", "--hosts", "0"], 2, "--hosts 0"),
        (["{edges}", "--levels", "many"], 2, "--levels many"),
        (
            ["{edges}", "--seed", "http://nowhere/"],
            1,
            "http://nowhere/: is not a page of this graph",
        ),
        (["{edges}", "--plot", "/no/such/folder/plot.svg"], 1, "/no/such/folder"),
    ],
)
def test_a_wrong_command_line_or_graph_is_one_line(edges, words, status, line):
    """What cannot be done is said in a line; 2 for a wrong command line, 1 for a graph."""
    found, said, error = run("lab", "orderings", *(word.format(edges=edges) for word in words))
    assert (found, said) == (status, "")
    assert line in error
