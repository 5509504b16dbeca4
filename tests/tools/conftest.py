"""A stopped crawl, and copies of it to be damaged; and one that was killed and finished where much
goes wrong.
"""

import shutil
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from tests.support.crawling import Crawl, wait_until
from tests.support.jobs import stopped
from tests.support.reports import Report, truth
from webcrawl.lab.simweb import World, running
from webcrawl.tools.report.report_page import report

KINDS = (
    "duplicate",
    "redirect_301",
    "status_404",
    "status_500",
    "closed",
    "png",
    "pdf",
    "text",
    "type_upper",
    "empty",
)
MIX = dict.fromkeys(KINDS, 0.05) | {"robots_disallow": 0.3, "https": 0.2}


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    """A stopped crawl, made without a network. Nobody may write there."""
    return stopped(tmp_path_factory.mktemp("stopped") / "job")


@pytest.fixture(name="copy")
def _copy(job, tmp_path):
    """A copy of it, to be damaged."""
    return shutil.copytree(job, tmp_path / "job")


@pytest.fixture(name="crawled", scope="session")
def _crawled(tmp_path_factory):
    """The crawl's folder, the report of its end, and what its log says. Nobody may write there."""
    folder = tmp_path_factory.mktemp("report")
    with ExitStack() as stack:
        world = World(40, 160, mix=MIX, size=(2000, 3000), port=0, tls_port=0, addresses=4)
        server = stack.enter_context(running(world, latency=0.0))
        seeds = [*world.seeds(), "http://nowhere.test/"]
        (folder / "seeds.txt").write_text("\n".join(seeds))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "CHECKPOINT_INTERVAL": 0.2,
            "RETRY_TIMES": 1,
            "RANDOM_SEED": 7,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        run = crawl.start()
        stats = folder / "job/stats.json"
        wait_until(lambda: stats.exists() and crawl.stats["statistics"]["documents"] > 10)
        run.kill()
        killed = report(folder / "job", {}, 0.0)
        assert crawl.run() == 0
    page = report(folder / "job", {"RANDOM_SEED": "0", "FRONTIER_LEVELS": "8"}, 0.0)
    return SimpleNamespace(
        root=folder / "job",
        stats=crawl.stats,
        page=Report(page),
        killed=Report(killed),
        truth=truth(folder / "job/logs/crawl.log"),
    )
