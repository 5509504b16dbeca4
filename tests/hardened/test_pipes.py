"""A pipe in the place of any file of a crawl keeps no reader waiting for its other end."""

# Seen on 2026-11-22, before this was fixed: `verify`, `why`, `report`, `account`, `segments`,
# `search`, `wacz` and the dashboard waited without an end, each for a pipe in the place of at least
# one of these files.

import os
import shutil
from collections import Counter

import pytest

from tests.support.all_outputs import OUTPUTS, Everything
from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.plain_site import serving
from webcrawl.store.jobdir import stats_file
from webcrawl.tools.dashboard.crawls import recent_moments

pytestmark = pytest.mark.xdist_group("pipes")  # one crawl for all tests


@pytest.fixture(name="finished", scope="module")
def _finished(tmp_path_factory):
    """The folder of a crawl with all outputs."""
    folder = tmp_path_factory.mktemp("pipes")
    Everything.requested = Counter()
    with serving(Everything) as here:
        (folder / "seeds.txt").write_text(f"{here}/page/9\n")
        settings = {
            "OUTPUTS": OUTPUTS,
            "LINK_SOURCES": "a",
            "POLITENESS_FACTOR": 0,
            "POLITENESS_MIN_DELAY": 0,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0, crawl.output.read_text()
    return crawl.jobdir


def with_pipe(jobdir, copy, pattern):
    """A copy of the crawl with a pipe there, and its path."""
    shutil.copytree(
        jobdir,
        copy,
        ignore=lambda folder, names: [name for name in names if name == "control.sock"],
    )
    (path,) = sorted(copy.glob(pattern))[:1] or [copy / pattern]
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (["verify", "JOBDIR"], "stats.json"),
        (["verify", "JOBDIR"], "logs/crawl.log"),
        (["verify", "JOBDIR"], "tables/links-*.parquet"),
        (["verify", "JOBDIR"], "index/meta.json"),
        (["search", "JOBDIR", "word1"], "index/.managed.json"),
        (["search", "JOBDIR", "word1"], "state/crawl.db-wal"),
        (["account", "JOBDIR", "127.0.0.1", "--list-records"], "warc/*.warc.gz"),
        (["segments", "build", "JOBDIR"], "logs/crawl.log"),
        (["segments", "build", "JOBDIR"], "tables/links-*.parquet"),
        (["export", "wacz", "JOBDIR"], "warc/*.cdxj"),
        (["export", "graph", "JOBDIR", "-o", "JOBDIR/graph"], "logs/links.log"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_pipe_is_named(finished, tmp_path, words, pattern):
    """What cannot do without the file says in one line that it is none, with status 1."""
    path = with_pipe(finished, tmp_path / "job", pattern)

    done = command("scrapy", *(word.replace("JOBDIR", str(tmp_path / "job")) for word in words))

    assert done.returncode == 1, done
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if str(path) in line]
    assert line.endswith("a file") or "not a regular file" in line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "pattern", ["stats.json", "logs/crawl.log", "logs/neardup.log", "logs/history.jsonl"]
)
def test_a_report_does_without(finished, tmp_path, pattern):
    """What it can do without is left out of a report."""
    with_pipe(finished, tmp_path / "job", pattern)

    assert command("scrapy", "report", tmp_path / "job").returncode == 0


def test_why_does_without(finished, tmp_path):
    """What an index would say is missing, which a line says; the rest is told."""
    path = with_pipe(finished, tmp_path / "job", "warc/*.cdxj")
    done = command("scrapy", "why", tmp_path / "job", "http://127.0.0.1/page/1")

    assert done.returncode == 0, done
    assert (
        f"note       warc/{path.name}: it is not a regular file: its information is missing here"
        in done.stdout
    )


def test_a_dashboard_does_without(finished, tmp_path):
    """It shows nothing of such files."""
    for name in ("stats.json", "logs/history.jsonl"):
        copy = tmp_path / name.replace("/", "-")
        with_pipe(finished, copy, name)

        assert (stats_file.read(copy) == {}) == (name == "stats.json")
        assert (recent_moments(copy) == []) == (name != "stats.json")
