"""The last lines of a crawl."""

from collections import Counter
from pathlib import Path

import pytest

from webcrawl.crawl.last_lines import last_lines, next_commands
from webcrawl.frontier.wait_words import FAILURE, Waits


def test_an_archive_file_that_is_taken_away_meanwhile(tmp_path, monkeypatch):
    """A file that its owner moves at this moment is left out; so is one that cannot be looked at."""
    (tmp_path / "warc").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"warc/{name}.warc.gz").write_bytes(b"x" * 1_000_000)
    stat = Path.stat

    def fail(path, **options):
        if path.name == "two.warc.gz":
            raise FileNotFoundError(path)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", fail)

    assert (
        last_lines(tmp_path, Counter(), 1.0)[1]
        == f"1.0 MB in 1 WARC file; everything is in {tmp_path}"
    )


def test_failures_of_earlier_runs(tmp_path):
    """Pages are those of this run, failures those of all runs, which is said if there were others."""
    figures = Counter(pages=160, failures=28)
    assert last_lines(tmp_path, figures, 10.0)[0].endswith(
        "160 pages in 10 s (16 pages/s); 0 URLs queued, 28 failures"
    )
    line = "0 pages in 10 s (0.0 pages/s), 160 with earlier runs; 0 URLs queued, 28 failures in all"
    assert last_lines(tmp_path, figures, 10.0, 160)[0] == line


def test_what_bounded_it(tmp_path):
    """A line says what bounded the run, with what would help; of several drones only what bounded
    them.
    """
    figures = Counter({"bound/politeness": 5})
    assert last_lines(tmp_path, figures, 1.0)[1] == "bound by politeness 100 %"
    figures["bound"] = "politeness 100 % of the time; what helps: more hosts"
    assert (
        last_lines(tmp_path, figures, 1.0)[1]
        == "bound by politeness 100 % of the time; what helps: more hosts"
    )


def test_seeds_that_are_away(tmp_path):
    """If lists of seeds cannot be opened, or not be read to their ends, a line says so."""
    line = "1 list of seeds could not be read to the end (see the log); the next run tries again"
    assert last_lines(tmp_path, Counter(seed_lists_away=1), 1.0)[1] == line


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "requests/unkept",
            "5 requests of the spider lost, because they could not be kept on disk (see the log)",
        ),
        (
            "status/-5005",
            "5 requests ended with status -5005: the spider no longer has a method or value that they name",
        ),
        (
            "hive/refused",
            "5 items from the hive's server refused in this run (see the log)",
        ),
        ("redis_seeds/bad", "5 seeds from the server refused (see the log)"),
        (
            "truncated/unspecified",
            "5 answers unreadable from some point on: the rest is not in the crawl",
        ),
    ],
)
def test_what_was_lost_or_refused_is_said(tmp_path, name, line):
    """Requests that were lost, or have ended for a method that is gone, and what was refused, have
    a line each.
    """
    assert last_lines(tmp_path, Counter({name: 5}), 1.0)[1] == line


def test_paused_hosts_have_no_date(tmp_path):
    """If all deferred hosts are paused, none of them is due before somebody resumes it."""
    lines = last_lines(tmp_path, Counter(deferred=12, hosts_deferred=1, hosts_paused=1), 1.0)
    assert lines[1:3] == [
        "12 URLs of 1 deferred host",
        "1 host paused by command; their URLs count as deferred",
    ]


def test_a_deferred_host_that_is_waited_for_is_no_other_host(tmp_path):
    """If all URLs that are left are those of deferred hosts, no line speaks of others."""
    figures = {"queued": 4, "deferred": 4, "hosts_deferred": 1, "deferred_due": 1.0}
    waits = Waits(host="a.test", seconds=30.0, rule=FAILURE)
    lines = last_lines(tmp_path, {"pages": 0, "failures": 0, "waits": waits, **figures}, 1.0)
    assert lines[1] == (
        "4 URLs of 1 deferred host; run the same command to resume, the next is due now"
    )
    assert not [line for line in lines if "host left" in line]


