"""Every number of the report is what crawl.log says, by other code."""

import pytest

from webcrawl.base.model import Status

pytestmark = pytest.mark.xdist_group("report")  # one crawl for all of them


def test_it_is_about_something(crawled):
    """The crawl has what the following tests compare."""
    truth = crawled.truth
    assert sum(truth.documents.values()) > 100
    assert len(truth.outcomes) > 2
    assert truth.robots
    assert truth.failures.total()
    assert truth.duplicates


def test_stats_json_says_the_same(crawled):
    """The statistics in stats.json, which went through a kill, agree with the log."""
    told, truth = crawled.stats["statistics"], crawled.truth

    assert told["documents"] == truth.documents.total()
    assert told["document_bytes"] == truth.host_bytes.total()
    assert {int(status): many for status, many in told["outcomes"].items()} == truth.outcomes
    assert {int(status): many for status, many in told["robots_txt"].items()} == truth.robots
    assert told["hosts"]["with_documents"] == len(+truth.documents)
    assert (sum(told["series"]["downloads"]), sum(told["series"]["bytes"])) == (
        truth.downloads,
        truth.sent,
    )
    assert sum(told["series"]["documents"]) == truth.documents.total()
    assert sum(told["milliseconds"].values()) == truth.downloads


def test_the_large_numbers(crawled):
    """Documents, hosts, URLs and seeds."""
    tiles, truth = crawled.page.tiles(), crawled.truth

    assert tiles["pages"] == f"{truth.documents.total():,}"
    assert tiles["hosts with pages"] == f"{len(+truth.documents):,}"
    assert tiles["URLs ended"] == f"{truth.outcomes.total():,}"
    assert tiles["URLs queued"] == f"{crawled.stats['queued']:,}"
    assert tiles["seeds with an outcome"] == f"{len(truth.seeds):,}"


def test_outcomes(crawled):
    """Both tables of outcomes, with robots.txt apart."""
    page, truth = crawled.page, crawled.truth

    assert {row[0]: row[2] for row in page.numbers("outcome-table")} == truth.outcomes
    assert {row[0]: row[2] for row in page.numbers("robots-table")} == truth.robots
    whole = truth.outcomes.total()
    assert page.rows("outcome-table")[0][3] == f"{100 * max(truth.outcomes.values()) / whole:.1f} %"


def test_urls_without_a_good_answer(crawled):
    """URLs that robots.txt forbids have no good answer either."""
    outcomes = crawled.truth.outcomes
    bad = sum(urls for status, urls in outcomes.items() if status < 0 or status >= 400)
    share = 100 * bad / sum(outcomes.values())

    assert outcomes[Status.ROBOTS_FORBIDDEN] > 0
    assert f"{share:.1f} % without a good answer" in crawled.page.text


def test_types_sizes_and_depths(crawled):
    """Documents by type, by size and by depth."""
    page, truth = crawled.page, crawled.truth

    assert {row[0]: row[1] for row in page.numbers("type-table")} == truth.types
    assert {row[0]: row[-1] for row in page.numbers("size-table") if row[-1]} == truth.sizes
    assert {row[0]: row[1] for row in page.numbers("depth-table")} == truth.depths
    for kind, *_, size, mean in page.rows("type-table"):
        assert size == shown(truth.type_bytes[kind])
        assert mean == shown(truth.type_bytes[kind] / truth.types[kind])


def test_each_host_has_documents_failures_and_duration(crawled):
    """Documents, bytes, failures and mean duration of each host."""
    page, truth = crawled.page, crawled.truth
    rows = page.numbers("host-table")

    assert {row[0]: row[1] for row in rows} == +truth.documents
    for host, _, _, size, failures, mean in rows:
        assert size == shown(truth.host_bytes[host])
        assert failures == truth.failures[host]
        assert mean == f"{sum(truth.durations[host]) / len(truth.durations[host]):.0f} ms"
    assert {row[0]: row[1] for row in page.numbers("failing-table")} == +truth.failures
    slow = {host for host, durations in truth.durations.items() if len(durations) >= 3}
    assert {row[0] for row in page.rows("slow-table")} == slow


def test_top_level_domains(crawled):
    """Hosts and documents by top-level domain."""
    page, truth = crawled.page, crawled.truth

    assert {row[0]: row[3] for row in page.numbers("domain-table")} == truth.domains
    assert sum(row[1] for row in page.numbers("domain-table")) == len(+truth.documents)


def test_duplicates(crawled):
    """Bodies seen before."""
    many = crawled.truth.duplicates
    assert (f"{many:,} of" if many else "No body") in crawled.page.section("copies")


def test_each_seed_has_what_was_found_from_it_on(crawled):
    """What was found, fetched and failed from each seed on, its bytes, and how it ended itself."""
    page, truth = crawled.page, crawled.truth
    rows = page.numbers("seed-table")

    assert {row[0]: row[2:5] for row in rows} == {
        seed: row[:3] for seed, row in truth.seeds.items()
    }
    for seed, outcome, *_, size in rows:
        assert outcome.startswith(f"{truth.seed_status[seed]} ")
        assert size == shown(truth.seeds[seed][3])
    failed = [row[0] for row in rows if not 0 < truth.seed_status[row[0]] < 400]
    assert "http://nowhere.test/" in failed
    assert [row[0] for row in rows[: len(failed)]] == failed


def test_the_report_of_a_killed_crawl_is_of_its_last_checkpoint(crawled):
    """The report of the killed crawl is of its last checkpoint is not a valid number is above those of the
    end.
    """
    then = {row[0]: row[2] for row in crawled.killed.numbers("outcome-table")}

    assert sum(then.values()) > 0
    assert all(many <= crawled.truth.outcomes[status] for status, many in then.items())
    assert "was killed" in crawled.killed.text
    assert "ended (finished)" in crawled.page.text


def test_what_differs_from_the_defaults(crawled):
    """Settings that are as they always are need no line; arguments have one."""
    rows = {row[0]: row[1:] for row in crawled.page.rows("terms-table")}

    assert rows["RANDOM_SEED"] == ["7", "0"]
    assert "FRONTIER_LEVELS" not in rows
    assert rows["spider"][0] == "web"
    assert rows["-a seeds"][0].endswith("seeds.txt")


def test_what_was_skipped(crawled):
    """The filters' counters, and what ended when its turn came."""
    told = {
        name.partition("/")[2]: many
        for name, many in crawled.stats.items()
        if name.startswith("refused/")
    }
    dropped = {
        name: many for name, many in crawled.stats.items() if name.startswith("frontier/dropped/")
    }

    names = ("links/cut", "copies/elsewhere", "copies/nested", "sitemaps/cut")
    read = sum(crawled.stats.get(name, 0) for name in names)
    skipped = sum(row[2] for row in crawled.page.numbers("skipped-table"))
    assert skipped == sum(told.values()) + sum(dropped.values()) + read


def shown(size):
    """Bytes in decimal units, to three digits."""
    for unit, word in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= 0.9995 * unit:
            return (
                f"{size / unit:.0f} {word}" if size >= 99.95 * unit else f"{size / unit:.3g} {word}"
            )
    return f"{size:.0f} B"
