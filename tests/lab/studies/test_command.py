"""`scrapy lab caches` on traces that crawls and others have."""

import json

import pytest
from lxml import etree

from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving
from webcrawl.lab.studies import POLICY_NAMES
from webcrawl.lab.studies.cache_study import CacheRow, best_size, critical_region
from webcrawl.lab.studies.traces import read_trace

LINKS = {"/": ["/a", "/b", "/a", "/"], "/a": ["/b", "/c"], "/b": ["/a"], "/c": []}


def run(*words):
    done = command("scrapy", *words)
    return done.returncode, done.stdout, done.stderr


class Linked(Site):
    """Four pages."""

    def answer(self):
        if self.path == "/robots.txt":
            return self.say(404, b"")
        links = "".join(f'<a href="{link}">x</a>' for link in LINKS[self.path])
        return self.say(200, f"{self.path} {links}".encode(), content_type="text/html")


def test_the_trace_of_a_crawl(tmp_path):
    """URL_TRACE writes the distinct links of each page in the order of the crawl; a JOBDIR stands
    for it.
    """
    with serving(Linked) as here:
        (tmp_path / "seeds.txt").write_text(f"{here}/\n")
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"URL_TRACE": 1})
        assert crawl.run() == 0, crawl.output.read_text()
    log = (crawl.jobdir / "logs/crawl.log").read_text().replace(here, "")
    pages = [line.split()[3] for line in log.splitlines() if not line.split()[4].endswith("P")]
    expected = [link for page in pages for link in dict.fromkeys(LINKS[page])]

    trace = read_trace([crawl.jobdir])

    numbers = {}
    assert trace.lookups.tolist() == [numbers.setdefault(link, len(numbers)) for link in expected]


@pytest.fixture(name="edges")
def _edges(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text(
        "".join(
            f"{page} {(page * 7 + link * link) % 300}\n"
            for page in range(400)
            for link in range(12)
        )
    )
    return path


def test_json_has_a_row_for_each_policy_and_size(edges):
    """One object: a row for each policy and size, those of the trace, and what follows from them."""
    status, said, error = run("lab", "caches", edges, "--sizes", "64,16", "--json")
    assert (status, error) == (0, "")
    answer = json.loads(said)
    assert answer["rows"][0].keys() == {"policy", "size", "lookups", "hits", "hit_rate"}
    assert [(row["policy"], row["size"]) for row in answer["rows"]] == [
        ("INFINITE", answer["trace"]["urls"]),
        *((name, size) for size in (16, 64) for name in POLICY_NAMES[1:]),
    ]
    assert all(
        row["lookups"] == 4800 and row["hit_rate"] == round(row["hits"] / 4800, 6)
        for row in answer["rows"]
    )


def test_table_and_plot(edges, tmp_path):
    """A table with a line per size, an advice, and a drawing with a line per policy."""
    status, said, error = run(
        "lab", "caches", edges, "--policies", "clock,MIN", "--plot", tmp_path / "plot.svg"
    )
    assert (status, error) == (0, "")
    assert "MIN      CLOCK" in said
    assert "entries are enough, and a crawl has 65,536" in said
    drawing = etree.parse(tmp_path / "plot.svg")
    assert {one.text for one in drawing.iter("{http://www.w3.org/2000/svg}text")} >= {
        "MIN",
        "CLOCK",
        "100 %",
    }


def test_a_plot_of_the_infinite_cache_alone(edges, tmp_path):
    """It has no size of its own, and a line all the same."""
    assert run("lab", "caches", edges, "--policies", "INFINITE", "--plot", tmp_path / "plot.svg")[
        ::2
    ] == (0, "")

    drawing = etree.parse(tmp_path / "plot.svg")
    assert "INFINITE" in {one.text for one in drawing.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        ([], 2, "a trace"),
        (["no-such-file"], 1, "no-such-file"),
        (["{edges}", "--sizes", "0"], 2, "--sizes 0"),
        (["{edges}", "--sizes", "a"], 2, "--sizes a"),
        (["{edges}", "--sizes", "000000000019999999999"], 2, "--sizes 000000000019999999999"),
        (["{edges}", "--policies", "fifo"], 2, "--policies fifo"),
        (["{edges}", "--drones", "1"], 2, "--drones 1"),
        (["{edges}", "--drones", "3"], 1, "cannot be divided"),
        (["{edges}", "--train", "0"], 2, "--train 0"),
        (["{edges}", "--plot", "/no/such/folder/plot.svg"], 1, "/no/such/folder"),
    ],
)
def test_a_wrong_command_line_or_trace_is_one_line(edges, words, status, line):
    """What cannot be done is said in a line; 2 for a wrong command line, 1 for a trace."""
    found, said, error = run("lab", "caches", *(word.format(edges=edges) for word in words))
    assert (found, said) == (status, "")
    assert line in error


def test_the_advice():
    """The critical region has most of the gain; the best size all but a hundredth of it."""
    rows = [
        CacheRow("CLOCK", size, 1000, hits)
        for size, hits in ((32, 100), (64, 120), (128, 500), (256, 895), (512, 900))
    ]
    assert critical_region(rows) == (128, 256)
    assert best_size(rows) == 256
    assert critical_region([CacheRow("CLOCK", 32, 10, 0), CacheRow("CLOCK", 64, 10, 0)]) is None
    assert best_size([CacheRow("CLOCK", 32, 10, 0)]) is None
