"""A crawl whose files are taken away says so, and does not end as if all were well."""

# Seen on 2026-11-21, before this was fixed: all six crawls ended with status 0 and reason
# `finished`. Of the removed JOBDIR nothing was left; without its database an archive of 861,982
# bytes was.

import json
import re
import shutil

import pytest

from tests.support.crawling import Crawl, copy_of, wait_until
from tests.support.ports import free_port

SETTINGS = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "CONCURRENT_REQUESTS": 4,
    "CHECKPOINT_INTERVAL": 0.2,
}


def move(job):
    job.rename(job.with_name("moved"))


def remove(job):
    shutil.rmtree(job.rename(job.with_name("gone")))


def replace(job):
    """Another folder of that name, as a careless copy makes it."""
    job.rename(job.with_name("moved"))
    copy_of(job.with_name("moved"), job)


def remove_database(job):
    (job / "state/crawl.db").unlink()


def remove_archive(job):
    (path,) = (job / "warc").glob("*.warc.gz.open")
    path.unlink()


def remove_log(job):
    (job / "logs/crawl.log").unlink()


def test_the_last_lines_of_a_crawl_that_was_moved(tmp_path, simweb):
    """They have what the last checkpoint has, of earlier runs too, though there is no file to read
    that from.
    """
    server = simweb(4, 400, latency=0.05)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
    assert crawl.run(CLOSESPIDER_PAGECOUNT=10) == 0
    requested = server.log.count

    running = crawl.start()
    wait_until(lambda: server.log.count > requested + 20)
    move(tmp_path / "job")

    assert running.wait() == 1
    pages = json.loads((tmp_path / "moved/stats.json").read_text())["pages"]
    assert pages >= 10
    assert f" pages/s), {pages} with earlier runs" in crawl.output.read_text()


@pytest.mark.parametrize(
    ("take_away", "name"),
    [
        pytest.param(move, "", id="moved"),
        pytest.param(replace, "", id="replaced"),
        pytest.param(remove, "", id="removed"),
        pytest.param(remove_database, "state/crawl.db", id="database"),
        pytest.param(remove_archive, "warc/", id="archive"),
        pytest.param(remove_log, "logs/crawl.log", id="log"),
    ],
)
def test_what_is_taken_away_ends_the_crawl(tmp_path, simweb, take_away, name):
    """When JOBDIR or a file that the crawl writes is gone, one line names it, and the crawl ends
    with status 1.
    """
    server = simweb(4, 80, latency=0.05)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    running = crawl.start()
    wait_until(lambda: server.log.count > 20)
    take_away(tmp_path / "job")
    status = running.wait()

    said = crawl.output.read_text()
    assert (status, re.findall(r"Spider closed \((\w+)\)", said)) == (1, ["store_failed"])
    assert len(re.findall(rf"CRITICAL: .*{re.escape(str(crawl.jobdir / name))}", said)) == 1
    assert "Traceback" not in said
    assert "everything is in" not in said
    has_state = (crawl.jobdir / "state/crawl.db").exists()
    assert (f"{crawl.jobdir} has everything up to the last checkpoint\n" in said) == has_state


def test_the_last_lines_of_a_crawl_that_got_nothing(tmp_path):
    """They do not say that everything is in the folder, and say why the seed gave nothing."""
    seed = f"127.0.0.1:{free_port()}"
    settings = {**SETTINGS, "HOST_RETRY_WAIT": 60, "OUTAGE_END_WAIT": 900}
    crawl = Crawl(tmp_path / "job", {"seeds": f"http://{seed}/"}, settings)

    running = crawl.start()
    wait_until(lambda: crawl.output.exists() and f"WARNING: {seed}: " in crawl.output.read_text())
    remove_log(crawl.jobdir)

    assert running.wait() == 1
    said = crawl.output.read_text()
    assert "everything is in" not in said
    assert f"{crawl.jobdir} has everything up to the last checkpoint\n" in said
    assert f"nothing was fetched: {seed}: connection refused" in said


def test_a_signal_and_a_last_checkpoint_that_fails(tmp_path, simweb):
    """If the last checkpoint fails, stats.json and the last lines say so, and not that a signal ended
    the run well.
    """
    server = simweb(4, 400, latency=0.05)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        **SETTINGS,
        "CHECKPOINT_INTERVAL": 600,
        "ITEM_PIPELINES": '{"tests.support.cli_components.Failing": 0}',
        "ERROR_BREAKER": "1000/1",
    }
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    running = crawl.start()
    wait_until(lambda: server.log.count > 20)
    remove_log(crawl.jobdir)
    running.interrupt()

    assert running.wait() == 1
    assert json.loads((crawl.jobdir / "stats.json").read_text())["reason"] == "store_failed"
    assert "pages since the last checkpoint will be fetched again" in crawl.output.read_text()
