"""`scrapy process --shard K/N`: N runs share the files, and together make what one run makes."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pyarrow.parquet as pq
import pytest

from tests.support.archived_hives import DRONES, PAGES, archived_hive
from tests.support.commands import command
from tests.support.crawling import scrapy
from tests.support.places import ROOT

pytestmark = pytest.mark.xdist_group("shards")  # one hive's archives, and one run of all shards

COUNT = 3
# What a run says of its own pages only: whether it has had the body before
OF_THE_RUN = {"duplicate"}


@pytest.fixture(name="hive", scope="module")
def _hive(tmp_path_factory):
    return archived_hive(tmp_path_factory.mktemp("hive") / "hive")


@pytest.fixture(name="project")
def _project(tmp_path):
    return made_project(tmp_path)


def made_project(folder):
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = webcrawl.settings\n")
    return folder


@pytest.fixture(name="done", scope="module")
def _done(hive, tmp_path_factory):
    """A folder in which one run and all shards have processed the hive's archives."""
    project = made_project(tmp_path_factory.mktemp("done"))
    pipelines = json.dumps({"tests.support.process_pipelines.Digests": 300})
    settings = {"OUTPUTS": "tables documents", "ITEM_PIPELINES": pipelines}
    assert run(project, hive, JOBDIR="crawls/whole", **settings) == 0
    assert shards(project, hive, **settings) == [0] * COUNT
    return project


def words(hive, shard="", **settings):
    """The words of a command."""
    given = {"OUTPUTS": "tables", "CONTENT_SEEN": "process", "MIN_FREE_DISK": 0, **settings}
    options = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    return ["process", str(hive), *(["--shard", shard] if shard else []), *options]


def run(project, *of_command, **settings):
    """The exit status."""
    return scrapy(words(*of_command, **settings), project, project / "said.txt")


