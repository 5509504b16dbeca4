"""What docs/parallel.md says, done: shards of a hive's archives, their clusters, and other programs
that read both.
"""

import os
import re
import stat
import subprocess

import pytest

from tests.support.archived_hives import DRONES, PAGES, archived_hive, bodies
from tests.support.commands import command
from tests.support.places import ROOT

pytestmark = pytest.mark.xdist_group("parallel")  # one crawl for all tests

NOTES = """#!/bin/sh
line="$(printf '%s\\t' "$@")"
echo "$line" >> "$NOTED"
"""  # in the place of `webcrawl`: a line for each command that the shell would start, with its words
BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/parallel.md").read_text(), re.MULTILINE | re.DOTALL
)
PROCESS, EXPORT = (text for kind, text in BLOCKS if kind == "sh")
QUESTIONS = [text for kind, text in BLOCKS if kind == "sql"]
# a Python that has datatrove and what its WarcReader needs
DATATROVE = os.environ.get("WEBCRAWL_DATATROVE")
RAY = os.environ.get("WEBCRAWL_RAY")  # a Python that has ray[data] and aiohttp


def python(name):
    """The block that begins with this import."""
    return next(text for kind, text in BLOCKS if kind == "python" and name in text)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    """A folder in which the commands of the page were run."""
    folder = tmp_path_factory.mktemp("parallel")
    archived_hive(folder / "crawls/web")
    program = folder / "bin/webcrawl"
    program.parent.mkdir()
    program.write_text(NOTES)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "NOTED": str(folder / "noted")}
    for block in (PROCESS, EXPORT):  # the second names what the first has made
        shell = ["bash", "-euc", block.replace("-s OUTPUTS", "-s MIN_FREE_DISK=0 -s OUTPUTS")]
        subprocess.run(shell, cwd=folder, env=environment, check=True)
        for line in (folder / "noted").read_text().splitlines():
            done = command("webcrawl", *line.split("\t")[:-1], cwd=folder)
            assert done.returncode == 0, done.stderr
        (folder / "noted").unlink()
    (folder / "said").write_text(done.stdout)
    return folder


def test_what_the_commands_say(folder):
    """The clusters are those of the pages that are nearly the same, in whichever shard they are."""
    said = (folder / "said").read_text()

    assert said.splitlines()[-1].startswith("web.clusters.parquet: ")
    assert f"{len(bodies())} clusters" not in said  # near-duplicates are joined


def test_what_duckdb_answers(folder, monkeypatch):
    """One row for each body, and one for each cluster."""
    import duckdb  # here: what is imported while tests are collected is never given back

    monkeypatch.chdir(folder)
    of_bodies, of_clusters = (
        duckdb.sql(question.replace("LIMIT 3", "")).fetchall() for question in QUESTIONS
    )

    assert len(of_bodies) == len(bodies())
    near = DRONES * sum(number % 4 == 2 for number in range(PAGES))
    assert len(of_clusters) == len(bodies()) - near


@pytest.mark.skipif(not DATATROVE, reason="WEBCRAWL_DATATROVE names no Python with datatrove")
def test_what_datatrove_reads(folder):
    """The tables of all shards, and every page of the archives that is no revisit."""
    done = subprocess.run(
        [DATATROVE, "-c", python("datatrove")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )

    counted = [int(line.split()[-1]) for line in done.stdout.splitlines()]
    assert len(counted) == 2
    assert min(counted) >= len(bodies())


@pytest.mark.skipif(not RAY, reason="WEBCRAWL_RAY names no Python with ray[data]")
def test_what_ray_data_reads(folder):
    """The tables of all shards: as many documents as DuckDB counts."""
    import duckdb

    done = subprocess.run(
        [RAY, "-c", python("ray")],
        cwd=folder,
        # without the variable Ray reports its use to its makers
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )

    tables = folder / "crawls/process-*-of-4/tables/documents-*.parquet"
    [counted] = duckdb.sql(f"SELECT count(*), sum(length(text)) FROM '{tables}'").fetchall()
    assert [int(word) for word in done.stdout.split()] == [*counted]
