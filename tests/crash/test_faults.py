"""At every write, sync, rename, unlink, truncate and COMMIT of a crawl, the operation fails or the
process dies.
"""

import itertools
import shutil
from random import Random

import pytest

from tests.support.broken import DIES, FAILS, Fault, before, copied, operations, run
from tests.support.crashes import sound
from tests.support.crawling import Crawl
from tests.support.snapshots import snapshot_of
from webcrawl.lab.simweb import truth

HOSTS, PAGES = 2, 16
MIX = {"duplicate": 0.1, "redirect_301": 0.1, "status_404": 0.1}
SETTINGS = {"CHECKPOINT_INTERVAL": 0.1, "POLITENESS_FACTOR": 0, "WARC_MAX_SIZE": 1}
TOLERATED = (
    "unlink",
    "rename webcrawl",
    "sync folder warc",
    # sorted at a start
    *(f"{what} webcrawl.cdxj" for what in ("create", "write", "late write", "sync", "truncate")),
    # the end overtakes a merge: the digests are saved without it
    *("create content", "write content", "sync content"),
)  # the next checkpoint or the next start does what remains
OPENING = (
    # fails after the check before the crawl: then Scrapy adds tracebacks
    "[webcrawl.tools.commands.crawl] CRITICAL"
)
LEFT_OVER = ("still has .open", "could not be removed")
SAMPLE = 5  # faults per test; `python -m tests.campaign.faults` tries all


class Faulty:
    """A small web, and a crawl of it that can run on a DoomedDisk."""

    def __init__(self, simweb, folder):
        self.server = simweb(HOSTS, PAGES, mix=MIX, size=(2000, 3000), latency=0.01)
        self.folder = folder
        (folder / "seeds.txt").write_text("\n".join(self.server.world.seeds()))
        self.must = truth(self.server.world, self.server.world.seeds()).must
        self.begun = None  # a killed crawl, if faults are to happen while one is resumed

    def crawl(self, name):
        if self.begun is not None:
            return copied(self.begun, self.folder / name)
        settings = {"DNS_NAMESERVERS": self.server.nameserver, **SETTINGS}
        return Crawl(self.folder / name, {"seeds": self.folder / "seeds.txt"}, settings)

    def operations(self):
        """The operations of a crawl without faults, and how often each occurs."""
        crawl = self.crawl("whole")
        assert run(crawl) == 0
        shutil.rmtree(crawl.jobdir)
        return operations(crawl)

    def suffer(self, fault):
        """Crawls with the fault, then resumes to the end; returns whether the fault happened."""
        crawl = self.crawl("broken")
        status = run(crawl, fault)
        happened = operations(crawl)[fault.what] >= fault.number
        self.judge(crawl, fault, status, happened=happened)
        left = looked_at(crawl.jobdir)
        assert run(crawl) == 0, crawl.output.read_text()[-2000:]
        ended = looked_at(crawl.jobdir)
        assert ended.logged.keys() == self.must
        assert left.known.keys() <= ended.logged.keys()
        assert set(left.files) <= {name for file in ended.files for name in (file, f"{file}.open")}
        assert [name for name in ended.files if name.endswith(".open")] == []
        shutil.rmtree(crawl.jobdir)
        return happened

    def judge(self, crawl, fault, status, *, happened):
        """Asserts that the crawl with this fault ended as it must."""
        said = crawl.output.read_text()
        opened = OPENING not in said
        assert not opened or "Traceback" not in said, said
        told = [
            line for line in said.splitlines() if "injected" in line and (opened or OPENING in line)
        ]
        refused = [line for line in told if not any(words in line for words in LEFT_OVER)]
        if not happened:
            assert (status, told) == (0, [])
        elif fault.how in DIES:
            assert status == -9
        elif status == 0 and (
            fault.what.startswith(TOLERATED) or before(crawl, fault) == "sync content"
        ):
            assert refused == []
        else:
            assert (status, len(refused)) == (1, 1), f"{fault}, {refused}: {said[-2000:]}"


def looked_at(jobdir):
    """The snapshot that the crawl left, if it got far enough to have a state."""
    return (sound if (jobdir / "state/crawl.db").exists() else snapshot_of)(jobdir)


def every_fault(found):
    """All faults that can happen at these operations."""
    return [
        Fault(what, number + 1, how)
        for what in sorted(found)
        for number, how in itertools.product(range(found[what]), FAILS + DIES)
    ]


def sample(faults, chance, most=SAMPLE):
    """At most this many faults: each operation once before any comes twice."""
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
    """Makes faults happen while resuming a crawl that died between a COMMIT and the renaming of a
    file.
    """
    crawl = world.crawl("killed")
    assert run(crawl, Fault("rename webcrawl.warc.gz.open", 2, "before")) == -9
    world.begun = crawl


def test_a_new_crawl(world):
    """Whatever fails or kills a crawl, it leaves a consistent snapshot, and resuming loses nothing."""
    faults = every_fault(world.operations())

    happened = [world.suffer(fault) for fault in sample(faults, Random(0))]

    assert sum(happened) > SAMPLE / 2


def test_a_crawl_that_cannot_be_opened(world):
    """A failure while the spider is opened is reported once: closing it has nothing to add."""
    assert world.suffer(Fault("sync folder logs", 1, "eio"))


def test_an_archive_that_cannot_be_resumed(world):
    """A failure after the check before a crawl, while the spider is opened, is reported in one line
    too.
    """
    killed_in_the_middle(world)
    # started after the checkpoint
    (world.begun.jobdir / "warc/webcrawl-20260101000000-00099.warc.gz.open").touch()

    assert world.suffer(Fault("unlink webcrawl.warc.gz.open", 1, "eio"))
    assert world.suffer(Fault("append crawl.log", world.operations()["append crawl.log"], "eio"))


def test_a_crawl_that_is_resumed(world):
    """A failure or kill during recovery from a crash changes nothing: the next recovery gives the
    same.
    """
    killed_in_the_middle(world)
    faults = every_fault(world.operations())

    happened = [world.suffer(fault) for fault in sample(faults, Random(1))]

    assert sum(happened) > SAMPLE / 2
