"""What is opened is closed again if a later part cannot be opened."""

import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings

from tests.support.frontiers import add
from tests.support.places import ROOT
from webcrawl.adapter.values import plain_values
from webcrawl.crawl.assembly import assemble
from webcrawl.store import worker

PARTS = (
    "assembly.keep_terms",
    "ground.CrawlClock",
    "url_filters.FilterStates",
    "admission.RobotsRows",
    "open_frontier.ContentSeen",
    "assembly.open_frontier",
    "seeding.Seeding.open",
    "assembly.open_visitor",
)
OFF = {
    f"webcrawl.crawl.{name}"
    for name in (
        *(
            "open_revisits",
            "revisiting",
            "page_states",
            "signalling",
            "revisit.revisits",
            "revisit.signals",
        ),
        *("own_features", "score_book", "rendering.deciding", "requisites"),
        *("hive_parts", "hive.drone", "hive.batch", "hive.outbox", "metrics", "control.server"),
    )
}


def values(folder):
    settings = Settings()
    settings.setmodule("webcrawl.settings")
    settings.set("JOBDIR", str(folder))
    return plain_values(settings, "web")


def descriptors():
    return sorted(
        str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()
    )


@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="counts open files as Linux shows them"
)
@pytest.mark.parametrize("part", PARTS)
def test_nothing_stays_open(tmp_path, monkeypatch, part):
    """Whichever part fails, no file stays open, no thread is left, and the crawl can be opened
    again at once.
    """

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    begun, work = [], worker._work
    monkeypatch.setattr(
        worker, "_work", lambda jobs, ready, alive: begun.append(alive) or work(jobs, ready, alive)
    )
    with monkeypatch.context() as broken:
        broken.setattr(f"webcrawl.crawl.{part}", fail)
        with pytest.raises(OSError, match="Input/output") as caught:
            # its traceback holds on to what was not closed
            assemble(values(tmp_path), spider="web")

        open_files = [path for path in descriptors() if path.startswith(str(tmp_path))]
        assert (open_files, [lock for lock in begun if lock.locked()]) == ([], [])
        assert caught

    crawl, _ = assemble(values(tmp_path), spider="web")
    crawl.close()


@pytest.mark.parametrize(
    ("changed", "limited"),
    [
        ({}, True),
        ({"URL_SCOPE": "seeds"}, True),
        ({"URL_SCOPE": "host"}, False),
        ({"URL_SCOPE": "domain"}, False),
        (
            {"URL_SCOPE": "domain", "DOMAIN_BUDGET": "webcrawl.frontier.allowances.fixed.Fixed"},
            True,
        ),
        ({"DOMAIN_BUDGET": "webcrawl.frontier.allowances.unlimited.Unlimited"}, False),
    ],
)
def test_who_has_a_budget(tmp_path, changed, limited):
    """Budgets hold unless the scope keeps to the seeds' own sites; one that is set holds there too."""
    crawl, _ = assemble({**values(tmp_path), **changed}, spider="web")

    assert crawl.parts.frontier.core.queues.budgets.is_limited is limited
    crawl.close()


def test_what_is_said_of_a_crawl_that_is_over(tmp_path):
    """What was in flight at the last checkpoint waits again, and is counted so."""
    crawl, _ = assemble({**values(tmp_path), "ROBOTSTXT_OBEY": False}, spider="web")
    add(crawl.parts.frontier, "http://a.test/", "http://b.test/")
    crawl.parts.frontier.take(0.0)
    figures = crawl.stats()
    crawl.checkpoint(last=True)
    over = crawl.stats()
    crawl.close()

    assert (figures["queued"], figures["in_flight"]) == (1, 1)
    assert (over["queued"], over["in_flight"]) == (2, 0)


def test_what_is_off_is_not_imported(tmp_path):
    """A crawl with the defaults imports neither revisits nor scores, a hive, metrics or a control
    server.
    """
    code = (
        "import sys; from pathlib import Path; from tests.crawl.test_assembly import values\n"
        "from webcrawl.crawl.assembly import assemble\n"
        f"assemble(values(Path({str(tmp_path)!r})), spider='web')[0].close()\n"
        f"print(*({OFF!r} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert run.stdout.split() == []


def test_a_small_frontier_keeps_few_rules(tmp_path):
    """Rules in memory take a quarter of FRONTIER_MEMORY: less than 32 MiB where that is small."""
    crawl, _ = assemble({**values(tmp_path), "FRONTIER_MEMORY": 8}, spider="web")
    try:
        book = crawl.parts.robots.book
        for number in range(6000):
            book.record_answer(
                f"http://h{number}.test", 200, b"User-agent: *\nDisallow: /private/", 0.0
            )
        assert 1000 < len(book) < 4000
    finally:
        crawl.close()
