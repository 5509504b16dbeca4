"""A crawl that an earlier webcrawl of the same state version has left is resumed."""

import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.earlier_state import site
from tests.support.commands import command
from tests.support.crawling import Crawl

HERE = Path(__file__).parent
FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.005}
ROBOTS = {url for url in site.urls() if url.endswith("/robots.txt")}


@pytest.mark.xdist_group("earlier-site")  # its addresses and port are in the archive
def test_the_crawl_goes_on(tmp_path):
    """A crawl that was killed halfway is finished: every page is there once, and `verify` finds no
    damage.
    """
    with tarfile.open(HERE / "version-5.tar.xz") as archive:
        # Python 3.11.2, of Debian 12, has no filters yet
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)  # noqa: S202 - it is our own
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in site.seeds()))
    job = tmp_path / "job"
    before = [line.split()[3] for line in (job / "logs/crawl.log").read_text().splitlines()]
    assert command("webcrawl", "verify", str(job)).returncode == 0

    with site.serving() as requested:
        settings = {
            "PORTS_ALLOWED": site.PORT,
            "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
            "OUTPUTS": "warc cdxj links text",
            **FAST,
        }
        here = {"SCRAPY_SETTINGS_MODULE": "webcrawl.settings"}
        crawl = Crawl(job, {"seeds": "seeds.txt"}, settings, project=tmp_path, environment=here)
        assert crawl.run() == 0, crawl.output.read_text()

    logged = Counter(line.split()[3] for line in (job / "logs/crawl.log").read_text().splitlines())
    assert set(logged) == site.urls()
    # kept for a day, which is over
    assert {url for url, times in logged.items() if times > 1} <= ROBOTS
    assert len(requested) == len(set(requested))
    assert set(requested).isdisjoint({*before[:50]} - ROBOTS)
    assert crawl.stats["reason"] == "finished"
    checked = command("webcrawl", "verify", str(job))
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, f"{job}: no damage found")
