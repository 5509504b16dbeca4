"""A killed crawl can be resumed elsewhere, with other settings, by one process only; a full disk
pauses it.
"""

import os
import re
import shutil
import signal
from collections import Counter
from functools import partial
from random import Random

import pytest

from tests.support.broken import roomy
from tests.support.crashes import complaints, crash, hurried, sound
from tests.support.crawling import Crawl, copy_of, wait_until
from webcrawl.lab.simweb import overlaps, truth, wait_until_idle

MIX = {"duplicate": 0.1, "redirect_301": 0.1, "status_404": 0.1, "source_frame": 0.1}
SETTINGS = {"CHECKPOINT_INTERVAL": 0.1, "POLITENESS_FACTOR": 0, "CONCURRENT_REQUESTS": 8}


@pytest.fixture(name="server")
def _server(simweb):
    return simweb(12, 160, mix=MIX, size=(2000, 3000), latency=0.01)


@pytest.fixture(name="crawl")
def _crawl(tmp_path, server):
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


@pytest.fixture(name="kill")
def _kill(server, crawl):
    """Kills the crawl once, half-way."""

    def kill():
        running = crawl.start()
        wait_until(lambda: server.log.count > 60 and says(crawl, "checkpoint in") > 1)
        running.kill()
        wait_until_idle(server)

    return kill


def expected(server):
    return truth(server.world, server.world.seeds())


