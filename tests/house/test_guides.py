"""The tutorials' own commands, those of one after the other in one folder, and what they leave.

`.ci/commands` runs all lines of the tutorials as they stand there, with what they install.
"""

import contextlib
import json
import re
import shlex
import time

import duckdb
import pytest
from pyarrow import parquet

from tests.support.all_outputs import HAS_DOCUMENTS
from tests.support.cases import unpacked
from tests.support.cdx_server import cdx_server
from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.crawling_sites import serving
from tests.support.places import ROOT
from tests.support.snippets import example
from webcrawl.base.dates import digits
from webcrawl.base.readable import count

CORPUS = "\n## A corpus\n"
ADDING = "\n## Add to an archive"
PAGE = b'<title>Example</title><link rel=stylesheet href="http://cdn.test/s.css"><a href=/next>next</a>'
QUICK = "-s POLITENESS_MIN_DELAY=0 -s MIN_FREE_DISK=0 -s PRIVATE_NETWORKS_ALLOWED=127.0.0.0/16"


def steps(page, *, since="", until="\0"):
    """The words of each of webcrawl's commands in a tutorial, or in a part of it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    text = text.partition(since)[2] if since else text
    blocks = re.findall(r"^```sh\n(.*?)^```$", text.partition(until)[0], re.MULTILINE | re.DOTALL)
    return [
        shlex.split(line)
        for block in blocks
        for line in block.splitlines()
        if line.startswith("webcrawl ")
    ]


def answer(url):
    kind = "text/css" if url.endswith(".css") else "text/html"
    return (
        (404, "text/plain", b"")
        if url.endswith("robots.txt")
        else (200, kind, PAGE if "html" in kind else b"p{}")
    )


def run(commands, folder, changed=list):
    """What each command of a tutorial says; only politeness and name lookup are the test's, and
    what it has `changed`.
    """
    names = ["www.example.org", "cdn.test"]
    with serving(answer, folder, names) as sites:
        (folder / "sites.txt").write_text("http://www.example.org/\n")
        hosts = sites.hosts_file(folder / "hosts", names)
        said = []
        for words in commands:
            program, *rest = words
            more = [*QUICK.split(), "-s", f"HOSTS_FILE={hosts}"] if rest[0] == "crawl" else []
            done = command(program, *changed(rest), *more, cwd=folder)
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)
    return sites, said


def test_the_archivists_guide(tmp_path):
    """Crawl, verify and wacz do what the page says."""
    sites, said = run(steps("archive-that-replays.md"), tmp_path)

    assert "http://cdn.test/s.css" in sites.requested
    assert said[1].startswith("sites: no damage found\n")
    assert said[2].startswith(
        "sites.wacz: archive files 1, records 5, seeds 1, other pages 1, bytes "
    )
    assert (tmp_path / "sites.wacz").stat().st_size > 1000


@pytest.mark.campaign
def test_the_monthly_guide(tmp_path):
    """Three crawls, diff and verify do what the page says; the second month refers to the first."""
    _, said = run(steps("monthly-archive.md", until=ADDING), tmp_path)

    assert said[3].endswith(
        "0 added, 0 gone, 0 moved, 0 changed; 2 the same, 0 with the same text in another markup\n"
    )
    assert said[4].startswith("2026-03: no damage found\n")
    assert "since:digest" in (tmp_path / "2026-02" / "logs" / "crawl.log").read_text()


def test_the_guide_to_an_archive(tmp_path):
    """The second crawl stores nothing, and its package says what it depends on; a stand-in serves
    the first one.
    """

    def changed(words):
        if "--since" in words:
            index.add_crawl(tmp_path / "2026-01")
            latest = max(line.split(b" ")[1].decode() for line in index.lines)
            wait_until(lambda: digits(time.time())[:14] > latest)
            words[words.index("--since") + 1] = index.address
        return words

    first, *_ = steps("monthly-archive.md")
    with cdx_server() as index:
        _, said = run([first, *steps("monthly-archive.md", since=ADDING)], tmp_path, changed)

    log = (tmp_path / "new/logs/crawl.log").read_text().splitlines()
    assert sum("since:digest" in line for line in log) == len(log) - 1  # robots.txt is missing
    lacking = count(len(log) - 1, "record")
    assert (
        f"{lacking} without a body, which is in earlier archives: cdx+http://127.0.0.1" in said[2]
    )


def test_the_search_engines_guide(tmp_path):
    """Crawl and search find the page, and the guide's module counts its words over the archive."""
    (tmp_path / "words.py").write_text(example("docs/search-engine.md", "Vocabulary"))
    _, said = run(steps("search-engine.md"), tmp_path)

    assert "http://www.example.org/" in said[1]
    assert json.loads(said[2].splitlines()[0])["title"] == "Example"
    assert "('next', 1)" in said[3]


@pytest.mark.campaign
def test_the_focused_guide(tmp_path):
    """Both crawls, why and the comparison do what the page says."""
    (tmp_path / "words.py").write_text(example("docs/corpus-and-focus.md", "share"))
    _, said = run(steps("corpus-and-focus.md", until=CORPUS), tmp_path)

    assert "score:1.000" in (tmp_path / "focused/logs/crawl.log").read_text()
    assert "  score      1.000\n" in said[2]
    assert "focus       crawl" in said[3]


@pytest.mark.campaign
@pytest.mark.skipif(not HAS_DOCUMENTS, reason="documents need trafilatura and resiliparse")
def test_the_corpus_guide(tmp_path):
    """The export has the documents of the crawl, its query finds columns, and the archive gives
    them again.
    """
    run(steps("corpus-and-focus.md", since=CORPUS), tmp_path)
    (query,) = re.findall(
        r"^```sql\n(.*?)^```$",
        (ROOT / "docs/corpus-and-focus.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    rows = unpacked(tmp_path / "corpus.jsonl.zst").decode().splitlines()
    with contextlib.chdir(tmp_path):
        assert duckdb.sql(query.replace(">= 50", ">= 0").replace(">= 2", ">= 0")).fetchall()

    assert {json.loads(row)["metadata"]["url"] for row in rows} >= {"http://www.example.org/"}
    assert len(
        parquet.read_table(sorted((tmp_path / "documents/tables").glob("documents-*.parquet")))
    ) == len(rows)


def test_the_researchers_guide(tmp_path, monkeypatch, capsys):
    """Crawl, report, verify and graph do what the page says, and so does its query."""
    _, said = run(steps("study-the-web.md"), tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(example("docs/study-the-web.md", ""), {})  # noqa: S102 - our own documentation

    assert said[1:3] == ["study/report.html\n", said[2]]
    assert said[2].startswith("study: no damage found\n")
    assert said[3].startswith("graph: hosts ")
    assert "example.org" in capsys.readouterr().out
