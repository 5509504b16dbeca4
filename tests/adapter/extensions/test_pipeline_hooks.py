"""Pipelines that take part in the checkpoint, and feeds that do not."""

import json
import re
from collections import Counter
from contextlib import closing

import pytest

from tests.house.test_extending import ROOT, example
from tests.support.crawling import Crawl, wait_until
from webcrawl.crawl.checkpointing import Positions
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.outputs import Outputs
from webcrawl.tools.verify_crawl import verify

FEEDS = {"pages.jsonl": {"format": "jsonlines", "overwrite": False, "fields": ["url", "title"]}}


class Remembering:
    """A pipeline that stands where it is told to."""

    def __init__(self, position=None, call=None):
        self.position, self.call, self.restored = position, call, []

    def restore(self, position):
        self.restored.append(position)

    def checkpoint(self):
        if self.call is not None:
            self.call()
        return self.position


class Other(Remembering):
    """Another one."""


class Half:
    """A pipeline with a misspelt hook."""

    def checkpoint(self):
        return 1

    def restored(self, position):
        raise AssertionError


def fail():
    raise ZeroDivisionError("a mistake")


class TestPositions:
    def test_a_new_crawl_has_none(self, tmp_path):
        """Where no checkpoint has a position, None is restored, once."""
        with closing(CrawlDB(tmp_path / "state")) as db:
            pipeline = Remembering(5)
            Positions(db, [pipeline, object()])
            db.checkpoint()

        assert pipeline.restored == [None]

    @pytest.mark.parametrize("position", [0, 17, "a", b"\xff", [1, [2.5, None]], {"a": {1: True}}])
    def test_the_last_checkpoint_s(self, tmp_path, position):
        """Each pipeline gets what it gave at the last checkpoint, whatever msgpack can pack."""
        with closing(CrawlDB(tmp_path / "state")) as db:
            one, two = Remembering("old"), Other([2])
            Positions(db, [one, two])
            db.checkpoint()
            one.position = position
            db.checkpoint()
            one.position = "never kept"
        one, two = Remembering(), Other()
        with closing(CrawlDB(tmp_path / "state")) as db:
            Positions(db, [two, one])

        assert (one.restored, two.restored) == ([position], [[2]])

    def test_what_a_hook_writes_counts(self, tmp_path):
        """What a hook still writes to an output of the crawl is in the same checkpoint."""
        with closing(CrawlDB(tmp_path / "state")) as db:
            outputs = Outputs(db, tmp_path)
            output = outputs.open("rest.txt")
            Positions(db, [Remembering(1, lambda: output.write(b"the rest\n"))])
            db.checkpoint()
            outputs.close()
            assert db.query("SELECT path, length FROM output") == [("rest.txt", 9)]

    @pytest.mark.parametrize(
        ("position", "call"), [(1, fail), (object(), None)], ids=["raises", "cannot be packed"]
    )
    def test_a_checkpoint_that_fails(self, tmp_path, position, call):
        """A hook that raises, or that gives what cannot be packed, fails the checkpoint; the last
        one stays.
        """
        with closing(CrawlDB(tmp_path / "state")) as db:
            pipeline = Remembering(1)
            Positions(db, [pipeline])
            db.set("pages", b"1")
            db.checkpoint()
            pipeline.position, pipeline.call = position, call
            db.set("pages", b"2")
            with pytest.raises(
                StoreError, match=r"test_pipeline_hooks\.Remembering\.checkpoint failed: "
            ):
                db.checkpoint()
        with closing(CrawlDB(tmp_path / "state")) as db:
            pipeline = Remembering()
            Positions(db, [pipeline])
            assert (db.get("pages"), pipeline.restored) == (b"1", [1])

    def test_one_hook_alone(self, tmp_path, caplog):
        """A pipeline with one of the two hooks takes no part, and is told so."""
        with closing(CrawlDB(tmp_path / "state")) as db:
            Positions(db, [Half()])
            db.checkpoint()

        (line,) = caplog.messages
        assert line.endswith(
            "Half has only the hook checkpoint, so it takes no part in checkpoints: they need "
            "both `checkpoint` and `restore`"
        )


@pytest.fixture(name="project")
def _project(tmp_path):
    folder = tmp_path / "project"
    (folder / "myproject").mkdir(parents=True)
    (folder / "myproject/__init__.py").touch()
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = webcrawl.settings\n")
    return folder


