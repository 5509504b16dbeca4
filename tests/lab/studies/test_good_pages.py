"""Which pages are good, and how soon an order has them."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import command
from webcrawl.lab.studies.link_graph import read_graph
from webcrawl.lab.studies.ordering_study import CrawlShape, compare, read_scores
from webcrawl.lab.studies.traces import NoTrace

# Two chains: each page links to the next of its own, and the good ones are all of one. The other
# one is wide.
GOOD = [f"http://a/good{page}" for page in range(20)]
EDGES = [("http://a/", GOOD[0]), *pairwise(GOOD)]
EDGES += [
    (page, f"http://a/{page[9:]}/{link}")
    for page in ("http://a/", "http://a//0", "http://a//1")
    for link in range(30)
]


@pytest.fixture(name="edges")
def _edges(tmp_path):
    (tmp_path / "edges").write_text("".join(f"{page}\t{link}\n" for page, link in EDGES))
    return tmp_path / "edges"


def test_focus_follows_good_pages(edges):
    """It has all of the chain before breadth first has half of it; nothing has it sooner than the
    ideal.
    """
    graph = read_graph([edges], (), dict.fromkeys(GOOD, 1.0))
    names = ("breadth", "indegree", "focus", "ideal")
    rows = {
        row.ordering: row
        for row in compare(graph, np.zeros(graph.pages), names, CrawlShape())
        if row.how == "exact"
    }

    assert rows["focus"].at(0.3) > 0.9
    assert rows["breadth"].at(0.3) < 0.5
    assert rows["ideal"].at(0.2) > 0.9
    assert all(row.curve[-1] == pytest.approx(1) for row in rows.values())
    assert rows["ideal"].mean >= max(row.mean for row in rows.values())


def test_a_list(tmp_path):
    """A page alone is good; a score may follow a tab."""
    (tmp_path / "good").write_text("a\nb\t0.25\n\n")
    assert read_scores(tmp_path / "good") == {"a": 1.0, "b": 0.25}


@pytest.mark.parametrize(
    ("text", "said"), [("a\tmuch\n", "line 1: 'much' is not a score"), ("a\t0.1\n", "no page has")]
)
def test_what_is_no_list(tmp_path, text, said):
    """It is refused in a line."""
    (tmp_path / "good").write_text(text)
    with pytest.raises(NoTrace, match=said):
        read_scores(tmp_path / "good")


def test_a_list_that_is_no_text(tmp_path):
    """It is refused in a line, too."""
    (tmp_path / "good").write_bytes(b"a\n\xff\n")
    with pytest.raises(NoTrace, match="good: is not a text file"):
        read_scores(tmp_path / "good")


def test_a_crawl(tmp_path):
    """Its table of pages has the scores; what has none is not good."""
    (tmp_path / "tables").mkdir()
    table = pa.table({"url": ["a", "b"], "score": pa.array([0.75, None], pa.float32())})
    pq.write_table(table, tmp_path / "tables/pages-00000.parquet")
    assert read_scores(tmp_path) == {"a": 0.75}


def test_a_crawl_of_before(tmp_path):
    """A table without scores is refused in a line."""
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.table({"url": ["a"]}), tmp_path / "tables/pages-00000.parquet")
    with pytest.raises(NoTrace, match="score"):
        read_scores(tmp_path)


def test_the_command(edges, tmp_path):
    """It says what it counts, and draws it; without --good there is no focus."""
    (tmp_path / "good").write_text("\n".join(GOOD))
    words = ("scrapy", "lab", "orderings", edges, "--good", tmp_path / "good")
    done, as_json = command(*words, "--plot", tmp_path / "good.svg"), command(*words, "--json")

    assert "percent of the 20 good pages" in done.stdout
    assert {row["ordering"] for row in json.loads(as_json.stdout)["rows"]} == {
        "breadth",
        "indegree",
        "focus",
        "ideal",
    }
    assert "share of the 20 good pages" in (tmp_path / "good.svg").read_text()
    refused = command("scrapy", "lab", "orderings", edges, "--orders", "focus")
    assert (refused.returncode, "must be of breadth" in refused.stderr) == (2, True)
