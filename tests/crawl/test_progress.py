"""The progress of a crawl or a hive, in words."""

import pytest

from webcrawl.crawl.progress import (
    Rate,
    line,
    revisits_in_words,
    short_line,
    stopped_by,
    waits_for,
)

FIGURES = {
    "pages": 350,
    "answers": 400,
    "queued": 7,
    "hosts": 6,
    "in_flight": 2,
    "ready": 3,
    "seen/keys": 99,
    "failures": 4,
    "bytes": 2_500_000,
}


def test_the_rate_is_that_of_the_last_ten_seconds():
    """The rate is that of the last ten seconds, however long the crawl has run."""
    clock = iter([100.0, 110.0, 120.0])
    rate = Rate(lambda: next(clock))

    assert [round(rate.of(pages), 1) for pages in (0, 50, 350)] == [0, 5.0, 30.0]


def test_the_line():
    """A progress line has pages, their rate, answers, queued URLs, hosts, URLs seen, failures and
    bytes.
    """
    rest = (
        "of 400 answers, 7 queued, hosts: 2 active 3 ready 1 waiting, 99 seen, 4 failures, 2.5 MB"
    )

    assert line(FIGURES, 30.0) == f"350 pages (30.0/s) {rest}"
    assert line(FIGURES) == f"350 pages {rest}"


def test_the_line_of_a_hive():
    """Of figures that are not known nothing is said: of a hive's hosts only the sum is."""
    assert (
        line({"pages": 1, "queued": 2, "hosts": 3, "failures": 1})
        == "1 page, 2 queued, 3 hosts, 1 failure"
    )


def test_the_line_says_what_is_deferred():
    """If hosts are deferred, the line says how many of the URLs are theirs."""
    assert "7 queued (5 URLs of 2 deferred hosts), hosts: " in line(
        {**FIGURES, "deferred": 5, "hosts_deferred": 2}
    )


def test_what_it_waits_for():
    """What is in the way counts more than the host that is next."""
    assert waits_for({"trouble": "no network", "waits": "waits 3 s for a.test"}) == "no network"
    assert waits_for({"trouble": "", "waits": "waits 3 s for a.test"}) == "waits 3 s for a.test"
    assert waits_for({}) == ""


def test_how_fresh_copies_are():
    """Of a crawl that fetches pages again; on a terminal in place of the URLs seen, within 80
    columns.
    """
    many = 999_999_999_999
    figures = dict.fromkeys(("pages", "queued", "seen/keys", "failures", "bytes"), many)
    figures |= {"hosts": 60_000, "in_flight": 2_000, "ready": 20_000}
    again = {
        "revisit/records": many,
        "revisit/taken": many,
        "revisit/freshness": 1.0,
        "revisit/sampled": 4096,
    }
    said = short_line({**figures, **again}, 0.0)

    assert revisits_in_words({**figures, **again}) == [f"{many} revisits (100% fresh)"]
    assert revisits_in_words(figures) == []
    assert "  fresh 100%  " in said
    assert len(said) <= 80


@pytest.mark.parametrize("many", [0, 9_999, 12_345_678, 999_999_999_999])
def test_the_line_of_a_terminal(many):
    """On a terminal all figures fit into 80 columns, however large the crawl is; trouble stands
    first.
    """
    figures = dict.fromkeys(("pages", "queued", "seen/keys", "failures", "bytes"), many)
    figures |= {
        "hosts": min(many, 60_000),
        "in_flight": min(many, 2_000),
        "ready": min(many // 4, 20_000),
    }
    said, troubled = (
        short_line(figures, many / 1e9),
        short_line({**figures, "trouble": "no name server"}, 0.0),
    )

    assert len(said) <= 80
    assert [word for word in said.split() if word.isalpha()] == [
        "pages",
        "queue",
        "hosts",
        "seen",
        "failed",
    ]
    assert len(troubled) <= 80
    assert troubled.startswith("no name server")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("stopped", "stopped by command: run the same command to resume"),
        ("closespider_timeout", "stopped by CLOSESPIDER_TIMEOUT: run the same command to resume"),
        ("memusage_exceeded", "stopped by MEMUSAGE_LIMIT_MB: run the same command to resume"),
        (
            "cancelled",
            "stopped by code of the project, with the reason 'cancelled': run the same command to resume",
        ),
        ("finished", ""),
        ("store_failed", ""),
    ],
)
def test_what_stopped_a_run(reason, said):
    """A run says whether an order, a limit (of memory too) or code of the project has stopped it."""
    assert stopped_by(reason) == said


def test_a_limit_that_the_last_page_met():
    """If nothing is left to do, nobody is told to resume the crawl."""
    said = stopped_by("closespider_pagecount", is_work_left=False)

    assert said == "stopped by CLOSESPIDER_PAGECOUNT, with nothing left to do"
