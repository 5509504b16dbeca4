"""Code of the user's that never returns: what a stop costs, what is said, and what comes again."""

import json
import time

import pytest

from tests.support.crawling import wait_until
from tests.support.endless_pipelines import Impatient
from tests.support.examples import in_campaign
from tests.support.named_sites import sites
from webcrawl.crawl.control import client
from webcrawl.crawl.control.command import NoAnswer
from webcrawl.tools.commands.crawl import SAME_SIGNAL_SECONDS

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CHECKPOINT_INTERVAL": 0.3}
OURS = "tests.support.endless_pipelines"
HOST, PAGES = "one.test", 12


def page(host, path, _):
    if path == "/robots.txt":
        return None
    return f"{host}{path}".encode() + b"".join(
        b'<a href="/%d">a</a>' % number for number in range(PAGES)
    )


@pytest.fixture(name="web")
def _web():
    with sites(page) as web:
        yield web


def endless(tmp_path, web, name, reached="/7", **settings):
    """A crawl that has come to where this pipeline, middleware, extension or the spider does not
    return: it has asked for the path `reached`.
    """
    extensions = {f"{OURS}.{Impatient.__name__}": 1}
    crawl = web.crawl(tmp_path, [HOST], EXTENSIONS=json.dumps(extensions), **FAST | settings)
    if name == "Endless":
        crawl.spider, crawl.settings["SPIDER_MODULES"] = "endless", OURS
        running = crawl.start()
    else:
        kind, others = "ITEM_PIPELINES", {}
        if name.endswith("Middleware"):
            kind = "DOWNLOADER_MIDDLEWARES"
        elif name.endswith("Listener"):
            kind, others = "EXTENSIONS", extensions
        running = crawl.start(**{kind: json.dumps({f"{OURS}.{name}": 300, **others})})
    wait_until(lambda: any(requested.path == reached for requested in web.requested))
    time.sleep(0.5)
    return crawl, running


def logged(crawl):
    """The paths of finished pages, in their order."""
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    return sorted(
        url.partition(f"{HOST}:")[2].partition("/")[2]
        for url in (line.split()[3] for line in lines)
    )


ALL = sorted(["", *map(str, range(PAGES)), "robots.txt"])


@pytest.mark.parametrize("name", ["Awaiting", "Stubborn"])
def test_a_page_that_awaits_for_ever(tmp_path, web, name):
    """The end does not wait for it: it says where the page is, and the next run fetches it again."""
    crawl, running = endless(tmp_path, web, name)
    running.interrupt()

    assert running.wait() == 0
    said = crawl.output.read_text()
    place = "the spider, the pipelines or a middleware [process_item ("
    assert f"the crawl waits for 1 page in {place}" in said
    assert f"1 page did not return from {place}" in said
    assert "7" not in logged(crawl)
    assert crawl.run() == 0
    assert logged(crawl) == ALL


@pytest.mark.parametrize(
    ("name", "reached"),
    [("AwaitingMiddleware", "/6"), *in_campaign(("StubbornMiddleware", "/7"))],
)
def test_a_downloader_middleware_that_awaits_for_ever(tmp_path, web, name, reached):
    """A line names it while the crawl goes on, and the end does not wait for it either, before the
    request or after the answer.
    """
    crawl, running = endless(tmp_path, web, name, reached)
    line = "a downloader middleware has kept 1 request for 3 s [process_request ("
    if name == "StubbornMiddleware":
        line = "checkpoints leave out 1 page"
    wait_until(lambda: line in crawl.output.read_text())
    running.interrupt()

    assert running.wait() == 0
    said = crawl.output.read_text()
    place = "1 page did not return from the spider, the pipelines or a middleware [process_re"
    assert place in said
    assert "7" not in logged(crawl)
    assert crawl.run() == 0
    assert logged(crawl) == ALL


