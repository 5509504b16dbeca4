"""Every write, sync, rename, unlink, truncate and COMMIT of a whole crawl fails, or is where the process dies."""

import itertools
import shutil
from random import Random

import pytest

from tests.support.broken import DIES, FAILS, Fault, copied, operations, run
from tests.support.crashes import sound
from tests.support.crawling import Crawl
from tests.support.cuts import cut
from webcrawl.simweb import truth

HOSTS, PAGES = 2, 16
MIX = {"duplicate": 0.1, "redirect_301": 0.1, "status_404": 0.1}
SETTINGS = {"CHECKPOINT_INTERVAL": 0.1, "POLITENESS_FACTOR": 0, "WARC_MAX_SIZE": 1}
TOLERATED = (
    "unlink",
    "rename webcrawl",
    "sync folder warc",
)  # what is left over is done by the next checkpoint, or the next start
OPENING = "[webcrawl.commands.crawl] CRITICAL"  # it was sound when it was checked: Scrapy adds tracebacks of its own
LEFT_OVER = ("keeps its .open", "not removed")
SAMPLE = 9  # faults that one test tries; `python -m tests.crash_long --faults` tries all


class Faulty:
    """A small web, and a crawl of it that may be run on a doomed disk."""

    def __init__(self, simweb, folder):
        self.server = simweb(HOSTS, PAGES, mix=MIX, size=(2000, 3000), latency=0.01)
        self.folder = folder
        (folder / "seeds.txt").write_text("\n".join(self.server.world.seeds()))
        self.must = truth(self.server.world, self.server.world.seeds()).must
        self.begun = None  # a crawl that was killed: faults then happen while it is resumed

    def crawl(self, name):
        if self.begun is not None:
            return copied(self.begun, self.folder / name)
        settings = {"DNS_NAMESERVERS": self.server.nameserver, **SETTINGS}
        return Crawl(self.folder / name, {"seeds": self.folder / "seeds.txt"}, settings)

    def operations(self):
        """What a crawl does that nothing happens to, and how often."""
        crawl = self.crawl("whole")
        assert run(crawl) == 0
        shutil.rmtree(crawl.jobdir)
        return operations(crawl)

    def suffer(self, fault):
        """Crawls until the fault, and to the end after it; whether it happened at all."""
        crawl = self.crawl("broken")
        status = run(crawl, fault)
        happened = operations(crawl)[fault.what] >= fault.number
        self.judge(fault, status, crawl.output.read_text(), happened=happened)
        left = looked_at(crawl.jobdir)
        assert run(crawl) == 0, crawl.output.read_text()[-2000:]
        ended = looked_at(crawl.jobdir)
        assert ended.logged.keys() == self.must
        assert left.known.keys() <= ended.logged.keys()
        assert set(left.files) <= {name for file in ended.files for name in (file, f"{file}.open")}
        assert [name for name in ended.files if name.endswith(".open")] == []
        shutil.rmtree(crawl.jobdir)
        return happened

    def judge(self, fault, status, said, *, happened):
        """How the crawl that suffered it must have ended."""
        opened = OPENING not in said
        assert not opened or "Traceback" not in said, said
        told = [line for line in said.splitlines() if "injected" in line and (opened or OPENING in line)]
        refused = [line for line in told if not any(words in line for words in LEFT_OVER)]
        if not happened:
            assert (status, told) == (0, [])
        elif fault.how in DIES:
            assert status == -9
        elif fault.what.startswith(TOLERATED) and status == 0:
            assert refused == []
        else:
            assert (status, len(refused)) == (1, 1), said[-2000:]


def looked_at(jobdir):
    """The cut that is there, if the crawl came so far that it has a state."""
    return (sound if (jobdir / "state/crawl.db").exists() else cut)(jobdir)


def every_fault(found):
    """All that can happen at these operations."""
    return [
        Fault(what, number + 1, how)
        for what in sorted(found)
        for number, how in itertools.product(range(found[what]), FAILS + DIES)
    ]


def sample(faults, chance, most=SAMPLE):
    """So many of them: every operation once before one comes twice."""
    chance.shuffle(faults)
    rank = dict.fromkeys((fault.what for fault in faults), 0)
    order = []
    for fault in faults:
        order.append((rank[fault.what], len(order), fault))
        rank[fault.what] += 1
    return [fault for _, _, fault in sorted(order)[:most]]


@pytest.fixture(name="world")
def _world(simweb, tmp_path):
    return Faulty(simweb, tmp_path)


def killed_in_the_middle(world):
    """From now on faults happen while a crawl is resumed that has died between a COMMIT and a file's last name."""
    crawl = world.crawl("killed")
    assert run(crawl, Fault("rename webcrawl.warc.gz.open", 2, "before")) == -9
    world.begun = crawl


def test_a_new_crawl(world):
    """Whatever fails or ends a crawl, what is left is a cut, and the crawl that goes on from there loses nothing."""
    faults = every_fault(world.operations())

    happened = [world.suffer(fault) for fault in sample(faults, Random(0))]

    assert sum(happened) > SAMPLE / 2


def test_an_archive_that_cannot_be_resumed(world):
    """What fails after the check before a crawl, while the spider is opened, is one line too."""
    killed_in_the_middle(world)
    (world.begun.jobdir / "warc/webcrawl-20260101000000-00099.warc.gz.open").touch()  # begun after the checkpoint

    assert world.suffer(Fault("unlink webcrawl.warc.gz.open", 1, "eio"))
    assert world.suffer(Fault("append crawl.log", world.operations()["append crawl.log"], "eio"))


def test_a_crawl_that_is_resumed(world):
    """What fails or dies in the recovery from a crash changes nothing: the next one recovers the same."""
    killed_in_the_middle(world)
    faults = every_fault(world.operations())

    happened = [world.suffer(fault) for fault in sample(faults, Random(1))]

    assert sum(happened) > SAMPLE / 2
