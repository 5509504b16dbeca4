"""Builder and crawler in turns, with a crawler that only says what it did."""

import json

import pytest

from tests.tools.segments.crawls import crawled, urls_of, values
from webcrawl.base.model import Link
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.stats_file import NAME as STATS
from webcrawl.tools.segments.segment_run import Run

A, B, C = (f"http://{name}.test/" for name in "abc")


class Crawler:
    """Finds what `web` says; hosts of `away` are asked only when it waits."""

    def __init__(self, jobdir, web, away=()):
        self.jobdir, self.web, self.away = jobdir, web, {*away}
        self.segments, self.status, self.reason, self.queued = [], 0, "finished", set()
        self.complete = self.interrupts = False

    def is_complete(self, _):
        return self.complete

    def crawl(self, segment, *, wait):
        self.segments.append((urls_of(segment), wait))
        if self.reason is None:
            return self.status
        asked = {*urls_of(segment), *self.queued}
        self.queued = asked & self.away if not wait else set()
        asked -= self.queued
        found = [[Link(to, "L", url, url) for to in self.web.get(url, ())] for url in sorted(asked)]
        crawled(self.jobdir, asked=sorted(asked), found=[links for links in found if links])
        (self.jobdir / STATS).unlink(missing_ok=True)
        (self.jobdir / STATS).write_text(json.dumps({"reason": self.reason, "queued": len(self.queued)}))
        if self.interrupts:
            raise KeyboardInterrupt
        return self.status


@pytest.fixture(name="run")
def _run(tmp_path):
    (tmp_path / "seeds.txt").write_text(A)

    def make(web, **more):
        crawler, said = Crawler(tmp_path / "job", web, **more), []
        made = Run(tmp_path / "job", values(), str(tmp_path / "seeds.txt"), 10, 10, crawler, said.append)
        return made, crawler, said

    return make


def test_until_nothing_is_new(run):
    """Each segment is what the one before has found, and was not known."""
    made, crawler, said = run({A: [B, A], B: [C, A], C: [B]})

    assert made.run() == 0
    assert crawler.segments == [([A], False), ([B], False), ([C], False)]
    assert said[0] == "segment 1: 1 URL of 1 host, 0 left for later; 0 pages fetched, 0 in all"
    assert said[-1].endswith("3 segments, 0 pages: nothing is new")


def test_hosts_that_are_away_are_waited_for_at_the_end(run):
    """What they have then leads on."""
    made, crawler, _ = run({A: [B], B: [C]}, away=[B])

    assert made.run() == 0
    assert crawler.segments == [([A], False), ([B], False), ([B], True), ([C], False)]


@pytest.mark.parametrize(
    ("status", "reason", "said_"), [(0, "shutdown", "ended by shutdown"), (3, "x", "exit status 3")]
)
def test_a_crawl_that_ends_early_ends_the_run(run, status, reason, said_):
    """With its status; the same command resumes that segment."""
    made, crawler, said = run({A: [B]})
    crawler.status, crawler.reason = status, reason

    assert made.run() == status
    assert said_ in said[-1]
    crawler.status, crawler.reason = 0, "finished"
    assert made.run() == 0
    assert [urls for urls, _ in crawler.segments] == [[A], [A], [B]]


def test_old_figures_are_no_sign_of_an_end(run):
    """A crawl that has not written its own has not said that it finished: exit status 1."""
    made, crawler, said = run({A: [B]})
    made.run()
    made, again, said = run({A: [B], B: [C]})
    made.say = said.append
    crawled(made.jobdir, found=[[Link(C, "L", A, A)]])
    again.reason = None

    assert made.run() == 1
    assert "it has not said how it ended" in said[-1]
    assert crawler.segments[-1][0] == [B]
    assert again.segments == [([C], False)]


def test_a_segment_of_which_nothing_is_left(run):
    """Its crawl ends at once and writes no figures: the run goes on behind it, as after a kill at that crawl's end."""
    made, crawler, _ = run({A: [B]})
    crawler.interrupts = True
    with pytest.raises(KeyboardInterrupt):
        made.run()

    made, crawler, said = run({})
    crawler.reason, crawler.complete = None, True
    assert made.run() == 0
    assert crawler.segments == [([A], False), ([B], False)]
    assert said[0] == "segment 1: resumed; 0 pages fetched, 0 in all"


def test_no_seed(run, tmp_path):
    """Nothing to begin with is one line."""
    made, _, _ = run({})
    (tmp_path / "seeds.txt").write_text("mailto:nobody@a.test\n")

    with pytest.raises(StoreError, match="no seed is left that may be fetched"):
        made.run()
