"""What a segment is built of where a crawl has left tables."""

import io
from contextlib import closing
from shutil import rmtree

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.tools.segments.crawls import builder, crawled
from webcrawl.base.model import unpack
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.segments import link_tables
from webcrawl.tools.segments.earlier_crawl import earlier_crawls


def table(**columns):
    written = io.BytesIO()
    parquet.write_table(
        pa.table({name: pa.array(values) for name, values in columns.items()}), written
    )
    return written.getvalue()


def links(*numbers):
    """Of each of these pages one."""
    pages, targets = (
        [f"http://a.test/{one}" for one in numbers],
        [f"http://b.test/{one}" for one in numbers],
    )
    count = len(numbers)
    return table(from_url=pages, to_url=targets, kind=["a"] * count, followed=[True] * count)


def pages(numbers):
    urls = [f"http://a.test/{one}" for one in numbers]
    return table(
        url=urls,
        hops=["LL"] * len(urls),
        via=["http://v.test/"] * len(urls),
        seed=["http://s.test/"] * len(urls),
    )


def crawl(folder, *, clean=True, **tables):
    return crawled(
        folder, requested=["http://a.test/"], found=None, clean=clean,
        outputs={f"tables/{name.replace('_', '-')}.parquet": data for name, data in tables.items()},
    )  # fmt: skip


def ways(jobdir):
    """How the links were found that a build reads."""
    with builder(jobdir) as made:
        made.read(earlier_crawls(jobdir))
        found = []
        made.pool.add = lambda records: found.extend(map(unpack, records))
        made.make(1000, 10)
    return {one.url.rpartition("/")[2]: (one.path, one.seed) for one in found}


FOUND = "LlL", "http://s.test/"


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(link_tables, "WINDOW_PAGES", 5)


def test_a_later_build(tmp_path):
    """It finds the pages of its links however many the builds before it had."""
    made = crawl(tmp_path / "job", links_00000=links(0, 1), pages_00000=pages(range(40)))
    assert ways(made) == {"0": FOUND, "1": FOUND}
    crawl(made, links_00001=links(20, 22, 25))

    assert ways(made) == {"20": FOUND, "22": FOUND, "25": FOUND}


def test_pages_that_are_not_in_finished_files(tmp_path, caplog):
    """While the crawl runs, their links are left for later; else they count as seeds."""
    made = crawl(tmp_path / "job", clean=False, links_00000=links(0, 1), pages_00000=pages([0]))
    assert ways(made) == {"0": FOUND}
    assert (
        f"{made}: the crawl is running or was killed, so links-00000.parquet is left for later"
        in caplog.text
    )
    crawl(made, pages_00001=pages([1]))

    assert ways(made) == {"1": FOUND}


def test_a_page_of_which_nobody_knows(tmp_path):
    """It counts as a seed, and the others are found."""
    made = crawl(tmp_path / "job", links_00000=links(9, 0), pages_00000=pages(range(3)))

    assert ways(made) == {"9": ("L", "http://a.test/9"), "0": FOUND}


def test_another_crawl_in_the_same_folder(tmp_path):
    """Its tables are read, those too that have the names of earlier ones and come only later."""
    made = crawl(
        tmp_path / "job", links_00000=links(0), links_00001=links(1), pages_00000=pages([0, 1])
    )
    assert ways(made) == {"0": FOUND, "1": FOUND}
    for name in ("state", "logs", "tables"):
        rmtree(made / name)
    with closing(CrawlDB(made / "state")) as db:
        db.set("key", b"another crawl's.")
        db.checkpoint()
    crawl(made, links_00000=links(2), pages_00000=pages([2]))
    assert ways(made) == {"2": FOUND}
    crawl(made, links_00001=links(3), pages_00001=pages([3]))

    assert ways(made) == {"3": FOUND}
