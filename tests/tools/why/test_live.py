"""`scrapy why` beside a crawl that runs: found, fetched since its last checkpoint, or in flight."""

import json
import socket
from types import SimpleNamespace

import pytest

from tests.support.commanding import Console
from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import obey
from webcrawl.tools.why.answer import OpenedCrawls, why

SLOW = 3600  # seconds until the next checkpoint: there is none but the first


def crawl_of(root, server, **settings):
    (root / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    own = {"DNS_NAMESERVERS": server.nameserver, "CHECKPOINT_INTERVAL": SLOW, **settings}
    return Crawl(root / "job", {"seeds": root / "seeds.txt"}, own)


def logged(job):
    path = job / "logs/crawl.log"
    return [line.split()[3] for line in path.read_text().splitlines()] if path.exists() else []


class TestRunning:
    def test_since_the_last_checkpoint(self, simweb, tmp_path):
        """Fetched, in flight, found: each is known of a crawl that has not taken a checkpoint since
        it began.
        """
        server = simweb(2, 200, latency=0.3)
        job = tmp_path / "job"
        running = crawl_of(tmp_path, server, OUTPUTS="warc,cdxj,links").start()
        wait_until(lambda: len(logged(job)) > 6)
        done = next(url for url in logged(job) if not url.endswith("/robots.txt"))
        fetched = why(job, done)

        kinds = set()

        def both():
            with OpenedCrawls(job) as crawls:
                kinds.update(answer.kind for answer in crawls.answers(found(job)))
            return {"in flight", "on its way"} <= kinds

        wait_until(both)
        assert (fetched.state, fetched.details["live"]["known"]) == ("fetched", True)
        assert fetched.details["archive"][0]["status"] == 200
        Console(job)("stop")
        assert running.wait() == 0

    def test_a_seed_before_the_first_checkpoint(self, tmp_path):
        """A seed whose host does not answer is known, and waits."""
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
            crawl = Crawl(
                tmp_path / "job",
                {"seeds": url},
                {"CHECKPOINT_INTERVAL": SLOW, "HOST_RETRY_WAIT": SLOW},
            )
            running = crawl.start(HOST_PATIENCE=10 * SLOW, OUTAGE_END_WAIT=SLOW)
            wait_until(
                lambda: (
                    crawl.output.exists()
                    and "no server is listening there" in crawl.output.read_text()
                )
            )
            found = why(crawl.jobdir, url)
            Console(crawl.jobdir)("stop")
            running.wait()

        assert (found.state, found.reason) == (
            "seen",
            "it was discovered since the last checkpoint, and waits for its turn",
        )

    def test_what_waited_at_the_last_checkpoint_and_ended_since(self, simweb, tmp_path):
        """It is what the log says, and waits no longer: fetched, or refused by a rule."""
        server = simweb(2, 200, latency=0.05)
        job = tmp_path / "job"
        running = crawl_of(tmp_path, server).start()
        wait_until(lambda: len(logged(job)) > 6)
        Console(job)("checkpoint")
        before = len(logged(job))
        wait_until(lambda: len(logged(job)) > before + 6)
        Console(job)("exclude site1.test")
        wait_until(lambda: " -5001 " in (job / "logs/crawl.log").read_text())

        ended = logged(job)[before:]
        with OpenedCrawls(job) as crawls:
            answers = [*crawls.answers(ended)]
        assert {answer.state for answer in answers} == {"fetched", "refused"}
        assert all(answer.details["queue"] is None and answer.details["log"] for answer in answers)
        reasons = {
            answer.reason.partition(", at ")[0] for answer in answers if answer.state == "refused"
        }
        assert reasons == {"it was excluded while it waited"}
        Console(job)("stop")
        assert running.wait() == 0

    def test_by_ctl(self, simweb, tmp_path):
        """`scrapy ctl JOBDIR why URL` is the same answer; of a crawl that does not run it is
        refused with 2.
        """
        server = simweb(1, 600, latency=0.05)
        job = tmp_path / "job"
        running = crawl_of(tmp_path, server).start()
        wait_until(lambda: len(logged(job)) > 2)
        url = next(url for url in logged(job) if not url.endswith("/robots.txt"))

        done = command("scrapy", "ctl", job, "why", url)
        as_json = command("scrapy", "ctl", job, "why", url, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("fetched: answered 200")
        assert json.loads(as_json.stdout)["state"] == "fetched"
        assert command("scrapy", "ctl", job, "why").returncode == 1
        running.kill()
        gone = command("scrapy", "ctl", job, "why", url)
        assert (gone.returncode, gone.stdout) == (3, "")

    def test_what_a_killed_crawl_wrote_after_its_checkpoint(self, simweb, tmp_path):
        """It does not count any more: the next run fetches it again."""
        server = simweb(1, 600, latency=0.05)
        job = tmp_path / "job"
        running = crawl_of(tmp_path, server).start()
        wait_until(lambda: len(logged(job)) > 5)
        url = logged(job)[-1]
        assert why(job, url).state == "fetched"
        running.kill()

        assert why(job, url).state != "fetched"


def found(job):
    """The links of all pages, as the log has them by now."""
    path = job / "logs/links.log"
    return [line.split("\t")[2] for line in path.read_text().splitlines()] if path.exists() else []


class TestPaused:
    def test_a_host_by_command(self, simweb, tmp_path):
        """What waits for a host that is paused says so, beside the crawl and after it was stopped."""
        server = simweb(2, 600, latency=0.1)  # more than is fetched until the command comes
        job = tmp_path / "job"
        running = crawl_of(tmp_path, server, OUTPUTS="links").start()
        wait_until(lambda: logged(job) and Console(job)("host site0.test")["queued"] > 9)
        assert Console(job)("host site0.test pause").startswith("site0.test is paused")
        Console(job)("stop")
        assert running.wait() == 0

        with OpenedCrawls(job) as crawls:
            answers = [
                one
                for one in crawls.answers(found(job))
                if one.state == "queued" and "//site0." in one.url
            ]
        assert answers
        for answer in answers:
            assert answer.reason.endswith("but its host is paused by command")
            assert answer.details["host"]["paused"] is True


class TestCommand:
    @pytest.mark.parametrize("word", ["mailto:joe@a.test", "x", "http://a.test/\u202e", "http://"])
    def test_what_is_no_url(self, word):
        """It is refused before the crawl is asked."""
        with pytest.raises(CommandError):
            obey(None, "about", word)

    def test_a_url_in_another_form(self):
        """It is the crawl's own form that counts."""
        crawl = SimpleNamespace(parts=SimpleNamespace(about=lambda url: {"url": url}))
        said = obey(SimpleNamespace(crawl=crawl), "about", "HTTP://A.test/x#y", "http://b.test/")
        assert said == {
            "http://a.test/x": {"url": "http://a.test/x"},
            "http://b.test/": {"url": "http://b.test/"},
        }
