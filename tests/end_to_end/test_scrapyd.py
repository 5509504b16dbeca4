"""A real scrapyd: the project is deployed as an egg, scheduled, cancelled and resumed."""

import importlib.util
import json
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.support import crawling
from tests.support.places import ROOT
from tests.support.ports import free_port
from webcrawl.lab.simweb import wait_until_idle

pytestmark = pytest.mark.skipif(
    not all(
        importlib.util.find_spec(name) for name in ("scrapyd", "scrapyd_client", "pkg_resources")
    ),
    reason="needs scrapyd, scrapyd-client and setuptools below 81",
)

wait_until = partial(crawling.wait_until, pause=0.1)  # a look is a request to the daemon

CONFIG = """
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
eggs_dir = {eggs}
logs_dir = {folder}/logs
dbs_dir = {folder}/dbs
jobs_dir = {jobs}
items_dir = {items}
poll_interval = 0.1
max_proc = 2
"""


class Daemon:
    """The JSON interface of a scrapyd."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/"

    def ask(self, name, data=None, **query):
        body = urlencode(data, doseq=True).encode() if data else None
        with urlopen(  # noqa: S310 - ours
            f"{self.url}{name}.json?{urlencode(query)}", body, timeout=crawling.PATIENCE
        ) as answer:
            said = json.load(answer)
        assert said["status"] == "ok", said
        return said

    def schedule(self, settings, **arguments):
        pairs = [f"{name}={value}" for name, value in settings.items()]
        return self.ask(
            "schedule", {"project": "webcrawl", "spider": "web", "setting": pairs, **arguments}
        )["jobid"]

    def state(self, job):
        """The state of a job's last run: pending, running or finished."""
        jobs = self.ask("listjobs", project="webcrawl")
        return next(
            name
            for name in ("pending", "running", "finished")
            if job in [one["id"] for one in jobs[name]]
        )

    def cancel(self, job):
        self.ask("cancel", {"project": "webcrawl", "job": job})
        wait_until(lambda: self.state(job) == "finished")

    def is_up(self):
        with suppress(URLError, ConnectionError):
            return bool(self.ask("daemonstatus"))
        return False


@contextmanager
def scrapyd(folder, eggs, jobs="", items=""):
    port = free_port()
    folder.mkdir(exist_ok=True)
    (folder / "scrapyd.conf").write_text(
        CONFIG.format(port=port, folder=folder, eggs=eggs, jobs=jobs, items=items)
    )
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"], cwd=folder, stdout=out, stderr=out
        )
    try:
        daemon = Daemon(port)
        wait_until(daemon.is_up)
        yield daemon
    finally:
        process.terminate()
        process.wait(crawling.PATIENCE)


