"""logs/requests.log and logs/skipped.log where hosts and disks fail."""

import os
import socket
from collections import Counter

import pytest

from tests.support.all_outputs import rows
from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving


class Hesitant(Site):
    """Answers 500 the first time."""

    requested = None

    def answer(self):
        self.requested[self.path] += 1
        self.say(
            404 if self.path == "/robots.txt" else 500 if self.requested[self.path] == 1 else 200,
            b"at last",
        )


@pytest.fixture(name="here")
def _here():
    Hesitant.requested = Counter()
    with serving(Hesitant) as here:
        yield here


def crawl_of(folder, *seeds):
    (folder / "seeds.txt").write_text("\n".join(seeds))
    settings = {"OUTPUTS": "skipped requests", "RETRY_TIMES": 1, "POLITENESS_FACTOR": 0}
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


def test_retries_and_hosts_that_refuse(tmp_path, here):
    """Each attempt that a server can have seen has a line; one without a connection has none, but a
    reason.
    """
    with socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))  # another host, which does not listen
        away = f"http://127.0.0.2:{closed.getsockname()[1]}/"
        crawl = crawl_of(tmp_path, f"{here}/", away)
        assert crawl.run(ROBOTSTXT_OBEY=False, HOST_PATIENCE=0, HOST_MAX_FAILURES=1) == 0, (
            crawl.output.read_text()
        )

    sent = [
        (method, url, path, tries)
        for _, method, url, path, tries, *_ in rows(crawl.jobdir, "logs/requests.log")
    ]
    skipped = [(reason, url) for _, reason, url, _ in rows(crawl.jobdir, "logs/skipped.log")]
    assert sent == [("GET", f"{here}/", "-", "0"), ("GET", f"{here}/", "-", "1")]
    assert skipped == [("connect_failed", away)]
    assert Hesitant.requested == {"/": 2}


def test_a_request_without_a_line_is_not_sent(tmp_path, here):
    """A disk that does not take it ends the crawl and charges nobody; the next run fetches the URL."""
    crawl = crawl_of(tmp_path, f"{here}/")
    (crawl.jobdir / "logs").mkdir(parents=True)
    log = crawl.jobdir / "logs/requests.log"
    log.symlink_to("/dev/full")
    assert crawl.run() == 1

    assert Hesitant.requested == {}
    assert "requests.log: [Errno 28]" in crawl.output.read_text()
    assert (crawl.jobdir / "logs/crawl.log").read_text() == ""

    log.unlink()
    assert crawl.run() == 0
    assert [row[3:5] for row in rows(crawl.jobdir, "logs/requests.log")] == [
        ["P", "0"],
        ["-", "0"],
        ["-", "1"],
    ]


def test_a_pipe_in_its_place(tmp_path, here):
    """The crawl does not begin, and its last line says why: nobody waits for whoever might read the
    pipe.
    """
    crawl = crawl_of(tmp_path, f"{here}/")
    log = crawl.jobdir / "logs/requests.log"
    log.parent.mkdir(parents=True)
    os.mkfifo(log)

    assert crawl.run() == 1
    assert (
        f"{log}: [Errno 22] it is not a regular file" in crawl.output.read_text().splitlines()[-1]
    )
    assert Hesitant.requested == {}
