"""`scrapy demo`: shows the whole crawler at work, without a network."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from scrapy.settings import Settings

from tests.support.commands import Done, command
from tests.support.crawling import wait_until
from tests.support.places import ROOT
from webcrawl.lab.commands.demo import demo_settings, summary

DEMO = [sys.executable, "-m", "scrapy", "demo"]


@contextmanager
def demo(*options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(
        [*DEMO, *map(str, options)], cwd=ROOT, start_new_session=True, **pipes
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def webs_of(pid):
    """The synthetic webs that a demo has started; for a moment it may have other children (Scrapy
    asks `uname`).
    """
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for child in children if b"webcrawl.lab.simweb" in _command(child)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def alive(pid):
    """Whether the process is neither gone nor a zombie."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_it_crawls_and_tells(tmp_path):
    """It crawls the synthetic web for the given time, and ends with a summary and the path of
    JOBDIR.
    """
    with demo("--hosts", 20, "--seconds", 2, "-s", f"JOBDIR={tmp_path / 'job'}") as process:
        said, errors = process.communicate(timeout=120)

    assert (process.returncode, errors) == (0, "")
    first, summary, bound, archive = said.splitlines()
    assert first == "crawling 20 synthetic hosts on loopback for 2 s (Ctrl-C to stop)"
    pages, hosts = re.match(
        r"(\d+) pages in [\d.]+ s \([\d.]+ pages/s\) from (\d+) hosts; ", summary
    ).groups()
    assert int(pages) >= int(hosts) > 0
    assert re.match(r"bound by .+ \d+ % of the time.*; what helps: ", bound)
    assert re.match(r"[\d.]+ MB in 1 WARC file; ", archive)
    assert archive.endswith(f"everything is in {tmp_path}/job")
    assert [path.suffix for path in sorted((tmp_path / "job/warc").iterdir())] == [".cdxj", ".gz"]
    assert (tmp_path / "job/logs/crawl.log").stat().st_size > 0


@pytest.mark.campaign
def test_a_reader_may_have_read_enough(tmp_path):
    """A pipe that is closed after the first line is no error: the crawl goes on to its end."""
    with demo("--hosts", 5, "--seconds", 2, "-s", f"JOBDIR={tmp_path / 'job'}") as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

        assert (process.wait(120), errors) == (0, "")
    assert '"closespider_timeout"' in (tmp_path / "job/stats.json").read_text()


@pytest.mark.campaign
def test_a_full_disk_is_no_traceback(tmp_path):
    """If nothing can be printed, a line says so, and the status is not 0."""
    with Path("/dev/full").open("w") as full:
        options = ["--hosts", "5", "--seconds", "1", "-s", f"JOBDIR={tmp_path / 'job'}"]
        done = subprocess.run(
            [*DEMO, *options],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )

    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == "demo: standard output: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.campaign
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_ctrl_c(tmp_path, monkeypatch):
    """Ctrl-C ends it early, with a summary; the synthetic web ends too, and JOBDIR is a temporary
    folder.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with demo("--hosts", 5, "--seconds", 600) as process:
        assert process.stdout.readline().startswith("crawling 5 synthetic hosts")
        jobdir = next(tmp_path.glob("webcrawl-demo-*/state")).parent
        # well under way
        wait_until(
            lambda: any(path.stat().st_size > 5000 for path in jobdir.glob("warc/*.warc.gz*"))
        )
        webs = webs_of(process.pid)
        sessions = {os.getsid(int(pid)) for pid in [process.pid, *webs]}
        os.killpg(process.pid, signal.SIGINT)  # a terminal signals all of them
        said, errors = process.communicate(timeout=120)

    assert (process.returncode, errors) == (0, "")
    *lines, archive = said.splitlines()
    assert any(line.endswith(", 0 failures") for line in lines)
    assert archive.endswith(f"everything is in {jobdir}")
    assert len(webs) == 1
    assert len(sessions) == 2  # otherwise the web would stop before the crawl
    assert not Path(f"/proc/{webs[0]}").exists()
    assert [path.name for path in tmp_path.iterdir()] == [jobdir.name]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_kill(tmp_path, monkeypatch):
    """After kill -9 the synthetic web stops by itself."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with demo("--hosts", 5, "--seconds", 600, "-s", f"JOBDIR={tmp_path / 'job'}") as process:
        assert process.stdout.readline().startswith("crawling 5 synthetic hosts")
        (web,) = webs_of(process.pid)
        process.kill()
        process.wait(120)
        wait_until(lambda: not alive(web))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--seconds", "nan"],
            "demo: allowed are --hosts from 1 to 100000 and --seconds from 1 to 86400",
        ),
        (
            ["-s", "FRONTIER_LEVELS=0"],
            "FRONTIER_LEVELS = '0': must be a whole number from 1 to 1000",
        ),
    ],
)
def test_an_impossible_option_or_setting_leaves_nothing_behind(tmp_path, options, line):
    """An impossible option or setting is one line and exit status 1, and leaves nothing behind."""
    done = command("scrapy", "demo", *options, environment={"TMPDIR": str(tmp_path)})

    assert done == Done(1, "", f"{line}\n")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_crawl_is_refused(tmp_path):
    """A JOBDIR with a crawl in it is refused, because that crawl's web no longer exists."""
    (tmp_path / "state").mkdir()
    done = command("scrapy", "demo", "-s", f"JOBDIR={tmp_path}")

    assert done == Done(
        1,
        "",
        f"demo: JOBDIR = {tmp_path}: already holds a crawl of an earlier demo web: use "
        "another JOBDIR\n",
    )


def test_it_has_webcrawls_settings_in_any_project():
    """Another project's settings do not reach the demo; the command line's do."""
    project = Settings({"SPIDER_MODULES": ["shop.spiders"], "SCHEDULER": "shop.Scheduler"})
    project.set("CONCURRENT_REQUESTS", "7", "cmdline")
    own = demo_settings(project)

    assert own["SPIDER_MODULES"] == ["webcrawl.adapter.spiders", "webcrawl.lab.walks.spider"]
    assert own["SCHEDULER"] == "webcrawl.adapter.scheduler.FrontierScheduler"
    assert (own["CONCURRENT_REQUESTS"], own.getpriority("CONCURRENT_REQUESTS")) == ("7", 40)


def test_a_log_file_that_cannot_be_opened():
    """A LOG_FILE that cannot be opened is refused in one line."""
    done = command(
        "scrapy", "demo", "--hosts", 2, "--seconds", 1, "-s", "LOG_FILE=/nowhere/demo.log"
    )

    why = "must be a file that can be written to (No such file or directory)"
    assert done == Done(1, "", f"LOG_FILE = /nowhere/demo.log: {why}\n")


def test_no_demo_is_resumed(tmp_path):
    """Deferred hosts are counted, and no line says when the same command resumes them: their web is
    gone.
    """
    stats = {
        "reason": "closespider_timeout",
        "seconds": 2.0,
        "pages": 3,
        "failures": 1,
        "queued": 5,
    }
    deferred = {"deferred": 5, "hosts_deferred": 1, "deferred_due": 2e9}

    assert "5 URLs of 1 deferred host\n" in summary(tmp_path, {**stats, **deferred})