def deploy(daemon, checkout):
    """Deploys as the README says, from a copy of the checkout, because scrapyd-deploy writes into
    it.
    """
    shutil.copytree(
        ROOT / "webcrawl", checkout / "webcrawl", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("scrapy.cfg", "pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    with (checkout / "scrapy.cfg").open("a") as config:
        config.write(f"\n[deploy:here]\nproject = webcrawl\nurl = {daemon.url}\n")
    tool = Path(sys.executable).with_name("scrapyd-deploy")
    subprocess.run([tool, "here"], cwd=checkout, check=True, capture_output=True, timeout=120)


def settings_of(server, **settings):
    return {
        "DNS_NAMESERVERS": server.nameserver,
        "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16",
        "POLITENESS_FACTOR": 0,
        "POLITENESS_MIN_DELAY": 0,
        "CONCURRENT_REQUESTS": 4,
        "MIN_FREE_DISK": 0,
        **settings,
    }


def seeds_of(server, path):
    path.write_text("".join(f"{url}\n" for url in server.world.seeds()))
    return path


def reason_of(jobdir):
    return json.loads((jobdir / "stats.json").read_text())["reason"]


def pages(server):
    wait_until_idle(server)
    return [hit.url for hit in server.log.hits if not hit.url.endswith("/robots.txt")]


@pytest.mark.campaign
def test_deployed_scheduled_cancelled_and_resumed(tmp_path, simweb):
    """An egg made by scrapyd-deploy crawls; a cancelled job makes a checkpoint, and its JOBDIR or
    jobid resumes.

    This is one test, because making the egg and starting the daemon take longer than the rest.
    """
    eggs = tmp_path / "eggs"
    with scrapyd(tmp_path / "daemon", eggs) as daemon:
        deploy(daemon, tmp_path / "daemon")
        _a_job_that_cannot_begin_says_why_in_its_log(daemon, tmp_path)
        _a_jobdir_resumes(daemon, tmp_path, simweb(4, 80, latency=0.05))
        _jobs_without_a_jobdir_have_their_own(daemon, tmp_path, simweb(2, 10))
    with scrapyd(tmp_path / "other", eggs, tmp_path / "jobs", tmp_path / "items") as daemon:
        _a_jobid_resumes(daemon, tmp_path, simweb(4, 80, latency=0.05))


def _a_job_that_cannot_begin_says_why_in_its_log(daemon, folder):
    job = daemon.schedule({"JOBDIR": folder / "job", "FRONTIER_LEVELS": 0}, seeds="seeds.txt")
    wait_until(lambda: daemon.state(job) == "finished")
    log = folder / f"daemon/logs/webcrawl/web/{job}.log"

    assert log.read_text() == "FRONTIER_LEVELS = '0': must be a whole number from 1 to 1000\n"


def _a_jobdir_resumes(daemon, folder, server):
    settings = settings_of(server, JOBDIR=folder / "job")
    arguments = {"seeds": seeds_of(server, folder / "seeds.txt"), "scope": "any"}

    job = daemon.schedule(settings, **arguments)
    crawling.wait_until(lambda: len(server.log.hits) > 20)
    daemon.cancel(job)
    half, reason = len(pages(server)), reason_of(folder / "job")
    again = daemon.schedule(settings, **arguments)
    wait_until(lambda: daemon.state(again) == "finished")

    assert (reason, reason_of(folder / "job")) == ("shutdown", "finished")
    assert half < 80
    assert len(pages(server)) == len(set(pages(server))) == 80
    assert (
        "Spider closed (finished)" in (folder / f"daemon/logs/webcrawl/web/{again}.log").read_text()
    )


def _jobs_without_a_jobdir_have_their_own(daemon, folder, server):
    """Two jobs of one spider run at once, each in a folder below the daemon's that is named after
    it.
    """
    arguments = {"seeds": seeds_of(server, folder / "few.txt")}

    jobs = [daemon.schedule(settings_of(server), **arguments) for _ in range(2)]
    for job in jobs:
        wait_until(lambda job=job: daemon.state(job) == "finished")

    assert [reason_of(folder / f"daemon/crawls/web-{job}") for job in jobs] == [
        "finished",
        "finished",
    ]
    assert len(pages(server)) == 2 * len(set(pages(server))) == 20


def _a_jobid_resumes(daemon, folder, server):
    """Under a scrapyd with a jobs_dir, JOBDIR is named after the job; with an items_dir its pages
    are there.
    """
    arguments = {"seeds": seeds_of(server, folder / "seeds.txt"), "jobid": "mine"}

    settings = settings_of(server, FEED_EXPORT_FIELDS="url,status,title")
    daemon.schedule(settings, **arguments)
    crawling.wait_until(lambda: len(server.log.hits) > 20)
    daemon.cancel("mine")
    half = len(pages(server))
    daemon.schedule(settings, **arguments)
    wait_until(lambda: len(pages(server)) == 80)
    wait_until(lambda: daemon.state("mine") == "finished")

    assert half < 80
    assert len(set(pages(server))) == 80
    assert reason_of(folder / "jobs/webcrawl/web/mine") == "finished"
    (where,) = {job["items_url"] for job in daemon.ask("listjobs", project="webcrawl")["finished"]}
    with urlopen(f"{daemon.url.rstrip('/')}{where}", timeout=crawling.PATIENCE) as answer:  # noqa: S310 - ours
        items = [json.loads(line) for line in answer]
    assert {tuple(item) for item in items} == {("url", "status", "title")}
    assert sorted(item["url"] for item in items) == sorted(pages(server))
