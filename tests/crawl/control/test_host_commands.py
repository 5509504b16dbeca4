"""Commands on single hosts, at a crawl with a clock of its own."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.support.steered import steered
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.control import in_force
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS, refuse_host_elsewhere
from webcrawl.tools.supervisor.hive_client import is_order

BUDGET = {"DOMAIN_BUDGET": "webcrawl.frontier.allowances.unlimited.Unlimited"}


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    with steered(tmp_path, **BUDGET) as crawl:
        yield crawl


def answered(crawl, link, status, body):
    """Books the answer to a robots.txt."""
    parts = crawl.crawl.parts
    parts.robots_answers.record_answer(link, status, body, None, parts.clock())


@pytest.mark.parametrize("line", ["host a.org", "host a.org retry", "queue a.org", "robots a.org"])
def test_a_host_of_another_drone(crawl, monkeypatch, line):
    """The drone that has it is named. A lasting command is carried out if it is for all drones, and
    refused if it is for this one.
    """
    post = SimpleNamespace(drone=SimpleNamespace(me=0, owner={"http://a.org/": 1}.get))
    monkeypatch.setattr(crawl.crawl, "parts", replace(crawl.crawl.parts, drone_parts=post))

    with pytest.raises(CommandError, match=r"^a\.org: belongs to drone 1 of this hive; give the"):
        crawl.order(line)
    assert crawl.order("host a.org pause").startswith("a.org is paused")
    with pytest.raises(CommandError, match=r"^a\.org: belongs to drone 1 of this hive; give the"):
        refuse_host_elsewhere(crawl, "host", "a.org", "pause")


class TestPause:
    def test_and_resume(self, crawl):
        """A paused host is not asked, others are; resumed it goes on where it was."""
        crawl.add("a.org", 5)
        crawl.add("b.org", 3)
        crawl.run(0.5)
        assert crawl.order("host A.ORG pause").startswith("a.org is paused: its URLs stay")

        assert {host for host, _ in crawl.run(100)} == {"b.org"}
        assert crawl.order("host a.org pause") == "a.org is paused already"
        assert crawl.order("host a.org resume") == "a.org is no longer paused"
        assert [host for host, _ in crawl.run(100)] == ["a.org"] * 4
        assert crawl.order("host a.org resume") == "a.org is not paused"

    def test_after_a_restart(self, crawl):
        """It is paused in the next run too, whatever has happened; status says so."""
        crawl.add("a.org", 5)
        crawl.run(0.5)
        crawl.order("host a.org pause")
        crawl.again()

        assert crawl.run(1000) == []
        assert [*crawl.hosts.order_lines()] == ["host a.org pause"]
        crawl.order("host a.org resume")
        crawl.again()
        assert len(crawl.run(1000)) == 4
        assert [*crawl.hosts.order_lines()] == []

    def test_the_end_of_a_crawl(self, crawl):
        """With nothing but paused hosts left a crawl ends as with hosts that do not answer."""
        crawl.add("a.org", 3)
        crawl.run(0.5)
        crawl.order("host a.org pause")
        assert crawl.crawl.pending
        crawl.run(29)
        assert crawl.crawl.pending
        crawl.run(2)

        assert not crawl.crawl.pending
        assert crawl.crawl.stats()["deferred"] == 2

    def test_so_many(self, crawl, monkeypatch):
        """There is a limit, which is said; what is excluded instead takes no place."""
        monkeypatch.setattr(in_force, "MOST_HOSTS", 2)
        crawl.order("host a.org pause")
        crawl.order("host b.org pause")

        with pytest.raises(
            CommandError, match="2 hosts are paused already, which is the maximum: resume one"
        ):
            crawl.order("host c.org pause")
        assert crawl.order("host a.org resume")
        assert crawl.order("host c.org pause")


class TestRetry:
    def test_a_deferred_host(self, crawl):
        """It is asked at once; failing once more it waits on as before."""
        crawl.ends["a.org"] = Status.CONNECT_FAILED
        crawl.add("a.org", 3)
        crawl.run(3000)
        before = crawl.order("host a.org")
        assert (before["state"], before["health"], before["failures"]) == (
            "deferred",
            "deferred",
            6,
        )
        assert before["next_turn_in"] > 100

        assert crawl.order("host a.org retry") == "a.org may be fetched from again now"
        assert [at for _, at in crawl.run(0.1)] == [3000.0]
        assert crawl.order("host a.org")["next_turn_in"] > 3000
        crawl.ends.clear()
        crawl.order("host a.org retry")
        assert len(crawl.run(10)) == 3

    def test_robots_that_is_unreachable(self, tmp_path):
        """A robots.txt that waits for its next try is fetched again with it."""
        with steered(tmp_path, **BUDGET, ROBOTSTXT_OBEY=True) as crawl:
            crawl.add("a.org", 1)
            link = crawl.crawl.next_link(crawl.crawl.parts.clock())
            assert link.url == "http://a.org/robots.txt"
            for _ in range(8):
                answered(crawl, link, Status.CONNECT_FAILED, b"")
            assert crawl.order("host a.org")["robots"]["http://a.org"].startswith(
                "unreachable, tried 8 times"
            )
            assert crawl.order("robots a.org")["state"].endswith("next try in 7680 s")
            crawl.order("host a.org retry")

            assert crawl.order("robots a.org")["state"].endswith("next try in 0 s")

    def test_paused(self, crawl):
        """A paused host has to be resumed first."""
        crawl.order("host a.org pause")
        with pytest.raises(CommandError, match=r"a\.org is paused: resume it first"):
            crawl.order("host a.org retry")

    def test_while_the_crawl_is_paused(self, crawl):
        """Nothing is fetched before the crawl is resumed, and the answer says so."""
        crawl.add("a.org", 3)
        crawl.run(0.1)
        crawl.crawl.pause()

        assert crawl.order("host a.org retry") == (
            "a.org may be fetched from again when the crawl is resumed"
        )

    def test_nothing_to_ask_for(self, crawl):
        """A host without URLs is said to have none."""
        assert "has no URLs in its queue" in crawl.order("host a.org retry")


class TestBlockPages:
    def test_it_is_said_and_retried(self, crawl):
        """Its vendor, its answers, and for how long; a retry asks as soon as politeness allows."""
        crawl.add("a.org", 3)
        frontier = crawl.crawl.parts.frontier
        link = crawl.crawl.next_link(crawl.crawl.parts.clock())
        frontier.done(link, Outcome(200, 0.1, blocked_by="anubis"), crawl.crawl.parts.clock())
        crawl.seconds += 20

        found = crawl.order("host a.org")
        assert found["health"] == "blocked"
        assert found["block_pages"] == {"vendor": "anubis", "answers": 1, "ago": 20.0}
        assert crawl.order("host a.org retry") == "a.org may be fetched from again in 1.0 s"
        assert crawl.run(30)[0] == ("a.org", 21.0)


class TestDrop:
    def test_each_url_is_in_the_log(self, crawl):
        """Every URL ends with -5002 in the crawl log, what is found later too, and others go on."""
        crawl.add("a.org", 700)
        crawl.add("b.org", 2)
        crawl.run(0.5)
        assert crawl.order("host a.org drop").startswith("a.org is given up: ")
        crawl.run(10)
        crawl.add("a.org", 1, 700)
        crawl.run(10)

        ended = [url for status, url in crawl.log() if status == Status.DROPPED]
        assert (len(ended), len(set(ended))) == (700, 700)
        assert len(crawl.crawl.parts.frontier) == 0
        assert crawl.order("host a.org")["state"] == "given up"
        assert crawl.order("host a.org")["ends_with"] == "-5002 dropped"

    def test_while_the_crawl_is_paused(self, crawl):
        """Its URLs end when that is resumed, and the answer says so."""
        crawl.add("a.org", 3)
        crawl.run(0.1)
        crawl.crawl.pause()
        said = crawl.order("host a.org drop")
        crawl.run(10)
        waiting = len(crawl.crawl.parts.frontier)
        crawl.crawl.resume()
        crawl.run(10)

        assert said.endswith(
            "in its queue end when the crawl is resumed, and URLs found there within a day end too"
        )
        assert (waiting > 0, len(crawl.crawl.parts.frontier)) == (True, 0)

    def test_while_there_is_no_network(self, crawl):
        """The answer says for what its URLs wait."""
        crawl.add("a.org", 3)
        crawl.crawl.parts.uplink._detector.out = True

        assert "in its queue end when fetching resumes (no network), and" in crawl.order(
            "host a.org drop"
        )

    def test_taken_back(self, crawl):
        """`retry` takes it back for what is found from then on; after a restart it is still
        dropped.
        """
        crawl.order("host a.org drop")
        crawl.again()
        crawl.add("a.org", 1)
        assert crawl.run(10) == []
        crawl.order("host a.org retry")
        crawl.add("a.org", 1, 1)

        assert [host for host, _ in crawl.run(10)] == ["a.org"]


class TestDelay:
    def test_of_one_host(self, crawl):
        """It is asked so seldom from its next request on, in the next run too, until that is taken
        back.
        """
        crawl.add("a.org", 20)
        crawl.add("b.a.org", 3)
        assert crawl.order("host a.org delay 30").startswith("a.org gets a request every 30 s")
        crawl.run(100)
        times = [at for host, at, _ in crawl.requested if host == "a.org"]
        assert [round(late - early) for early, late in pairwise(times)] == [30, 30, 30]
        assert len([host for host, *_ in crawl.requested if host == "b.a.org"]) == 3
        assert crawl.order("host a.org")["delay"] == {
            "seconds": 30.0,
            "source": "Mercator, with settings for this host or its domain",
            "crawl_delay": 0.0,
        }
        crawl.again()
        assert [*crawl.hosts.order_lines()] == ["host a.org delay 30.0"]
        assert len(crawl.run(60)) == 2
        assert crawl.order("host a.org delay default") == "a.org no longer has a delay of its own"
        assert len(crawl.run(40)) > 8

    def test_with_several_connections(self, tmp_path):
        """Each connection waits by itself, and the answer says how many requests may come."""
        with steered(tmp_path, **BUDGET, HOST_CONNECTIONS={"a.org": 3}) as crawl:
            answer = crawl.order("host a.org delay 30")
            assert answer.startswith("a.org gets up to 3 requests every 30 s")

    def test_robots_goes_before(self, crawl):
        """A Crawl-delay that is longer stays in force."""
        crawl.order("host a.org delay 2")
        crawl.crawl.parts.frontier.crawl_delay("a.org", 20.0)
        crawl.add("a.org", 3)

        assert [round(at) for _, at in crawl.run(100)] == [0, 20, 40]
        assert crawl.order("host a.org")["delay"]["source"] == "Crawl-delay of robots.txt"


class TestLooks:
    def test_a_host(self, crawl):
        """The record says where the host is, what it waits for, and what it gave."""
        crawl.add("a.org", 3)
        crawl.run(0.5)
        found = crawl.order("host a.org")

        assert (found["host"], found["known"], found["record"]) == ("a.org", True, "in use")
        assert (found["state"], found["queued"], found["pages"]) == ("waits for its turn", 2, 1)
        assert found["next_turn_in"] == pytest.approx(0.5, abs=0.2)
        assert (found["budget"]["domain"], found["budget"]["budget"]) == ("a.org", None)

    def test_one_that_nobody_knows(self, crawl):
        """Nothing is known, and nothing is made of it."""
        found = crawl.order("host nowhere.org")
        assert (found["known"], found["state"], found["queued"]) == (False, "nothing queued", 0)
        crawl.again()
        assert not crawl.order("host nowhere.org")["known"]

    @pytest.mark.parametrize(
        ("word", "name"),
        [
            ("Example.ORG", "example.org"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("example.org:8080", "example.org"),
            ("http://example.org:8080/a?b", "example.org"),
            ("::1", "[::1]"),
            ("[::1]:80", "[::1]"),
            ("127.1", "127.0.0.1"),
        ],
    )
    def test_a_host_is_known_however_it_is_written(self, crawl, word, name):
        """However a host is written, it is the one that the crawl knows."""
        assert crawl.order(f"host {word}")["host"] == name

    @pytest.mark.parametrize(
        "word", ["a/b", "a.org?", "user@a.org", "a%2f", "http://", "mailto:a@b.org", "a..b:x"]
    )
    def test_no_names(self, crawl, word):
        """What is neither a host nor a URL is refused in a line."""
        with pytest.raises(CommandError, match="is neither a host nor a URL"):
            crawl.order(f"host {word}")

    @pytest.mark.parametrize(
        "line", ["host * pause", "host *.a.org drop", "set --for *.a.org HOST_MAX_PAGES 5"]
    )
    def test_patterns(self, crawl, line):
        """What means many hosts is refused: nobody shall think that they obey."""
        with pytest.raises(CommandError, match="is not a wildcard here"):
            crawl.order(line)
        assert [*crawl.hosts.order_lines()] == []

    def test_its_queue(self, crawl):
        """The next URLs in their order; those that wait for a time of their own say how long."""
        crawl.ends["a.org"] = 500
        crawl.add("a.org", 30)
        crawl.run(0.5)
        found = crawl.order("queue a.org -n 3")

        assert [row["url"] for row in found["urls"]] == [
            f"http://a.org/{number}" for number in (1, 2, 3)
        ]
        last = crawl.order("queue a.org -n 1000")["urls"][-1]
        assert (last["url"], last["attempt"], last["waits"] > 50) == ("http://a.org/0", 2, True)
        assert (found["queued"], crawl.order("host a.org")["queued"]) == (30, 30)

    @pytest.mark.parametrize("by", ["queue", "delay"])
    def test_the_first_hosts(self, crawl, by):
        """The first hosts by the length of their queues, or by the wait between two requests."""
        for number, host in enumerate(("a.org", "b.org", "c.org"), start=2):
            crawl.add(host, number * 5)
            crawl.order(f"host {host} delay {number}")
        crawl.run(0.5)
        found = crawl.order(f"hosts --by {by} -n 2")

        assert [row["host"] for row in found["hosts"]] == ["c.org", "b.org"]
        assert "hosts in memory" in found["covers"]

    @pytest.mark.parametrize(("by", "first"), [("errors", "bad.org"), ("bytes", "large.org")])
    def test_the_heaviest_hosts(self, crawl, by, first):
        """What statistics keep of hosts."""
        for host, row in {
            "bad.org": (1, 10, 7, 0, 0, 0, 0),
            "large.org": (1, 1000, 1, 0, 0, 0, 0),
        }.items():
            crawl.crawl.parts.statistics.hosts.row_of(host)[:] = row

        assert crawl.order(f"hosts --by={by}")["hosts"][0]["host"] == first

    def test_a_host_that_fails(self, crawl):
        """It is among those with errors, though none of its URLs has ended yet."""
        crawl.ends["a.org"] = Status.CONNECT_FAILED
        crawl.add("a.org", 30)
        crawl.run(0.5)

        (row,) = crawl.order("hosts --by errors")["hosts"]
        assert (row["host"], row["errors"] > 0, row["documents"]) == ("a.org", True, 0)
        # Of a deferred host the next run has no more than a row on disk.
        crawl.run(3000)
        crawl.again()
        found = crawl.order("hosts --by errors")
        assert (found["hosts"], found["covers"]) == (
            [],
            "all hosts; failures of URLs that will be retried, of hosts in memory only",
        )

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("hosts --by size", "--by size: must be one of queue, errors, bytes, delay"),
            ("hosts -n 0", "-n 0: must be a whole number from 1 to 1000"),
            ("hosts -n 1e9", "-n 1e9: must be"),
            ("hosts --all", "--all: unknown option; the options are --by VALUE, -n VALUE"),
            ("queue a.org -n", "-n: unknown option; the options are -n VALUE"),
            (
                "host a.org jump",
                (
                    "jump: not a command for a host; the commands are pause, resume, "
                    "retry, drop, delay"
                ),
            ),
            ("host a.org delay", "usage: host NAME delay SECONDS, or default"),
            ("host a.org delay -1", "delay -1: must be a number from 0 to 86400"),
            ("host a.org delay nan", "delay nan: must be a number from 0 to 86400"),
            ("host a.org pause now", "usage: host NAME pause"),
            ("errors 5", "5: unknown option; the options are -n VALUE"),
        ],
    )
    def test_other_words_are_refused_in_a_line(self, crawl, line, why):
        """Other words are refused in a line."""
        with pytest.raises(CommandError) as error:
            crawl.order(line)
        assert str(error.value).startswith(why)


class TestRobots:
    def test_rules(self, tmp_path):
        """Whose rules are in force, and for a URL the one that decides."""
        body = b"User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.pdf$\nCrawl-delay: 3\n"
        with steered(tmp_path, **BUDGET, ROBOTSTXT_OBEY=True) as crawl:
            assert crawl.order("robots a.org") == {
                "robots": "http://a.org/robots.txt",
                "state": "not fetched yet",
            }
            assert crawl.order("robots http://a.org/a")["verdict"] == "robots.txt is fetched first"
            crawl.add("a.org", 1)
            link = crawl.crawl.next_link(crawl.crawl.parts.clock())
            answered(crawl, link, 200, body)
            crawl.seconds += 60

            found = crawl.order("robots a.org")
            assert found["rules"] == ["Allow: /a/b", "Disallow: /a", "Disallow: /*.pdf$"]
            assert (found["crawl_delay"], found["fetched_ago"]) == (3.0, 60)
            verdicts = {}
            for path in ("/a", "/a/b/c", "/x.pdf", "/x", "/robots.txt"):
                said = crawl.order(f"robots http://a.org{path}")
                verdicts[path] = (said["verdict"], said.get("rule"))
            assert verdicts == {
                "/a": ("forbidden", "Disallow: /a"),
                "/a/b/c": ("allowed", "Allow: /a/b"),
                "/x.pdf": ("forbidden", "Disallow: /*.pdf$"),
                "/x": ("allowed", "none matches"),
                "/robots.txt": ("allowed", "none matches"),
            }
            assert crawl.order("robots https://a.org/x")["state"] == "not fetched yet"
            assert "others" not in crawl.order("robots a.org")
            crawl.crawl.parts.frontier.add([Link("http://b.org:8080/x").pack()])
            answered(crawl, crawl.crawl.next_link(crawl.crawl.parts.clock()), 200, body)
            assert crawl.order("robots b.org")["robots"] == "http://b.org:8080/robots.txt"
            assert crawl.order("robots a.org:8080")["robots"] == "http://a.org:8080/robots.txt"
            assert "no robots.txt" in crawl.order("robots gopher://a.org/x")["why"]

    def test_while_it_is_not_obeyed(self, tmp_path):
        """A run without ROBOTSTXT_OBEY is not said to obey the rules that an earlier one has read."""
        with steered(tmp_path, **BUDGET, ROBOTSTXT_OBEY=True) as crawl:
            crawl.add("a.org", 2)
            link = crawl.crawl.next_link(crawl.crawl.parts.clock())
            answered(crawl, link, 200, b"User-agent: *\nDisallow: /\n")
            crawl.again(ROBOTSTXT_OBEY=False)

            said = crawl.order("robots http://a.org/0")
            assert (said["verdict"], "ROBOTSTXT_OBEY" in said["why"]) == ("allowed", True)
            assert crawl.order("host a.org")["robots"] == {}
            crawl.run(100)
            assert "http://a.org/0" in {url for _, _, url in crawl.requested}


def test_what_changes_nothing_is_not_kept():
    """Only what lasts is waited for until a checkpoint has it."""
    host = COMMANDS["host"]

    assert [host.lasts("a", verb) for verb in ("pause", "resume", "drop")] == [True] * 3
    assert host.lasts("a", "delay", "5")
    assert not host.lasts("a")
    assert not host.lasts("a", "retry")


@pytest.mark.parametrize(
    ("words", "all_of_them"),
    [
        (["host", "a.org"], False),
        (["host", "a.org", "retry"], False),
        (["host", "a.org", "pause"], True),
        (["host", "a.org", "delay", "5"], True),
        (["host", "a.org", "drop"], True),
        (["host"], False),
        (["hosts"], False),
        (["queue", "a.org"], False),
        (["set", "--for", "a.org", "HOST_MAX_PAGES", "5"], True),
        (["get", "--for", "a.org"], False),
    ],
)
def test_of_a_hive(words, all_of_them):
    """What lasts goes to all drones of a hive, for a host may change hands; all else to the drone
    that has it.
    """
    assert is_order(*words) is all_of_them