def rows(project, pattern, table="pages"):
    """The rows of all runs in these folders, each as its columns."""
    paths = sorted(project.glob(f"crawls/{pattern}/tables/{table}-*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def counted(found):
    """How often each row comes, without what a run says of itself."""
    return Counter(
        json.dumps({name: row[name] for name in row if name not in OF_THE_RUN}, default=str)
        for row in found
    )


def shards(project, hive, **settings):
    """Processes all shards, and returns their exit statuses."""
    return [run(project, hive, f"{number}/{COUNT}", **settings) for number in range(1, COUNT + 1)]


class TestTogether:
    def test_shards_make_the_rows_of_one_run(self, done):
        """Nothing is lost, nothing is there twice, and revisits have their bodies, wherever the
        original lies.
        """
        together = rows(done, "process-*-of-3")

        assert counted(together) == counted(rows(done, "whole"))
        assert len(together) == DRONES * (PAGES + 1)
        assert {row["body_size"] > 0 for row in together} == {True}

    def test_what_robots_txt_says_holds_in_all_shards(self, done):
        """A page whose host forbids a use is forbidden in whichever shard it is."""
        said = {
            row["forbidden"]
            for row in rows(done, "process-*-of-3")
            if not row["url"].endswith("robots.txt")
        }

        assert said == {"train-ai"}

    def test_bodies_have_one_digest_in_all_shards(self, done):
        """`page.digest` has a key that shards share; runs without shards have one of their own."""
        shared, own = (
            {
                line.split()[1]
                for path in done.glob(f"crawls/{pattern}/lines.txt")
                for line in path.read_text().splitlines()
            }
            for pattern in ("process-*-of-3", "whole")
        )

        assert len(shared) == len(own) > 1
        assert not shared & own

    def test_clusters_of_shards_are_those_of_one_run(self, done):
        """Near-duplicates are joined over the files of all shards, under the same names."""
        found = []
        for pattern in ("whole", "process-*-of-3"):
            target = done / f"{pattern[:5]}.parquet"
            exported = command(
                "scrapy", "export", "clusters", *done.glob(f"crawls/{pattern}"), "-o", target
            )
            assert exported.returncode == 0, exported.stderr
            found.append({row["id"]: row["cluster"] for row in pq.read_table(target).to_pylist()})

        assert found[0] == found[1]
        assert 0 < len(set(found[0].values())) < len(found[0])

    @pytest.mark.campaign
    def test_duplicates_are_found_afterwards(self, hive, project):
        """By the digest of the payload, which is the same in each shard: one row for each body, as
        one run has it.
        """
        settings = {"OUTPUTS": "documents", "CONTENT_SEEN": "skip"}
        assert run(project, hive, JOBDIR="crawls/whole", **settings) == 0
        assert shards(project, hive, **settings) == [0] * COUNT

        whole, together = (
            rows(project, pattern, "documents") for pattern in ("whole", "process-*-of-3")
        )
        assert len(together) > len(whole)
        assert {row["content_digest"] for row in together} == {
            row["content_digest"] for row in whole
        }
        assert len(whole) == len({row["content_digest"] for row in whole})


class TestKilled:
    @pytest.mark.campaign
    @pytest.mark.parametrize("seed", range(1, 12))
    def test_at_any_moment(self, hive, project, seed):
        """A shard that is killed again and again goes on, and has each row once."""
        chance = random.Random(seed)
        for number in range(1, COUNT + 1):
            self._run_to_the_end(project, words(hive, f"{number}/{COUNT}"), chance, kills=3)
        assert run(project, hive, JOBDIR="crawls/whole") == 0

        assert counted(rows(project, "process-*-of-3")) == counted(rows(project, "whole"))

    def _run_to_the_end(self, project, of_command, chance, kills):
        while True:
            process = subprocess.Popen(
                [sys.executable, "-m", "scrapy", *of_command, "-s", "CHECKPOINT_INTERVAL=0.1"],
                cwd=project,
                env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if kills:
                time.sleep(chance.uniform(0.5, 3))
                process.send_signal(signal.SIGKILL)
                kills -= 1
            status = process.wait()
            if status != -signal.SIGKILL:
                assert status == 0
                return


class TestResuming:
    def test_the_same_shard_goes_on(self, hive, project):
        """A second run reads nothing again, and a new file of its share only."""
        assert run(project, hive, "1/2") == 0
        before = counted(rows(project, "process-1-of-2"))
        assert run(project, hive, "1/2") == 0

        assert "0 pages in" in (project / "said.txt").read_text()
        assert counted(rows(project, "process-1-of-2")) == before

    @pytest.mark.parametrize(
        ("first", "then", "was", "now"),
        [
            ("1/2", "2/2", "--shard 1/2", "--shard 2/2"),
            ("1/2", "", "--shard 1/2", "all files"),
            ("", "1/3", "all files", "--shard 1/3"),
        ],
    )
    def test_another_share_needs_another_jobdir(self, hive, project, first, then, was, now):
        """It would be taken for processed where the first run has only passed over it."""
        assert run(project, hive, first, JOBDIR="job") == 0
        assert run(project, hive, then, JOBDIR="job") == 1

        assert (
            (project / "said.txt")
            .read_text()
            .splitlines()[-1]
            .endswith(
                f"job: has processed {was}, not {now}, and passes over files that it knows: use another JOBDIR"
            )
        )


class TestArguments:
    @pytest.mark.parametrize("shard", ["0/4", "5/4", "4", "a/b", "1/0", "1/4/2"])
    def test_a_wrong_share_is_a_wrong_use(self, hive, project, shard):
        """The status is 2, and the line says what is expected."""
        assert run(project, hive, shard) == 2

        said = (project / "said.txt").read_text().splitlines()
        assert said[-1].endswith(f"error: --shard {shard}: must be K/N, with K from 1 to N")

    def test_a_share_without_files(self, hive, project):
        """It is no failure: other shards have them all; a line says so."""
        (file, *_) = sorted((hive / "drone-0/warc").glob("*.warc.gz"))
        shutil.copy(file, project)
        statuses = [run(project, file.name, f"{number}/2") for number in (1, 2)]
        said = (project / "said.txt").read_text()
        assert run(project, file.name, "1/2") == 0
        said += (project / "said.txt").read_text()

        assert statuses == [0, 0]
        assert said.count("has none of the 1 file") == 1
