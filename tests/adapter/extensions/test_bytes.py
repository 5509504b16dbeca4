"""Limits of bytes: BANDWIDTH_MAX and CLOSESPIDER_BYTES."""

import time

import pytest

from tests.support.commanding import Console
from tests.support.crawling import QUICK, Crawl, wait_until
from webcrawl.crawl.checks import SettingError, check

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.01, "CHECKPOINT_INTERVAL": 0.5}


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **FAST, **settings}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


class TestTotal:
    @pytest.mark.campaign
    def test_ends_and_goes_on(self, tmp_path, simweb):
        """The crawl ends cleanly, over all its runs; with a larger number, or none, the same
        command resumes it.
        """
        crawl = crawl_of(tmp_path, simweb(10, 300), CONCURRENT_REQUESTS=4)
        said = []
        for most in ("500 kB", "500kB", "1MB", "none"):
            assert crawl.run(CLOSESPIDER_BYTES=most) == 0
            said.append((crawl.stats["reason"], crawl.stats["pages"]))
        reasons, pages = zip(*said, strict=True)

        assert reasons == (
            "closespider_bytes",
            "closespider_bytes",
            "closespider_bytes",
            "finished",
        )
        assert 0 < pages[0] == pages[1] < pages[2] < pages[3] == 300

    def test_the_line(self, tmp_path, simweb):
        """The log says what was reached, and what to do."""
        crawl = crawl_of(tmp_path, simweb(3, 100), CLOSESPIDER_BYTES=100_000)

        assert crawl.run() == 0
        assert "CLOSESPIDER_BYTES = 100000: " in crawl.output.read_text()
        assert crawl.stats["bytes"] >= 100_000

    def test_without(self):
        """0 and none are no limit."""
        assert [
            check({"CLOSESPIDER_BYTES": value})["CLOSESPIDER_BYTES"]
            for value in (0, None, "none", "0")
        ] == [0] * 4


class TestRate:
    def test_slows_a_crawl(self, tmp_path, simweb):
        """A crawl brings little more than it may, nobody is charged for it, and Ctrl-C ends it as
        ever.
        """
        crawl = crawl_of(
            tmp_path, simweb(10, 2000), **QUICK, BANDWIDTH_MAX="200kB", CLOSESPIDER_TIMEOUT=4
        )

        assert crawl.run() == 0
        assert crawl.stats["failures"] == 0, (crawl.stats, crawl.output.read_text())
        assert 0 < crawl.stats["bytes"] < 200_000 * (crawl.stats["seconds"] + 1.5)

    def test_changes_while_it_runs(self, tmp_path, simweb):
        """Whoever takes the limit away sets the crawl free at once."""
        crawl = crawl_of(tmp_path, simweb(10, 300), BANDWIDTH_MAX=10_000)
        console = Console(crawl.jobdir)
        begun = time.monotonic()
        running = crawl.start()
        wait_until((tmp_path / "job/stats.json").exists)
        console.ask("set", "BANDWIDTH_MAX", "1 GB")
        console.ask("set", "CLOSESPIDER_BYTES", "100GB")

        assert running.wait() == 0
        assert crawl.stats["reason"] == "finished"
        assert crawl.stats["bytes"] > 20_000 * (time.monotonic() - begun)


class TestSizes:
    @pytest.mark.parametrize(
        ("value", "size"),
        [
            *(
                ("10000", 10_000),
                (20_000, 20_000),
                ("10 kB", 10_000),
                ("10KB", 10_000),
                ("1.5 MB", 1_500_000),
            ),
            *(
                ("2MiB", 2 << 20),
                ("1GB/s", 10**9),
                ("64KiB", 65_536),
                ("30000 B", 30_000),
                (" 1 TB ", 10**12),
            ),
            *((1e6, 1_000_000), ("1e6", 1_000_000)),
        ],
    )
    def test_units(self, value, size):
        """A size is a number of bytes, or has a unit."""
        assert check({"BANDWIDTH_MAX": value})["BANDWIDTH_MAX"] == size

    @pytest.mark.parametrize(
        "value",
        [
            "1",
            9999,
            -1,
            "10 Mb",
            "10 Mbit/s",
            "10 mb",
            "fast",
            "1.5",
            "kB",
            "1,5 MB",
            "nan",
            "2 TB",
            True,
            [1],
        ],
    )
    def test_others(self, value):
        """Anything else is refused, 1 byte per second and bits among them."""
        with pytest.raises(
            SettingError,
            match=r"must be a number of bytes from 10000 to 1000000000000, also as 500 kB",
        ):
            check({"BANDWIDTH_MAX": value})