@pytest.mark.parametrize(
    ("name", "status", "end"),
    [
        ("InThread", 1, "does not return: the process ends without waiting for it"),
        ("InThreadForAnHour", 130, "a second signal ends it at once"),
    ],
)
def test_a_thread_that_does_not_end(tmp_path, web, name, status, end):
    """The page in it comes again. The process, which Python would keep, ends with a line, or by a
    second signal.
    """
    crawl, running = endless(tmp_path, web, name)
    running.interrupt()
    wait_until(
        lambda: "the crawl is over, but the process waits for run (" in crawl.output.read_text()
    )
    if status == 130:
        running.interrupt()

    assert running.wait() == status
    assert crawl.output.read_text().endswith(f"{end}\n")
    assert crawl.stats["reason"] == "shutdown"
    assert crawl.run() == 0
    assert logged(crawl) == ALL


def test_its_body_is_no_duplicate_of_its_own(tmp_path, web):
    """What the next run fetches again is processed, though the first has seen its body; also
    without a checkpoint.
    """
    crawl, running = endless(
        tmp_path, web, "Awaiting", CHECKPOINT_INTERVAL=600, OUTPUTS="warc text"
    )
    running.interrupt()

    assert running.wait() == 0
    assert "checkpoints leave out" not in crawl.output.read_text()
    assert crawl.run() == 0
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    (line,) = [line for line in lines if line.split()[3].endswith("/7")]
    assert "duplicate" not in line


def test_a_callback_that_awaits_for_ever(tmp_path, web):
    """The same holds for the spider's own code."""
    crawl, running = endless(tmp_path, web, "Endless")
    running.interrupt()

    assert running.wait() == 0
    assert "1 page did not return from the spider" in crawl.output.read_text()
    assert "7" not in logged(crawl)


def test_checkpoints_go_on(tmp_path, web):
    """A page that does not come back is left out of checkpoints, so that a kill costs nothing else."""
    crawl, running = endless(tmp_path, web, "Awaiting")
    wait_until(lambda: "checkpoints leave out 1 page" in crawl.output.read_text())
    requested = len(web.requested)
    running.kill()

    assert crawl.run() == 0
    assert [one.path for one in web.requested[requested:] if one.path == "/7"] == ["/7"]
    assert logged(crawl) == ALL


@pytest.mark.parametrize("name", ["Sleeping", *in_campaign("Spinning")])
def test_code_that_blocks_for_ever(tmp_path, web, name):
    """One signal ends the crawl as a kill would, within a bounded time, with a line that names the
    code.
    """
    crawl, running = endless(tmp_path, web, name)
    running.interrupt()

    assert running.wait() == 1
    said = crawl.output.read_text()
    assert "the crawl is blocked: process_item (" in said
    assert "does not return, so the crawl ends as if killed: nothing " in said
    assert crawl.run() == 0
    assert logged(crawl) == ALL


def test_a_second_signal_while_code_blocks(tmp_path, web, monkeypatch):
    """It ends the process at once, as whoever commands the crawl meanwhile is told."""
    monkeypatch.setattr(client, "SILENCE", 0.2)
    monkeypatch.setattr(client, "ALIVE", 0.2)
    crawl, running = endless(tmp_path, web, "Sleeping")
    with pytest.raises(
        NoAnswer, match=r"process \d+ has not answered for .* and sending SIGTERM twice ends it"
    ):
        client.Client(crawl.jobdir, 60).ask("status")
    running.interrupt()
    time.sleep(SAME_SIGNAL_SECONDS + 0.2)
    begun = time.monotonic()
    running.interrupt()

    assert running.wait() == 130
    assert time.monotonic() - begun < 4
    assert "does not return" in crawl.output.read_text()


@pytest.mark.parametrize("stop", ["signal", "command"])
@pytest.mark.parametrize(("delay", "reached"), [(5, "/"), (0, "/7")])
def test_a_pipeline_that_does_not_close(tmp_path, web, stop, delay, reached):
    """A crawl that is told to stop, in the middle or after its last page, ends without it: the state
    is saved, and the status is not 0.
    """
    delays = {"POLITENESS_MIN_DELAY": delay, "POLITENESS_MAX_DELAY": 5}
    crawl, running = endless(tmp_path, web, "AwaitingAtTheEnd", reached, **delays)
    if not delay:
        wait_until(lambda: "Closing spider (finished)" in crawl.output.read_text())
    if stop == "signal":
        running.interrupt()
    else:
        client.Client(crawl.jobdir, 60).ask("stop")

    assert running.wait() == 1
    said = crawl.output.read_text()
    assert ("Closing spider (finished)" in said) == (not delay)
    assert "close_spider of a pipeline does not return [close_spider (" in said
    assert crawl.run(POLITENESS_MIN_DELAY=0) == 0
    assert logged(crawl) == ALL


