"""Text files and index of whole crawls: killed by kill -9, stopped, searched while they run."""

import json
import random
import shutil

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.fulltext import indexed, written
from webcrawl.record.fulltext.text_files import text_file_name

FAST = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "CONCURRENT_REQUESTS": 8,
    "CHECKPOINT_INTERVAL": 0.2,
}


@pytest.fixture(name="made")
def _made(tmp_path, simweb):
    """A server, and a crawl of all of it with text and index."""
    server = simweb(8, 240, latency=0.02)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "OUTPUTS": "warc cdxj index",
        "CONTENT_SEEN": "process",
        **FAST,
    }
    return server, Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


def logged(jobdir):
    """The pages of crawl.log that show text, in their order."""
    lines = [line.split() for line in (jobdir / "logs/crawl.log").read_text().splitlines()]
    return [line[3] for line in lines if line[1] == "200" and line[6] == "text/html"]


def agrees(jobdir):
    """Whether log, text files and index have the same pages, each once, in the same order."""
    pages = logged(jobdir)
    assert len(set(pages)) == len(pages)
    assert [(line["ordinal"], line["url"]) for line in written(jobdir)] == list(enumerate(pages))
    assert indexed(jobdir) == list(enumerate(pages))
    return len(pages)


@pytest.mark.campaign
def test_after_kills(made):
    """After kill -9 at any moment the next runs end with each page in the text files and in the
    index exactly once.
    """
    server, crawl = made
    chance, requested = random.Random(7), 0
    for _ in range(4):
        running = crawl.start()
        requested = len(server.log.hits) + chance.randint(20, 60)
        wait_until(lambda most=requested: len(server.log.hits) >= most)
        running.kill()
    status = crawl.run()

    assert (status, crawl.stats["reason"]) == (0, "finished")
    assert agrees(crawl.jobdir) == 240
    records = [line["warc"] for line in written(crawl.jobdir)]
    for name, offset, length in ((one["file"], one["offset"], one["length"]) for one in records):
        data = (crawl.jobdir / "warc" / name).read_bytes()[offset : offset + length]
        assert data[:2] == b"\x1f\x8b"
    assert command("scrapy", "verify", crawl.jobdir).returncode == 0


@pytest.mark.campaign
def test_beside_a_running_crawl(made):
    """What a checkpoint has is found while the crawl goes on."""
    server, crawl = made
    running = crawl.start()
    wait_until(lambda: len(server.log.hits) > 60)
    wait_until(lambda: (crawl.jobdir / "index/meta.json").exists() and indexed(crawl.jobdir))
    done = command("scrapy", "search", crawl.jobdir, "*", "--json", "-n", "10000")
    running.interrupt()
    status = running.wait()

    assert (done.returncode, status) == (0, 0)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found
    assert all(one["title"] and one["snippet"] for one in found)
    assert len(found) <= agrees(crawl.jobdir)


@pytest.mark.campaign
def test_an_index_that_was_taken_away(made):
    """The crawl ends and says so; the next run makes the index again."""
    server, crawl = made
    running = crawl.start()
    wait_until(lambda: (crawl.jobdir / "index/meta.json").exists() and indexed(crawl.jobdir))
    (crawl.jobdir / "index").rename(crawl.jobdir / "elsewhere")

    assert running.wait() == 1
    assert f"{crawl.jobdir}/index: moved or removed while the crawl ran" in crawl.output.read_text()
    assert len(server.log.hits) < 248
    assert crawl.run() == 0
    assert agrees(crawl.jobdir) == 240


@pytest.mark.parametrize("damage", ["damaged", *in_campaign("text")])
def test_what_cannot_be_indexed(made, damage):
    """An index that cannot be read, or completed, ends the crawl with exit status 1 and one line."""
    _, crawl = made
    crawl.settings["OUTPUTS"] = "index"
    crawl.run(CLOSESPIDER_PAGECOUNT=30)
    if damage == "damaged":
        (crawl.jobdir / "index/meta.json").write_text("{")
        said = f"{crawl.jobdir}/index: Data corrupted"
    else:
        shutil.rmtree(crawl.jobdir / "index")
        (crawl.jobdir / text_file_name(0)).unlink()
        said = f"{crawl.jobdir}/{text_file_name(0)}: moved or removed before its pages were indexed"

    assert crawl.run() == 1
    assert crawl.output.read_text().count(said) == 1
    assert "Traceback" not in crawl.output.read_text()