def test_urls_that_a_hive_leaves(tmp_path):
    """If only hosts that do not answer have URLs left, a line says that another run goes on."""
    drones = [{"reason": "finished"}]
    figures = {"pages": 9, "failures": 3, "queued": 4, "hosts": 1, "drones": drones}
    line = "4 URLs of 1 host left; run the same command to resume"

    assert last_lines(tmp_path, {**figures, "reason": "finished"}, 1.0)[1] == line
    assert line not in last_lines(tmp_path, {**figures, "reason": "shutdown"}, 1.0)


def test_a_walk_says_how_far_it_came(tmp_path):
    """A random walk that ends before all its visits are made does not look as if it had made them."""
    assert (
        last_lines(tmp_path, Counter({"walk/visits": 8, "walk/steps": 500}), 1.0)[1]
        == "8 visits made of 500"
    )
    assert (
        last_lines(tmp_path, Counter({"walk/visits": 8, "walk/steps": 0}), 1.0)[1]
        == "8 visits made"
    )


def test_revisits_are_summed_up(tmp_path):
    """A crawl that fetches pages again says what came of that."""
    figures = Counter({"revisit/records": 9, "revisit/taken": 4, "revisit/unchanged_304": 4})
    assert last_lines(tmp_path, figures, 1.0)[1].startswith(
        "4 revisits of 9 pages (4 unchanged, 0 changed, 0 gone)"
    )


def test_paused_hosts_are_named(tmp_path):
    """If hosts are paused by command, a line says how many: nobody else will resume them."""
    lines = last_lines(tmp_path, Counter(hosts_paused=2), 1.0)
    assert lines[1] == "2 hosts paused by command; their URLs count as deferred"


def test_what_an_earlier_crawl_had_is_said(tmp_path):
    """How many pages were unchanged, how many answers came again the same (robots.txt too), and
    what was not stored.
    """
    figures = {
        "pages": 9,
        "failures": 0,
        "queued": 0,
        "since/unmodified": 3,
        "since/identical": 2,
        "since/bytes": 2_500_000,
    }

    assert last_lines(tmp_path, figures, 1.0)[1] == (
        "3 pages unchanged since the earlier crawl (status 304), 2 answers sent again unchanged: "
        "2.5 MB not stored"
    )


def test_pages_that_need_scripts_are_named(tmp_path):
    """With the setting that renders them; so are those that the browser left as they were sent."""
    figures = Counter({"need_scripts": 3120, "need_scripts/hosts": 41, "flaw/unrendered": 2})

    render = "-s RENDER=auto; for a complete crawl, in a new JOBDIR (docs/browser.md)"
    assert last_lines(tmp_path, figures, 1.0)[1:3] == [
        f"3120 pages of 41 hosts seem to need scripts: use {render}",
        "2 pages kept as sent: the browser had no time, or gave no document (unrendered)",
    ]


def test_answers_that_are_no_pages_are_named(tmp_path):
    """Servers' errors, block pages and forms to log in count as pages, so a line says how many there
    are of each.
    """
    figures = Counter(
        {"pages": 30, "status/200": 8, "status/404": 2, "status/503": 15, "status/429": 1}
    )
    block_pages = Counter({"recognised/wall/anubis": 4})

    assert last_lines(tmp_path, figures, 1.0)[1] == (
        "server errors: 16, retries included (429: 1, 503: 15)"
    )
    assert (
        last_lines(tmp_path, block_pages, 1.0)[1]
        == "bot challenges or block pages: 4, retries included (anubis: 4)"
    )
    seeming = Counter({"recognised/soft404": 40, "recognised/login": 5, "recognised/shell": 2})
    assert last_lines(tmp_path, seeming, 1.0)[1] == (
        "answers that do not seem to be pages: 45, retries included (login: 5, soft404: 40)"
    )
    assert "of the answers" not in "".join(
        last_lines(tmp_path, Counter({"status/200": 8, "status/503": 0}), 1.0)
    )


