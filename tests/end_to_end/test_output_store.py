"""OUTPUT_STORE in real crawls: finished, stopped, killed; the command that goes on; other programs
on such a JOBDIR.
"""

import os
import signal
import time
from collections import Counter
from random import Random

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.warc_reader import read
from webcrawl.tools.verify_crawl import verify

FAST = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "CONCURRENT_REQUESTS": 8,
    "CHECKPOINT_INTERVAL": 0.2,
}


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    (tmp_path / "store").mkdir()
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "OUTPUTS": "warc cdxj tables",
        "WARC_MAX_SIZE": 1,
        "OUTPUT_STORE": f"file://{tmp_path}/store/one",
        "OUTPUT_STORE_KEEP": False,
        **FAST,
        **settings,
    }
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


def names(folder):
    """Of the files that go to a store."""
    paths = [
        *folder.glob("warc/*.gz"),
        *folder.glob("warc/*.cdxj"),
        *folder.glob("tables/*.parquet"),
    ]
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def store(*words):
    done = command("scrapy", "export", "store", *words)
    return done.returncode, done.stdout + done.stderr


def responses(folder):
    paths = sorted(folder.glob("warc/*.warc.gz"))
    kinds = ("response", "revisit")
    return Counter(
        one.fields["WARC-Target-URI"] for path in paths for one in read(path) if one.kind in kinds
    )


@pytest.fixture(name="crawl")
def _crawl(tmp_path, simweb):
    return crawl_of(tmp_path, simweb(6, 60))


class TestFinished:
    def test_everything_is_in_the_store(self, crawl, tmp_path):
        """At the end nothing that was finished is left here, and every program says where it is."""
        target = tmp_path / "store/one"
        target.mkdir()
        assert crawl.run() == 0

        assert names(crawl.jobdir) == []
        kinds = Counter(name.rpartition(".")[2] for name in names(target))
        assert (kinds["gz"], kinds["parquet"]) == (kinds["cdxj"], 3)
        assert crawl.stats["store/files"] == len(names(target))
        assert crawl.stats["store/waiting"] == 0
        assert f"{len(names(target))} files in the store" in crawl.output.read_text()
        found = Counter()
        assert list(verify(crawl.jobdir, found)) == []
        assert found[f"in store file://{target}"] == len(names(target))
        assert list(responses(target).values()) == [1] * len(responses(target))
        said = {
            words[-1]: command("scrapy", *words, crawl.jobdir)
            for words in (("verify",), ("export", "wacz"), ("process",))
        }
        assert (said["verify"].returncode, said["wacz"].returncode, said["process"].returncode) == (
            0,
            1,
            1,
        )
        assert f"in file://{target}, not checked" in said["verify"].stdout
        assert "are in the store" in said["wacz"].stderr
        assert "in the store, which is not read" in said["process"].stderr
        assert (
            "except for 1 index file in the store"
            in command("scrapy", "why", crawl.jobdir, next(iter(responses(target)))).stdout
        )

    def test_files_of_others_stay_theirs(self, crawl, tmp_path):
        """A name that is taken in the store: the crawl ends with exit status 1, and its own file is
        here.
        """
        taken = tmp_path / "store/one/tables/pages-00000.parquet"
        taken.parent.mkdir(parents=True)
        taken.write_bytes(b"another's")

        assert crawl.run() == 1
        assert taken.read_bytes() == b"another's"
        assert names(crawl.jobdir) == ["tables/pages-00000.parquet"]
        assert "was not replaced" in crawl.output.read_text()
        assert list(verify(crawl.jobdir, Counter())) == []
        (crawl.jobdir / "tables/pages-00000.parquet").unlink()
        assert [
            "neither here nor in" in str(damage) for damage in verify(crawl.jobdir, Counter())
        ] == [True]


class TestStopped:
    @pytest.mark.campaign
    def test_the_command_goes_on(self, tmp_path, simweb):
        """Ctrl-C while the store is away: exit status 0 in seconds, what is left is said, and one
        command does it.
        """
        crawl = crawl_of(tmp_path, server := simweb(6, 60, latency=0.05))
        running = crawl.start()
        wait_until(lambda: len(server.log.hits) > 30)
        os.kill(running.process.pid, signal.SIGINT)
        assert running.wait() == 0

        assert "no such folder; create it first" in crawl.output.read_text()
        line = f"not sent or verified yet: run `scrapy export store {crawl.jobdir}`"
        assert line in crawl.output.read_text()
        here = names(crawl.jobdir)
        (tmp_path / "store/one").mkdir()
        assert store(crawl.jobdir, "-s", "OUTPUT_STORE_KEEP=0")[0] == 0
        assert (names(tmp_path / "store/one"), names(crawl.jobdir)) == (here, [])
        assert list(verify(crawl.jobdir, Counter())) == []

    def test_ctrl_c_while_it_waits(self, tmp_path, simweb):
        """A crawl that has finished waits for a store that is away; Ctrl-C makes it no success:
        exit status 1.
        """
        crawl = crawl_of(tmp_path, simweb(2, 4), LOG_LEVEL="INFO")
        running = crawl.start()
        wait_until(lambda: crawl.output.exists() and "on the way" in crawl.output.read_text())
        os.kill(running.process.pid, signal.SIGINT)

        assert running.wait() == 1
        assert crawl.stats["reason"] == "finished"
        assert "or start the crawl again" in crawl.output.read_text()


class TestKilled:
    @pytest.mark.campaign
    def test_kill_9_loses_and_doubles_nothing(self, tmp_path, simweb):
        """Whenever it is killed: what is finished is here or in the store, whole, and nothing is
        there twice.
        """
        crawl = crawl_of(tmp_path, server := simweb(10, 1000))
        target, chance, done = tmp_path / "store/one", Random(4), 0
        target.mkdir()
        for _ in range(4):
            running = crawl.start()
            done += chance.randint(120, 220)
            wait_until(lambda: len(server.log.hits) >= done or not running.process.is_alive())  # noqa: B023
            time.sleep(chance.uniform(0, 0.4))
            running.kill()
            assert list(verify(crawl.jobdir, Counter())) == []
        assert crawl.run() == 0

        assert names(crawl.jobdir) == []
        assert list(verify(crawl.jobdir, Counter())) == []
        lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
        logged = Counter(line.split()[3] for line in lines if int(line.split()[1]) > 0)
        assert responses(target) == logged
        assert len(list(target.glob("warc/*.warc.gz"))) > 4
        assert len(list(target.glob("tables/hosts-*"))) == 1