def crawl_of(tmp_path, server, project=ROOT, **settings):
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, "CONCURRENT_REQUESTS": 4, **settings}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings, project=project)


def pages(crawl):
    """The URLs that the crawl's own log has, robots.txt left aside."""
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    return sorted(line.split()[3] for line in lines if line.split()[4][-1:] != "P")


def interrupted(crawl, *, kill):
    """Runs the crawl three times, to its end; twice it is stopped before, when a checkpoint has so
    many pages.
    """
    file = crawl.jobdir / "stats.json"
    for many in (30, 60):
        running = crawl.start(CHECKPOINT_INTERVAL=0.2)
        wait_until(lambda many=many: file.exists() and crawl.stats["pages"] > many)
        if kill:
            running.kill()
        else:
            running.interrupt()
            assert running.wait() == 0
    assert crawl.run() == 0
    assert list(verify(crawl.jobdir, Counter())) == []


class TestCrawls:
    @pytest.mark.campaign
    @pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
    def test_every_page_once(self, tmp_path, simweb, project, kill):
        """The pipelines of docs/pipelines.md and a feed have each page once, of a crawl that is
        stopped or killed.
        """
        server = simweb(8, 120, latency=0.02)
        for name in ("TitlesFilePipeline", "WordsPipeline"):
            (project / f"myproject/{name.lower()}.py").write_text(
                example("docs/pipelines.md", name)
            )
        names = (
            "myproject.titlesfilepipeline.TitlesFilePipeline",
            "myproject.wordspipeline.WordsPipeline",
        )
        settings = {
            "ITEM_PIPELINES": json.dumps(dict.fromkeys(names, 300)),
            "FEEDS": json.dumps(FEEDS),
        }
        crawl = crawl_of(tmp_path, server, project, **settings)

        interrupted(crawl, kill=kill)

        titles = (project / "titles.tsv").read_text().splitlines()
        words = (crawl.jobdir / "words.jsonl").read_text().splitlines()
        fed = re.findall(r'"url": "([^"]+)"', (project / "pages.jsonl").read_text())
        assert sorted(line.split("\t")[0] for line in titles) == pages(crawl)
        assert sorted(json.loads(line)[0] for line in words) == pages(crawl)
        assert len(titles) == len(set(titles)) == 120
        assert sorted(fed) == pages(crawl)

    def test_a_hook_that_fails_ends_the_crawl(self, tmp_path, simweb, project):
        """A hook's mistake ends the crawl with a line and its traceback; with it mended, each page
        is there once.
        """
        server = simweb(4, 60, latency=0.02)
        good = example("docs/pipelines.md", "TitlesFilePipeline")
        module = project / "myproject/titles.py"
        module.write_text(
            good.replace(
                "return self.file.tell()", "return self.file.tell() // (self.file.tell() < 900)"
            )
        )
        names = '{"myproject.titles.TitlesFilePipeline": 300}'
        crawl = crawl_of(tmp_path, server, project, ITEM_PIPELINES=names, CHECKPOINT_INTERVAL=0.2)

        status = crawl.run()
        said = crawl.output.read_text()

        assert (status, crawl.stats["reason"]) == (1, "store_failed")
        assert "myproject.titles.TitlesFilePipeline.checkpoint failed: ZeroDivisionError" in said
        assert "ZeroDivisionError" in (crawl.jobdir / "logs/errors.log").read_text()
        assert list(verify(crawl.jobdir, Counter())) == []

        module.write_text(good)
        assert crawl.run() == 0
        rows = [line.split("\t")[0] for line in (project / "titles.tsv").read_text().splitlines()]
        assert sorted(rows) == pages(crawl)
        assert len(rows) == 60

    def test_a_pipeline_that_cannot_be_restored(self, tmp_path, simweb, project):
        """If a position cannot be restored, no page is fetched."""
        server = simweb(2, 20)
        text = example("docs/pipelines.md", "TitlesFilePipeline")
        text = re.sub(r"self\.file\.seek\(.*\)", "raise FileNotFoundError('titles.tsv')", text)
        (project / "myproject/titles.py").write_text(text)
        crawl = crawl_of(
            tmp_path, server, project, ITEM_PIPELINES='{"myproject.titles.TitlesFilePipeline": 300}'
        )

        assert crawl.run() == 1
        assert (
            "TitlesFilePipeline.restore failed: FileNotFoundError('titles.tsv')"
            in crawl.output.read_text()
        )
        assert server.log.hits == []
        assert crawl.stats["reason"] == "store_failed"