def test_a_pipeline_that_blocks_when_it_closes(tmp_path, web):
    """A crawl that was stopped by command ends as after a signal: as if killed, after a minute."""
    crawl, running = endless(tmp_path, web, "SleepingAtTheEnd", "/", POLITENESS_MIN_DELAY=0.5)
    client.Client(crawl.jobdir, 60).ask("stop")

    assert running.wait() == 1
    assert "close_spider (" in crawl.output.read_text()
    assert crawl.run(POLITENESS_MIN_DELAY=0) == 0
    assert logged(crawl) == ALL


@pytest.mark.parametrize(
    ("name", "signal"),
    [("Listener", "spider_closed"), *in_campaign(("LastListener", "engine_stopped"))],
)
def test_a_listener_that_does_not_return(tmp_path, web, name, signal):
    """A crawl that is told to stop ends without it, too: all was saved before it was called."""
    crawl, running = endless(tmp_path, web, name, "/", POLITENESS_MIN_DELAY=0.5)
    client.Client(crawl.jobdir, 60).ask("stop")

    assert running.wait() == 1
    said = f"a listener to {signal} (of an extension, a feed, a download handler or the spider) does not return [hear ("
    assert said in crawl.output.read_text()
    assert crawl.stats["reason"] == "stopped"


def test_a_listener_that_keeps_the_crawl_from_beginning(tmp_path, web):
    """A line names it. A crawl that is told to stop ends without it, and the next run begins."""
    extensions = {f"{OURS}.Impatient": 1, f"{OURS}.FirstListener": 300}
    crawl = web.crawl(tmp_path, [HOST], **FAST)
    running = crawl.start(EXTENSIONS=json.dumps(extensions))
    wait_until(crawl.output.exists)
    line = "the crawl waits for a listener to spider_opened [hear ("
    wait_until(lambda: line in crawl.output.read_text())
    client.Client(crawl.jobdir, 60).ask("stop")

    assert running.wait() == 0
    assert "a listener to spider_opened does not return [hear (" in crawl.output.read_text()
    assert crawl.run() == 0
    assert logged(crawl) == ALL


def test_a_signal_while_it_opens(tmp_path, web):
    """A crawl that gets a signal while its pipelines open is closed when they have opened, and
    fetches nothing; the next run does all.
    """
    crawl = web.crawl(tmp_path, [HOST], **FAST)
    running = crawl.start(ITEM_PIPELINES=json.dumps({f"{OURS}.OpeningForSeconds": 1}))
    wait_until(lambda: crawl.output.exists() and "opening" in crawl.output.read_text())
    running.interrupt()

    assert running.wait() == 0
    said = crawl.output.read_text()
    assert said.index("opened") < said.index("closed") < said.index("Spider closed (shutdown)")
    assert not web.requested
    assert crawl.run() == 0
    assert logged(crawl) == ALL


def test_a_signal_to_a_crawl_that_does_not_begin(tmp_path, web):
    """It is closed without the listener that does not return, and the next run begins."""
    extensions = {f"{OURS}.Impatient": 1, f"{OURS}.FirstListener": 300}
    crawl = web.crawl(tmp_path, [HOST], **FAST)
    running = crawl.start(EXTENSIONS=json.dumps(extensions))
    line = "the crawl waits for a listener to spider_opened [hear ("
    wait_until(lambda: crawl.output.exists() and line in crawl.output.read_text())
    running.interrupt()

    assert running.wait() == 0
    assert "Spider closed (shutdown)" in crawl.output.read_text()
    assert crawl.run() == 0
    assert logged(crawl) == ALL