def everything(folder):
    """The bytes of all files below a folder, by name."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(crawl, **settings):
    """The one line with which this crawl refuses to start."""
    assert crawl.run(**settings) == 1
    (line,) = crawl.output.read_text().splitlines()
    return line


def test_a_second_process(server, crawl):
    """A second process on one JOBDIR is refused in one line, and the first is not affected."""
    running = crawl.start()
    wait_until(lambda: server.log.count > 20)
    second = Crawl(
        crawl.jobdir, crawl.arguments, crawl.settings, output=crawl.jobdir.with_suffix(".second")
    )
    line = refused(second)

    assert running.process.is_alive()
    assert line == f"{crawl.jobdir}/state: another process is using this crawl"
    assert running.wait() == 0
    wait_until_idle(server)
    assert [*expected(server).complaints(server.log.hits)] == []
    assert sound(crawl.jobdir).logged.keys() == expected(server).must


def test_on_another_machine(tmp_path, server, crawl, kill):
    """After a kill, JOBDIR is copied and the crawl resumed in the copy; nothing refers to the old
    path.
    """
    kill()
    half = sound(crawl.jobdir).logged
    elsewhere = Crawl(tmp_path / "elsewhere" / "moved", crawl.arguments, crawl.settings)
    copy_of(crawl.jobdir, elsewhere.jobdir)
    shutil.rmtree(crawl.jobdir)
    before = len(server.log.hits)

    assert elsewhere.run() == 0

    wait_until_idle(server)
    assert not crawl.jobdir.exists()
    assert sound(elsewhere.jobdir).logged.keys() == expected(server).must
    assert half.keys().isdisjoint(hit.url for hit in server.log.hits[before:])


def test_moved_while_it_runs(tmp_path, server, crawl):
    """A crawl whose JOBDIR is moved ends with status 1 and one line; it goes on where the folder is
    now.
    """
    running = crawl.start()
    wait_until(lambda: server.log.count > 60 and says(crawl, "checkpoint in") > 1)
    crawl.jobdir.rename(tmp_path / "moved")

    assert running.wait() == 1
    line = (
        rf"CRITICAL: {re.escape(str(crawl.jobdir))}: moved or removed while the crawl ran: "
        r"nothing after the checkpoint"
    )
    assert says(crawl, rf"{line} of \d\d:\d\d:\d\d was kept") == 1
    assert not crawl.jobdir.exists()
    wait_until_idle(server)
    moved = Crawl(tmp_path / "moved", crawl.arguments, crawl.settings)
    half, before = sound(moved.jobdir).logged, len(server.log.hits)
    assert moved.run() == 0
    wait_until_idle(server)
    assert sound(moved.jobdir).logged.keys() == expected(server).must
    assert half.keys().isdisjoint(hit.url for hit in server.log.hits[before:])


def test_a_folder_in_its_place_is_left_alone(tmp_path, server, crawl):
    """A crawl whose JOBDIR is replaced by a copy ends without having changed a byte of the copy."""
    running = crawl.start()
    wait_until(lambda: server.log.count > 60 and says(crawl, "checkpoint in") > 1)
    os.kill(running.process.pid, signal.SIGSTOP)
    crawl.jobdir.rename(tmp_path / "moved")
    copy_of(tmp_path / "moved", crawl.jobdir)
    before = everything(crawl.jobdir)
    os.kill(running.process.pid, signal.SIGCONT)

    assert running.wait() == 1
    assert (
        says(
            crawl,
            rf"CRITICAL: {re.escape(str(crawl.jobdir))}: replaced while the crawl ran: nothing after",
        )
        == 1
    )
    assert everything(crawl.jobdir) == before


def test_a_copy_is_a_crawl_of_its_own(tmp_path, server, crawl):
    """A copy of a crawl that runs can be resumed elsewhere at the same time."""
    running = crawl.start(POLITENESS_MIN_DELAY=0.1)
    wait_until(lambda: server.log.count > 30 and says(crawl, "checkpoint in") > 1)
    os.kill(running.process.pid, signal.SIGSTOP)  # the copy is of one moment
    copy = Crawl(tmp_path / "copy", crawl.arguments, crawl.settings)
    copy_of(crawl.jobdir, copy.jobdir)
    second = copy.start()
    os.kill(running.process.pid, signal.SIGCONT)

    assert (second.wait(), running.wait()) == (0, 0)
    wait_until_idle(server)
    assert (
        sound(copy.jobdir).logged.keys()
        == sound(crawl.jobdir).logged.keys()
        == expected(server).must
    )


def test_changed_settings_are_told(server, crawl):
    """What has changed since the last run is a line each in the log of the next one."""
    assert crawl.run(CLOSESPIDER_PAGECOUNT=10) == 0
    assert says(crawl, " was .*, now ") == 0

    assert crawl.run(URL_SCOPE="domain", POLITENESS_FACTOR=1.5) == 0
    assert (
        says(crawl, "INFO: URL_SCOPE was any, now domain\n")
        == says(crawl, "INFO: POLITENESS_FACTOR was 0, now 1.5\n")
        == 1
    )
    assert says(crawl, " was .*, now ") == 2


def test_with_other_settings(server, crawl):
    """Memory, levels, queues and cache may change with every run: the same pages are fetched."""
    caches, orders = "webcrawl.frontier.seen.caches", "webcrawl.frontier.prioritizers"
    settings = [
        {},
        {
            "CONCURRENT_REQUESTS": 2,
            "FRONTIER_LEVELS": 3,
            "FRONTIER_PRIORITIZER": f"{orders}.links.ByOpic",
        },
        {
            "FRONTIER_MEMORY": 8,
            "SEEN_MEMORY": 16,
            "FRONTIER_LEVELS": 1,
            "URL_CACHE": f"{caches}.policies.LruCache",
        },
        {"FRONTIER_LEVELS": 40, "FRONTIER_QUEUES": 1, "FRONTIER_MAX_QUEUES": 2},
        {"FRONTIER_PRIORITIZER": f"{orders}.links.ByIndegree", "POLITENESS_PER_IP": True},
        {"URL_CACHE": f"{caches}.policies.RandomCache", "FRONTIER_LEVELS": 2, "WARC_MAX_SIZE": 1},
    ]

    killed = crash(
        crawl, server, Random(3), kills=len(settings) - 1, requests=(15, 45), settings=settings
    )

    assert (killed.status, len(killed.deaths)) == (0, len(settings) - 1)
    assert killed.snapshot.logged.keys() == expected(server).must
    assert [*complaints(expected(server), killed)] == []
    assert [*killed.fetched_again()] == []


class TestRefused:
    """A state that cannot be resumed is refused in one line, and not changed by a byte."""

    @pytest.mark.parametrize(
        ("version", "what"),
        [
            (
                0,
                "written by an earlier webcrawl (version 0 of the state, this program reads 5)",
            ),
            (
                1,
                "written by an earlier webcrawl (version 1 of the state, this program reads 5)",
            ),
            (
                99,
                "written by a later webcrawl (version 99 of the state, this program reads 5)",
            ),
        ],
    )
    def test_a_state_of_another_version_is_refused(self, crawl, kill, version, what):
        """A state written by another version is refused."""
        kill()
        with (crawl.jobdir / "state/crawl.db").open("r+b") as file:
            file.seek(60)
            file.write(version.to_bytes(4, "big"))
        before = everything(crawl.jobdir)

        line = refused(crawl)

        assert line == f"{crawl.jobdir}/state/crawl.db: {what}"
        assert everything(crawl.jobdir) == before

    def test_another_seen_store(self, crawl, kill):
        """A crawl can only be resumed with the seen store that it was started with."""
        kill()
        before = sound(crawl.jobdir)

        line = refused(crawl, SEEN_STORE="webcrawl.frontier.seen.bloom.BloomSeen")

        assert "was started with the seen store 'disk', not 'bloom'" in line
        assert sound(crawl.jobdir) == before


def test_hosts_are_left_alone_over_a_kill(simweb, tmp_path):
    """After a kill, a host whose last answer is in the checkpoint still has its wait."""
    server = simweb(8, 80, size=(2000, 3000))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "CHECKPOINT_INTERVAL": 0.1,
        "POLITENESS_MIN_DELAY": 1.5,
    }
    crawl = Crawl(
        tmp_path / "job",
        {"seeds": tmp_path / "seeds.txt"},
        {**settings, "POLITENESS_MAX_DELAY": 1.5},
    )

    killed = crash(
        crawl,
        server,
        Random(4),
        kills=2,
        requests=(9, 12),
        settings=[{}, {}, {"CLOSESPIDER_TIMEOUT": 2.5}],
    )

    wait = {"factor": 0.0, "minimum": 1.5, "maximum": 1.5}
    assert [*hurried(server.world, killed, **wait)] == []
    assert overlaps(killed.hits) == []


def test_a_full_disk_pauses_the_crawl(server, crawl):
    """Below MIN_FREE_DISK fetching pauses, checkpoints still work, and with room again the crawl
    continues.
    """
    free = crawl.jobdir.with_suffix(".free")
    free.write_text("2000")
    running = roomy(crawl, free, MIN_FREE_DISK=1000)
    wait_until(lambda: server.log.count > 30)
    free.write_text("999")
    wait_until(partial(says, crawl, "fetching is paused"))
    before, taken = server.log.count, says(crawl, "checkpoint in")
    os.kill(running.process.pid, signal.SIGUSR1)
    wait_until(lambda: says(crawl, "checkpoint in") > taken + 2)
    paused = server.log.count

    free.write_text("1000")
    assert running.wait() == 0
    assert says(crawl, "999 MiB are free") == says(crawl, "fetching resumes") == 1
    assert paused <= before + SETTINGS["CONCURRENT_REQUESTS"] < 130
    wait_until_idle(server)
    assert max(Counter(hit.url for hit in server.log.hits).values()) == 1
    assert sound(crawl.jobdir).logged.keys() == expected(server).must


def says(crawl, words):
    """How often the crawl has logged this text."""
    return len(re.findall(words, crawl.output.read_text()))
