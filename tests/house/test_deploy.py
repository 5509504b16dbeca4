"""docs/deploy/ and the units of docs/deploy.md."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from itertools import pairwise
from urllib.parse import parse_qsl

import pytest

from tests.support.crawling import wait_until
from tests.support.places import ROOT

UNITS = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs/deploy").glob("*.service"))
}
PAGE = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
UNITS["webcrawl.service"] = re.search(
    r"^```ini\n(\[Unit\].*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)[1]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_no_fault(name, tmp_path):
    """`systemd-analyze verify` has nothing to say of a unit, where what it starts is installed."""
    (tmp_path / name).write_text(
        re.sub(r"(?<=^ExecStart=)\S+", "/bin/true", UNITS[name], flags=re.MULTILINE)
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / name], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_has_what_is_copied():
    """The Dockerfile copies only what .dockerignore lets through."""
    copied = re.findall(
        r"^COPY (\S+)", (ROOT / "docs/deploy/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    passing = re.findall(
        r"^!(\S+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert copied == passing


def test_what_scrapyd_is_told():
    """Each field arrives as the page has it: of a plus sign, `curl -d` makes a space."""
    command = re.search(
        r"curl \S+ \S+ \S+/schedule[.]json.*?[^\\]$", PAGE, re.MULTILINE | re.DOTALL
    )[0]
    words = shlex.split(command)
    fields = [word for option, word in pairwise(words) if option == "-d"]

    assert fields
    assert [parse_qsl(field) for field in fields] == [
        [tuple(field.split("=", 1))] for field in fields
    ]


SLURM = ROOT / "docs/deploy/slurm"
STANDING_IN = {  # for the programs that a job calls; what they are called with goes to a file
    "webcrawl": 'echo "$WEBCRAWL_JOBDIR $WEBCRAWL_HIVE_DRONE $*" >drone; eval "$DRONE"',
    "squeue": 'echo "$STATE"',
    "scontrol": 'echo "$@" >requeued',
}
WAITS = "trap 'exit 75' TERM; echo >begun; while :; do sleep 0.05; done"


class SlurmJob:
    """drones.sbatch as the third task of array 5, with programs of the test in place of Slurm's."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in STANDING_IN.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        settings = (SLURM / "hive.env").read_text(encoding="utf-8")
        (folder / "hive.env").write_text(
            settings.replace("/srv/webcrawl/current/.venv/bin", str(folder))
        )

    def start(self, drone, state="RUNNING"):
        """Start the job; `drone` is what its drone does, in the words of a shell."""
        names = {"SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "8"}
        return subprocess.Popen(
            ["bash", SLURM / "drones.sbatch"],
            cwd=self.folder,
            env=os.environ | names | {"DRONE": drone, "STATE": state, "USER": "me"},
        )

    @property
    def requeued(self):
        """What was requeued, if anything was."""
        path = self.folder / "requeued"
        return path.read_text().strip() if path.exists() else None


@pytest.fixture(name="job")
def _job(tmp_path):
    return SlurmJob(tmp_path)


class TestSlurm:
    def test_what_a_drone_is_told(self, job):
        """It has a folder by its number, the seeds, and the number that Slurm gave it."""
        job.start("exit 0").wait()
        told = (job.folder / "drone").read_text()
        assert told == "/SCRATCH/me/news/drone-3 auto crawl web -a seeds=seeds.txt\n"

    @pytest.mark.parametrize(
        ("drone", "status", "requeued"),
        [
            ("exit 0", 0, None),
            ("exit 1", 1, None),
            ("exit 75", 75, "requeue 5_3"),
            ("kill -9 $$", 137, "requeue 5_3"),
        ],
        ids=["finished", "failed", "stopped", "killed"],
    )
    def test_how_a_drone_ends(self, job, drone, status, requeued):
        """Its task is requeued if it was stopped or killed, and no other task of the array is."""
        assert job.start(drone).wait() == status
        assert job.requeued == requeued

    def test_a_job_that_is_cancelled(self, job):
        """It is not requeued."""
        assert job.start("exit 75", "COMPLETING").wait() == 75
        assert job.requeued is None

    def test_the_signal_before_the_time_is_over(self, job):
        """The drone gets it, and the task is requeued when the drone has ended."""
        running = job.start(WAITS)
        wait_until((job.folder / "begun").exists)
        running.send_signal(signal.SIGTERM)
        assert running.wait() == 75
        assert job.requeued == "requeue 5_3"

    def test_a_folder_without_settings(self, job):
        """The job ends with status 1 before it starts a drone."""
        (job.folder / "hive.env").unlink()
        assert job.start("exit 0").wait() == 1
        assert not (job.folder / "drone").exists()
