"""A page that could not be archived is not done, whatever the reason."""

import socket
from types import SimpleNamespace

import pytest

from tests.support.crawling import Crawl
from tests.support.warc_crawl import exchange, files
from tests.support.warc_reader import read
from webcrawl import __version__
from webcrawl.base.model import Link
from webcrawl.content.page import Page
from webcrawl.crawl.outputs import warc
from webcrawl.crawl.outputs.output import Dropped
from webcrawl.crawl.outputs.warc import Warc
from webcrawl.record.warc.warc_writer import WarcWriter
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.outputs import Outputs


def opened(monkeypatch, writer=None, fail=None, **more):
    """The output, opened with these values and this writer; the form of its files, and what else
    the writer is made with.
    """
    made = []
    run = SimpleNamespace(
        fail=fail,
        settings={},
        archiving=SimpleNamespace(),
        crawl=SimpleNamespace(parts=SimpleNamespace(db=None, outputs=None)),
    )
    monkeypatch.setattr(
        warc,
        "WarcWriter",
        lambda db, outputs, files, **given: made.append((files, given)) or writer,
    )
    values = {"WARC_PREFIX": "web", "WARC_MAX_SIZE": 1, "OUTPUTS": ("warc",)}
    values |= dict.fromkeys(("BOT_FROM", "WARC_DESCRIPTION", "WARC_COLLECTION"))
    values |= {"PURPOSE": (), "HIVE_DRONES": 0, "USER_AGENT": "mybot/1.0", "ROBOTSTXT_OBEY": True}
    output = Warc(values | more)
    output.open(run)
    return output, *made[0]


@pytest.mark.parametrize(
    "error", [StoreError("the disk is full"), MemoryError(), ZeroDivisionError("a bug")]
)
def test_a_failing_archive_ends_the_crawl(error, monkeypatch):
    """Any error of the archive ends the crawl with what is on disk, and no later pipeline gets the
    page.
    """

    def write(*args, **kwargs):
        raise error

    failures = []
    writer = SimpleNamespace(write=write)
    pipeline, *_ = opened(monkeypatch, writer, failures.append)
    with pytest.raises(Dropped):
        pipeline.process_item(Page.of(Link("http://a.test/"), exchange()))

    assert failures == [error]


def test_the_software_has_a_version(monkeypatch):
    """The warcinfo record names the software with its version, as the standard has it (WARC 1.1,
    6.2).
    """
    _, form, _ = opened(monkeypatch)

    assert form.info["software"] == f"webcrawl/{__version__}"


def test_whose_crawl_it_is(monkeypatch):
    """The warcinfo record names operator, description, collection and host if one of them is given
    (WARC 1.1, 6.2).
    """
    names = ("operator", "description", "isPartOf", "hostname")
    _, without, _ = opened(monkeypatch)
    given = {"WARC_DESCRIPTION": "Elections", "WARC_COLLECTION": "News", "BOT_FROM": "a@b.test"}
    _, form, _ = opened(monkeypatch, **given)

    assert not any(name in without.info for name in names)
    assert [form.info[name] for name in names] == [
        *("a@b.test", "Elections", "News"),
        socket.gethostname(),
    ]


def test_the_settings_of_a_crawl_are_in_its_archive(tmp_path, simweb):
    """The warcinfo record has them, and those within others: the pipelines, say."""
    server = simweb(1, 2)
    crawl = Crawl(
        tmp_path / "job",
        {"seeds": f"{server.world.origin(0)}/"},
        {"DNS_NAMESERVERS": server.nameserver},
    )

    assert crawl.run() == 0

    written = read(files(crawl.jobdir)[0])[0].about["settings"]
    assert "ITEM_PIPELINES_BASE={'webcrawl.adapter.pipelines." in written
    assert " object at 0x" not in written


@pytest.mark.parametrize(("cores", "beside"), [(1, False), (2, True)])
def test_whether_there_is_a_thread(monkeypatch, cores, beside):
    """Records are compressed in a thread if there is a core for it."""
    monkeypatch.setattr(warc, "usable_cores", lambda: [*range(cores)])
    *_, given = opened(monkeypatch)
    assert (given["queue"] is not None) == beside


@pytest.mark.parametrize(("drones", "begins"), [(0, "web-2"), (3, "web-002-2")])
def test_the_names_of_a_drones_files(tmp_path, monkeypatch, drones, begins):
    """A drone's number is in the names of its archive files, because others may begin one in the
    same second.
    """
    _, form, given = opened(monkeypatch, HIVE_DRONES=drones, HIVE_DRONE=2)
    db = CrawlDB(tmp_path / "state")
    outputs = Outputs(db, tmp_path)
    WarcWriter(db, outputs, form, **given).write(
        Link("http://a/"), exchange("http://a/"), duplicate=False, metadata={}
    )

    assert [path.name[: len(begins)] for path in (tmp_path / "warc").iterdir()] == [begins]
    outputs.close()
    db.close()
