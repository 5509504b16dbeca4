"""Streams: pages and ends of URLs go to a receiver, once each, whatever happens on the way."""

import re
from collections import Counter

import pytest

import webcrawl
from tests.support.commands import command
from tests.support.crawling import QUICK, Crawl, wait_until
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from tests.support.receivers import events, receiving
from webcrawl.crawl.outputs.stream import Stream
from webcrawl.store.errors import StoreError

PAGES = 40


class Pages(Site):
    """Forty pages with long texts that link to each other."""

    def answer(self):
        if self.path == "/robots.txt":
            self.say(404, b"")
            return
        number = int(self.path[1:] or 0)
        links = "".join(
            f"<a href=/{one}>next</a>" for one in (2 * number + 1, 2 * number + 2) if one < PAGES
        )
        words = " ".join(f"word{number}x{place}" for place in range(4000))
        body = f"<title>Page {number}</title><p>{words}</p>{links}"
        self.say(200, body.encode(), content_type="text/html")


@pytest.fixture(name="site")
def _site():
    with serving(Pages) as address:
        yield address


@pytest.fixture(name="crawl_to")
def _crawl_to(site, tmp_path):
    """Makes a crawl of the site that streams to an address."""

    def make(address, **settings):
        (tmp_path / "seeds.txt").write_text(f"{site}/\n")
        (tmp_path / "secret").write_text("s3cret\n")
        settings = {
            "OUTPUTS": "webhook",
            "WEBHOOK_URL": address,
            "WEBHOOK_SECRET_FILE": tmp_path / "secret",
            "CHECKPOINT_INTERVAL": 0.2,
            **QUICK,
            **settings,
        }
        return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    return make


def logged(crawl):
    """The URLs of crawl.log, without robots.txt."""
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    return Counter(line.split()[3] for line in lines if not line.split()[3].endswith("robots.txt"))


def ended(taken):
    return Counter(one["url"] for one in events(taken, "end"))


class TestWebHook:
    def test_all_arrives(self, crawl_to):
        """Each URL's end and each page's text arrive once, and nothing of them stays in JOBDIR."""
        with receiving() as receiver:
            crawl = crawl_to(receiver.address)
            assert crawl.run() == 0, crawl.output.read_text()

        assert ended(receiver.taken) == logged(crawl)
        pages = events(receiver.taken, "page")
        assert sorted(one["title"] for one in pages) == sorted(f"Page {n}" for n in range(PAGES))
        assert all(f"word{one['title'][5:]}x3999" in one["text"] for one in pages)
        assert [*crawl.jobdir.glob("stream/*/*")] == []
        assert command("scrapy", "verify", crawl.jobdir).returncode == 0

    def test_numbers_without_gaps(self, crawl_to):
        """Batches come in the order of their numbers, and none of them is larger than it must be."""
        with receiving() as receiver:
            assert crawl_to(receiver.address).run() == 0

        ids = [batch.rpartition("-") for batch, _, _ in receiver.got]
        assert len({stream for stream, _, _ in ids}) == 1
        assert [int(number) for _, _, number in ids] == list(range(len(ids)))
        assert max(len(body) for _, body, _ in receiver.got) < 1 << 20

    def test_a_killed_crawl(self, crawl_to):
        """After kill -9 a batch that comes again has the id and the bytes that it had."""
        with receiving() as receiver:
            crawl = crawl_to(receiver.address, CONCURRENT_REQUESTS=1, POLITENESS_MIN_DELAY=0.05)
            running = crawl.start()
            wait_until(lambda: len(receiver.taken) > 1)
            running.kill()
            assert crawl.run() == 0, crawl.output.read_text()

        assert ended(receiver.taken) == logged(crawl)
        assert set(ended(receiver.taken).values()) == {1}

    def test_a_receiver_that_is_away(self, crawl_to):
        """What was not taken makes the exit status 1, and the next run sends it without a fetch."""
        with receiving(status=503) as receiver:
            crawl = crawl_to(receiver.address)
            assert crawl.run() == 1
            said = crawl.output.read_text()
            assert re.search(
                r"webhook: batch 0 was not taken \(HTTP Error 503.*\); it is sent", said
            )
            assert re.search(r"webhook: \d+ batch(es)? not taken yet; run the same command", said)
            log = logged(crawl)
            receiver.status = 200
            assert crawl.run() == 0, crawl.output.read_text()

            assert ended(receiver.taken) == logged(crawl) == log
            assert crawl.run() == 0
            assert "already complete" in crawl.output.read_text()

    def test_a_receiver_that_comes_back(self, crawl_to):
        """The crawl pauses while too much waits, says so, and goes on when the receiver is back."""
        with receiving(status=500) as receiver:
            crawl = crawl_to(
                receiver.address, STREAM_BACKLOG=1, CONCURRENT_REQUESTS=1, POLITENESS_MIN_DELAY=0.05
            )
            running = crawl.start()
            status = ["scrapy", "ctl", crawl.jobdir, "status"]
            wait_until(lambda: "webhook is behind" in command(*status).stdout, pause=0.3)
            receiver.status = 200
            assert running.wait() == 0, crawl.output.read_text()

        assert "webhook takes batches again, from batch 0 on" in crawl.output.read_text()
        assert sum(ended(receiver.taken).values()) == PAGES

    @pytest.mark.parametrize("status", [302, 401])
    def test_no_other_answer_counts(self, crawl_to, status):
        """A redirect is not followed, for the lines would be lost on the way."""
        with receiving(status=status) as receiver:
            crawl = crawl_to(receiver.address)
            assert crawl.run() == 1

        assert f"was not taken (HTTP Error {status}" in crawl.output.read_text()
        assert {method for *_, method in receiver.got} == {status}