def test_urls_that_wait_because_their_like_brought_nothing_new(tmp_path):
    """The first line counts them apart from those over a budget."""
    figures = {"pages": 9, "failures": 0, "queued": 4, "over_budget": 4}
    both = figures | {"over_budget/folded": 3, "over_budget/domains": 1}

    said = (
        "4 URLs queued (1 URL over the budget of 1 domain, 3 folded by TRAP_RULES, "
        "because similar URLs brought nothing new)"
    )
    assert said in last_lines(tmp_path, both, 1.0)[0]
    folded = figures | {"over_budget/folded": 4, "over_budget/domains": 0}
    assert "(4 folded by TRAP_RULES, because " in last_lines(tmp_path, folded, 1.0)[0]


def test_links_that_are_in_no_queue_yet(tmp_path):
    """The first line counts links that wait for the seen store: 0 URLs queued would say that
    nothing is left.
    """
    figures = Counter({"pages": 2, "seen/waiting": 22})

    assert (
        "; 0 URLs queued and 22 links not yet looked up, 0 failures"
        in last_lines(tmp_path, figures, 1.0)[0]
    )
    assert "; 0 URLs queued, 0 failures" in last_lines(tmp_path, Counter({"pages": 2}), 1.0)[0]
    both = Counter({"links/waiting": 3, "seen/waiting": 4})
    assert " and 7 links not yet looked up" in last_lines(tmp_path, both, 1.0)[0]


def test_what_rules_left_out(tmp_path):
    """One line names what was left out, by rule: a crawl that left out 31,516 links did not say a
    word of them.
    """
    figures = Counter(
        {"refused/known_path": 31_516, "frontier/dropped/-9998": 2, "refused/scope": 40_000}
    )

    assert last_lines(tmp_path / "my job", figures, 1.0)[1] == (
        "left out: 31516 links (known_path: logins, forms, other views of the same pages), "
        f"2 URLs (forbidden by robots.txt); scrapy why '{tmp_path}/my job' URL shows the rule"
    )
    assert len(last_lines(tmp_path, Counter({"refused/scope": 40_000}), 1.0)) == 2


def test_sitemaps_that_are_not_there(tmp_path):
    """Answers to requests for sitemaps are counted, and are not said to be sitemaps: three may be
    errors.
    """
    figures = Counter({"sitemaps": 4, "sitemaps/urls": 50})

    assert "4 answers to requests for sitemaps, with 50 links" in last_lines(tmp_path, figures, 1.0)


def test_a_pause_that_lasts(tmp_path):
    """A crawl that a command has paused stays so in its next run, so a line names the command that
    resumes it.
    """
    said = last_lines(tmp_path, Counter({"paused": True}), 1.0)

    assert (
        f"paused by command: the next run fetches nothing until `scrapy ctl {tmp_path} resume`"
        in said
    )
    assert "paused by command" not in "".join(last_lines(tmp_path, Counter(), 1.0))


def test_an_archive_that_is_not_here(tmp_path):
    """No command is shown for an archive that a store has taken away: it would find nothing."""
    assert next_commands(tmp_path, ["warc"]) == [f"report: scrapy report {tmp_path}"]
    (tmp_path / "warc").mkdir()
    (tmp_path / "warc/one.warc.gz").touch()
    assert "of these pages: scrapy process " in next_commands(tmp_path, ["warc"])[0]


def test_block_pages_among_the_errors_of_servers(tmp_path):
    """A URL that got a block page of status 503 comes again, so how many have ended is a limit."""
    figures = {"status/503": 2, "statistics": {"outcomes": {"503": 2}}}
    line = "server errors: 2, retries included (503: 2); {}2 URLs ended with one (see crawl.log)"
    both = Counter({**figures, "recognised/wall/cloudflare": 2})

    assert line.format("") in last_lines(tmp_path, Counter(figures), 1.0)
    assert line.format("up to ") in last_lines(tmp_path, both, 1.0)
