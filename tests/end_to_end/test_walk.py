"""`scrapy crawl walk`: random walks over the synthetic web, as their user starts them."""

from collections import defaultdict

import pytest

from tests.support.commands import command
from tests.support.crawling import POLITE, Crawl, wait_until
from tests.support.walks import lines
from webcrawl.lab.simweb import gaps, mercator, overlaps, robots_first, wait_until_idle

WALK = {"HOST_MAX_FAILURES": 2, "HOST_PATIENCE": 0, "CHECKPOINT_INTERVAL": 0.3}


def walk_of(tmp_path, server, **arguments):
    """A walk from the roots of all hosts."""
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **WALK}
    return Crawl(
        tmp_path / "job", {"seeds": tmp_path / "seeds.txt", **arguments}, settings, spider="walk"
    )


def visits(crawl):
    return lines([(crawl.jobdir / "logs/walk.log").read_bytes()])


def by_walker(found):
    steps = defaultdict(list)
    for line in found:
        steps[line.walker].append(line.step)
    return steps


class TestWalk:
    def test_it_walks_politely_until_its_visits_are_made(self, tmp_path, simweb):
        """Each walker goes step by step, hosts are requested politely and robots.txt first, pages
        repeatedly.
        """
        server = simweb(8, 60)
        crawl = walk_of(tmp_path, server, walkers=12, steps=150)

        assert crawl.run() == 0

        found = visits(crawl)
        assert len(found) == 150
        steps = by_walker(found)
        assert set(steps) == set(range(12))
        assert all(some == [*range(len(some))] for some in steps.values())
        assert len({line.url for line in found}) < 150
        wait_until_idle(server)
        hits = list(server.log.hits)
        assert [
            *overlaps(hits),
            *gaps(hits, mercator(server.world, **POLITE)),
            *robots_first(hits),
        ] == []
        assert not (crawl.jobdir / "warc").exists()
        assert command("scrapy", "verify", crawl.jobdir).returncode == 0

    def test_more_steps_go_on_where_it_ended(self, tmp_path, simweb):
        """The same command with a larger number of steps continues every walker's own steps."""
        crawl = walk_of(tmp_path, simweb(4, 20), walkers=5, steps=20)
        assert crawl.run() == 0
        crawl.arguments["steps"] = 50

        assert crawl.run() == 0

        found = visits(crawl)
        assert len(found) == 50
        assert all(some == [*range(len(some))] for some in by_walker(found).values())

    @pytest.mark.campaign
    def test_a_kill_loses_no_walker_and_logs_no_visit_twice(self, tmp_path, simweb):
        """After kill -9 the walk goes on from its last checkpoint, and each walker's steps are
        whole.
        """
        crawl = walk_of(tmp_path, simweb(6, 40), walkers=10, steps=250)
        for _ in range(2):
            running = crawl.start()
            length = (
                (crawl.jobdir / "logs/walk.log").stat().st_size
                if (crawl.jobdir / "logs").exists()
                else 0
            )
            wait_until(lambda before=length: _grown(crawl, before))
            running.kill()

        assert crawl.run() == 0

        found = visits(crawl)
        assert len(found) == 250
        steps = by_walker(found)
        assert set(steps) == set(range(10))
        assert all(some == [*range(len(some))] for some in steps.values())
        assert command("scrapy", "verify", crawl.jobdir).returncode == 0


def _grown(crawl, before):
    """Whether more has been logged, and a checkpoint taken."""
    log, stats = crawl.jobdir / "logs/walk.log", crawl.jobdir / "stats.json"
    return log.exists() and log.stat().st_size > before + 500 and stats.exists()


class TestWrongUses:
    @pytest.mark.parametrize(
        ("argument", "says"),
        [
            ("walkers=0", "-a walkers=0: must be a whole number from 1 to 10000"),
            (
                f"walkers={0:019}199999",
                f"-a walkers={0:019}199999: must be a whole number from 1 to 10000",
            ),
            ("restart=2", "-a restart=2: must be a number from 0 to 1, e.g. 0.15 or 1/7"),
            ("restart=1/0", "-a restart=1/0: must be a number from 0 to 1, e.g. 0.15 or 1/7"),
            ("restart=nan", "-a restart=nan: must be a number from 0 to 1, e.g. 0.15 or 1/7"),
            ("jump=up", "-a jump=up: must be seeds or hosts"),
            ("steps=none", "-a steps=none: must be a whole number from 1 to 1000000000000"),
            (
                "since=old",
                "-a since=old: is not possible with a walk, which fetches every page each time",
            ),
            ("follow=0", "-a follow=0: is not possible with a walk, which follows links"),
            ("limit=0", "-a limit=0: must be a whole number from 1"),
        ],
    )
    def test_an_impossible_argument_is_refused_in_a_line(self, tmp_path, argument, says):
        """The walk does not start, the status is 1, and the line names the argument and what is
        allowed.
        """
        done = command(
            "scrapy",
            "crawl",
            "walk",
            "-a",
            "seeds=http://a.test/",
            "-a",
            argument,
            "-s",
            _job(tmp_path),
        )

        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, says)

    def test_without_seeds_it_does_not_start(self, tmp_path):
        """A walk has to start somewhere."""
        done = command("scrapy", "crawl", "walk", "-s", _job(tmp_path))

        assert done.returncode == 1
        assert done.stderr.startswith("no seeds: ")

    @pytest.mark.parametrize(
        "setting",
        [
            *(
                "HIVE_DRONES=2",
                "REVISIT_POLICY=fixed",
                "REQUISITES=on",
                "SITEMAPS=on",
                "CONTENT_SEEN=skip",
            ),
            "FRONTIER_PRIORITIZER=webcrawl.frontier.prioritizers.links.ByOpic",
        ],
    )
    def test_a_setting_that_contradicts_a_walk_is_refused_in_a_line(self, tmp_path, setting):
        """The line names the setting, its value and what is allowed."""
        words = (
            "-a",
            "seeds=http://a.test/",
            "-s",
            setting,
            "-s",
            _job(tmp_path),
            "-s",
            "BOT_FROM=tests@a.test",
        )
        done = command("scrapy", "crawl", "walk", *words)

        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"{setting.partition('=')[0]} = ")
        assert line.endswith("(a random walk)")

    def test_another_walk_is_refused_in_the_same_folder(self, tmp_path, simweb):
        """How many walkers there are, and when and where they restart, belongs to a JOBDIR."""
        crawl = walk_of(tmp_path, simweb(2, 10), walkers=3, steps=5)
        assert crawl.run() == 0

        for changed in ({"walkers": 4}, {"restart": 0.5}, {"jump": "seeds"}):
            other = Crawl(
                crawl.jobdir, {**crawl.arguments, **changed}, crawl.settings, spider="walk"
            )
            assert other.run() == 1
            said = other.output.read_text()
            assert "this walk began with walkers=3 restart=0.142857 jump=hosts, but now has" in said
            assert said.endswith(": change that back, or use another JOBDIR\n")


def _job(tmp_path):
    return f"JOBDIR={tmp_path / 'job'}"