class TestWrongUses:
    @pytest.mark.parametrize(
        ("settings", "line"),
        [
            ({"WEBHOOK_URL": ""}, "OUTPUTS = 'webhook': must be without webhook, or WEBHOOK_URL"),
            ({"WEBHOOK_URL": "localhost"}, "WEBHOOK_URL = 'localhost': must be an http or https"),
            ({"WEBHOOK_SECRET_FILE": "/none"}, "WEBHOOK_SECRET_FILE = '/none': must be the path"),
            ({"WEBHOOK_SECRET_FILE": "/dev/null"}, "WEBHOOK_SECRET_FILE = '/dev/null'"),
            ({"WEBHOOK_SECRET_FILE": ""}, "(WEBHOOK_SECRET has no secret)"),
            ({"STREAM_BACKLOG": 0}, "STREAM_BACKLOG = '0': must be a whole number from 1"),
            ({"OUTPUTS": "webhok"}, "unknown: 'webhok'"),
            ({"OUTPUTS": "my.none.Output"}, "my.none.Output: No module named 'my'"),
            ({"OUTPUTS": "json.dumps"}, "json.dumps is not a class derived from"),
            (
                {"OUTPUTS": "webcrawl.crawl.outputs.stream.Stream"},
                "Stream.output must be a name of its own",
            ),
        ],
    )
    def test_a_line_says_what_is_wrong(self, crawl_to, settings, line):
        """The crawl does not start."""
        crawl = crawl_to("http://127.0.0.1:9/", **settings)

        assert crawl.run() == 1
        assert line in crawl.output.read_text()


class Kept(Stream):
    """A stream of a user's own: each batch is a file beside JOBDIR."""

    output = "kept"

    def send(self, batch, lines):
        (self.folder.parent / f"{batch}.taken").write_bytes(lines)


class Broken(Kept):
    output = "broken"

    def send(self, batch, lines):
        raise OSError("nobody is there")


def kept(folder):
    return {path.stem: path.read_bytes() for path in folder.glob("*.taken")}


class TestOwnClasses:
    def test_in_scrapys_process(self, crawl_to, tmp_path):
        """OUTPUTS takes a dotted path, beside names."""
        crawl = crawl_to("", OUTPUTS=f"links {__name__}.Kept", WEBHOOK_SECRET_FILE="")

        assert crawl.run() == 0, crawl.output.read_text()
        assert ended(kept(tmp_path)) == logged(crawl)
        assert (crawl.jobdir / "logs/links.log").stat().st_size

    def test_in_the_library(self, site, tmp_path):
        """The same class works there."""
        settings = {"private_networks_allowed": "127.0.0.0/8", "politeness_min_delay": 0}
        with webcrawl.crawl(
            f"{site}/", tmp_path / "job", outputs=f"{__name__}.Kept", **settings
        ) as pages:
            assert len([*pages]) == PAGES

        assert len(events(kept(tmp_path), "page")) == PAGES

    def test_what_the_library_could_not_send(self, site, tmp_path):
        """The loop over the pages ends with an error that names the folder."""
        settings = {"private_networks_allowed": "127.0.0.0/8", "politeness_min_delay": 0}
        pages = webcrawl.crawl(
            f"{site}/", tmp_path / "job", outputs=f"{__name__}.Broken", **settings
        )

        with pytest.raises(StoreError, match="job: not all that the crawl has was sent"):
            assert len([*pages]) == PAGES


def test_kafka(site, tmp_path):
    """The example's class sends each batch as a message, here to brokers that librdkafka brings."""
    kafka = pytest.importorskip("confluent_kafka")
    brokers = kafka.Producer({"test.mock.num.brokers": 1})
    servers = ",".join(str(one).partition("/")[0] for one in brokers.list_topics().brokers.values())
    words = ["crawl", f"{site}/", "-o", tmp_path / "job", "--outputs", "kafka_stream.KafkaStream"]
    done = command(
        "webcrawl",
        *words,
        *[
            word
            for name, value in {**QUICK, "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8"}.items()
            for word in ("-s", f"{name}={value}")
        ],
        cwd=ROOT / "docs/examples/kafka",
        environment={"KAFKA_SERVERS": servers},
    )
    assert done.returncode == 0, done.stderr
    consumer = kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["webcrawl"])
    taken = {}
    wait_until(lambda: _take(consumer, taken) and sum(ended(taken).values()) == PAGES)
    consumer.close()
    assert len(events(taken, "page")) == PAGES


def _take(consumer, taken):
    message = consumer.poll(1.0)
    if message is not None and message.error() is None:
        taken[message.key().decode()] = message.value()
    return True
