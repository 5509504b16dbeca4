"""A crawl of sites of which much is odd: what the last lines, the report, `verify` and the
dashboard say of it is so.

The tests look for figures, names and states in what is said, whatever the words around them are.
"""

import re
import shutil
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.dashboards import dashboard
from tests.support.odd_site import AWAY, PAGES, crawled
from tests.support.reports import Report
from webcrawl.tools.report.report_page import report

pytestmark = pytest.mark.xdist_group("odd site")  # one crawl for all
FOUND = 1 + len(PAGES)


@pytest.fixture(name="odd", scope="module")
def _odd(tmp_path_factory):
    """The crawl, what it said, and the report on it; nobody may write there."""
    found = crawled(tmp_path_factory.mktemp("odd"))
    found.said = [line.partition("] ")[2] for line in found.crawl.output.read_text().splitlines()]
    found.report = Report(
        report(found.job, {"CONTENT_SEEN": "skip", "HOST_MAX_FAILURES": "12"}, 0.0)
    )
    return found


def line_of(said, *words):
    """The only line that has all these words."""
    found = [line for line in said if all(word in line for word in words)]
    assert len(found) == 1, (words, found)
    return found[0]


class TestLastLines:
    def test_what_came_of_it(self, odd):
        """Pages, the hosts that gave an answer, URLs that wait, and failed attempts are counted in
        one line.
        """
        line = line_of(odd.said, "pages/s")

        assert odd.status == 0
        assert f" {FOUND} pages in " in line
        assert "2 hosts" in line  # whatever they answered: moved.test gave a redirect
        assert f"{len(AWAY) + 1} URLs queued" in line
        assert f"{odd.crawl.stats['failures']} failures" in line

    def test_urls_without_a_page(self, odd):
        """They are counted by status, redirects too, and an error of a server is not among them."""
        assert re.search(r"4 answers .*301: 2.*404: 2\)", line_of(odd.said, "404: "))

    def test_errors_of_servers(self, odd):
        """Each attempt is counted, and besides the URLs that ended so."""
        line = line_of(odd.said, "500: ")
        attempts = odd.requested.count(("good.test", "/error"))

        assert attempts == 3
        assert f"500: {attempts}" in line
        assert re.search(r"\b1 URL\b", line)

    def test_block_pages(self, odd):
        """They are counted by vendor, and are no pages."""
        assert "anubis: 1" in line_of(odd.said, "anubis")

    def test_a_host_that_is_away(self, odd):
        """Its URLs are counted, and it is said when its next turn is, and that the same command
        goes on.
        """
        line = line_of(odd.said, "deferred", "run the same command")

        assert f"{len(AWAY) + 1} URLs of 1 deferred host" in line
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d$", line)

    def test_what_rules_left_out(self, odd):
        """Each rule is named with how much it left out, and the command that tells of a URL."""
        line = line_of(odd.said, "left out")

        assert re.search(r"3 URLs \(forbidden by robots\.txt\)", line)
        assert re.search(r"1 link \(known_path\b", line)
        assert f" why {odd.job} URL" in line

    def test_what_bounded_it(self, odd):
        """A cause with its share of the time, whatever it was on this machine, and what helps
        against it.
        """
        assert re.search(
            r"bound by .* \d+ % of the time.*; what helps: .", line_of(odd.said, "bound by")
        )

    def test_seeds(self, odd):
        """Seeds are counted, a line that is none is named by its number."""
        assert line_of(odd.said, "seeds.txt", "line 6")
        assert re.search(r"\b4 seeds, 1 bad\b", line_of(odd.said, "seeds.txt", "4 seeds"))

    def test_a_seed_that_the_guard_refuses(self, odd):
        """The setting that lets it in is named at once, with what is allowed already."""
        line = line_of(odd.said, "10.0.0.1", "private")

        assert "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/16,10.0.0.0/8" in line


class TestReport:
    def test_the_large_numbers(self, odd):
        """Pages, URLs that ended and that wait, and seeds, each with what goes with it."""
        overview = odd.report.section("overview")
        outcomes = [(row[0], row[2]) for row in odd.report.numbers("outcome-table")]
        ended = sum(count for _, count in outcomes)
        bad = sum(count for status, count in outcomes if not 200 <= status < 400)

        assert odd.report.tiles()["pages"] == str(FOUND)
        assert odd.report.tiles()["URLs ended"] == str(ended)
        assert bad > 3  # 404, 404 and 500, and what was not requested
        assert f"{bad / ended:.1%} without".replace("%", " %") in overview
        assert "4 hosts known" in overview
        assert f"{len(AWAY) + 1} of 1 deferred host" in overview
        assert re.search(r"seeds with an outcome\s*3\s*of 4", overview)

    def test_what_went_wrong(self, odd):
        """Missing pages, errors of servers, block pages and what was left out are counted as in the
        last lines.
        """
        wrong = odd.report.section("wrong")

        assert "404: 2" in wrong
        assert "500: 3" in wrong
        assert "1 URL ended with one" in wrong
        assert "anubis: 1" in wrong
        assert "3 URLs (forbidden by robots.txt)" in wrong
        refused = [row[2] for row in odd.report.numbers("wrong-table") if "refused" in row[1]]
        assert refused == [row[2] for row in odd.report.numbers("robots-table") if row[0] == -2]

    def test_each_seed(self, odd):
        """A seed has the outcome of where it led; one that was never answered says what its host
        is.
        """
        good, moved, away, inner = odd.seeds
        rows = {url: rest for url, *rest in odd.report.numbers("seed-table")}

        assert rows[good][0].startswith("200")
        assert "redirect" not in rows[good][0]
        assert rows[moved][0].startswith("200")
        assert "after redirects" in rows[moved][0]
        assert (rows[moved][1], rows[moved][2]) == (2, 1)  # itself, and the page that it led to
        assert "no outcome" in rows[away][0]
        assert "deferred" in rows[away][0]
        assert rows[inner][0].startswith("-5001")
        assert "1 seed of 4" in odd.report.section("seeds")

    def test_what_was_left_out(self, odd):
        """A row for each rule that left anything out."""
        rows = {
            reason.partition(":")[0]: many
            for reason, _, many in odd.report.numbers("skipped-table")
        }

        assert (rows["forbidden by robots.txt"], rows["known_path"]) == (3, 1)

    def test_who_waits(self, odd):
        """The host that is away has its row, with its URLs; the one that is given up another; and
        nothing else is.
        """
        waiting = odd.report.section("waiting")

        ((name, urls, failures, why, _),) = odd.report.numbers("deferred-table")
        assert (name, urls) == ("away.test", len(AWAY) + 1)
        assert failures >= 2
        assert "robots.txt" in why
        assert odd.report.numbers("queue-table") == [["away.test", len(AWAY) + 1]]
        assert [name for name, _ in odd.report.rows("given-up-table")] == ["10.0.0.1"]
        assert odd.report.rows("blocked-table") == odd.report.rows("budget-table") == []
        assert "No host answers with block pages" in waiting

    def test_hosts(self, odd):
        """A host of which three downloads are known may be called slow; the one with an error has
        failed once.
        """
        assert [name for name, *_ in odd.report.rows("slow-table")] == ["good.test"]
        assert odd.report.numbers("failing-table") == [["good.test", 1, 11]]

    def test_documents(self, odd):
        """Copies, and how deep documents lie: a redirect is no step."""
        assert f"1 of {FOUND} documents" in odd.report.section("copies")
        assert [one[:2] for one in odd.report.numbers("depth-table")] == [[0, 2], [1, 4]]

    def test_the_rest_fits_on_the_disk(self, odd):
        """What is queued is compared with what is free."""
        assert re.search(
            rf"\bThe {len(AWAY) + 1} queued URLs\b.*\benough\b", odd.report.section("disk")
        )

    def test_settings_that_differ(self, odd):
        """Those of this run that are not the defaults are listed with both values."""
        rows = {name: values for name, *values in odd.report.rows("terms-table")}

        assert rows["HOST_MAX_FAILURES"] == ["2", "12"]
        assert "CONTENT_SEEN" not in rows

    def test_how_it_ended(self, odd):
        """The head says that the last run has ended, and why."""
        (lead,) = odd.report.tree.xpath("//p[@class='lead']")

        assert "finished" in lead.text_content()
        assert "killed" not in lead.text_content()


class TestVerify:
    def test_what_there_is(self, odd):
        """Queued URLs, texts and those of them in the index, and the rows of tables are counted."""
        done = command("webcrawl", "verify", odd.job)

        assert done.returncode == 0
        assert f"{len(AWAY) + 1} URLs queued" in line_of(done.stdout.splitlines(), "frontier")
        texts = FOUND - 1  # a copy has none
        assert re.search(
            rf"\b{texts} pages\b.*\b{texts} of them\b", line_of(done.stdout.splitlines(), "text")
        )
        lines = (odd.job / "logs/crawl.log").read_bytes().count(b"\n")
        assert f"{lines} pages" in line_of(done.stdout.splitlines(), "tables")

    def test_an_archive_that_is_no_longer_here(self, odd, tmp_path):
        """It is named, and all else is looked at; the next run names it too, and says what tells
        more.
        """
        shutil.copytree(odd.job, tmp_path / "job", ignore=shutil.ignore_patterns("control.sock"))
        (archive,) = (tmp_path / "job/warc").glob("*.warc.gz")
        archive.unlink()
        verified = command("webcrawl", "verify", tmp_path / "job")

        assert f"warc/{archive.name}" in line_of(verified.stdout.splitlines(), "no longer here")


class TestDashboard:
    def test_a_crawl_that_has_ended(self, odd):
        """The page has the figures of stats.json, and says that nothing but deferred hosts is
        left.
        """
        with dashboard(odd.job.parent) as visitor:
            page = Report(visitor.page(f"c/{visitor.id}"))
        text = " ".join(page.tree.text_content().split())

        assert page.tiles()["pages"] == str(FOUND)
        assert f"{len(AWAY) + 1} of them deferred" in text
        assert re.search(rf"\b{len(AWAY) + 1} URLs of deferred hosts", text)
        assert "hosts active now" not in text

    def test_the_list(self, odd):
        """It has the crawl among those that do not run."""
        with dashboard(odd.job.parent) as visitor:
            text = Report(visitor.page()).tree.text_content()

        assert "0 of 1 crawl running" in " ".join(text.split())


def test_another_run(odd, tmp_path):
    """It says with what it goes on, which settings have changed, and what begins late; away.test is
    still away.
    """
    shutil.copytree(odd.job, tmp_path / "job", ignore=shutil.ignore_patterns("control.sock"))
    words = [
        str(word).replace(f"JOBDIR={odd.job}", f"JOBDIR={tmp_path / 'job'}")
        for word in odd.crawl.words()
    ]
    more = ["-s", "CONTENT_SEEN=process", "-s", "OUTPUTS=warc cdxj tables text index links"]
    done = command(words[0], *words[1:], *more)
    said = [line.partition("] ")[2] for line in done.stderr.splitlines()]

    assert done.returncode == 0
    assert re.search(
        rf"\b{FOUND} pages and {len(AWAY) + 1} URLs queued", line_of(said, "resumed with")
    )
    assert re.search(r"CONTENT_SEEN was skip, now process", "\n".join(said))
    assert "links" in line_of(said, "OUTPUTS:", "begin")
    assert re.search(rf"\b0 pages in .*\b{FOUND} with earlier runs", line_of(said, "pages/s"))
    assert (
        Counter(
            line.split()[1] for line in (tmp_path / "job/logs/crawl.log").read_text().splitlines()
        )["200"]
        == FOUND + 2
    )  # with a robots.txt and the block page


def test_processed_twice(odd, tmp_path):
    """A second run in one JOBDIR has nothing to read, and says what processes it all again; a run
    without outputs says before it reads anything that nothing will be made, and at its end again.
    """
    words = ["process", odd.job, "-s", f"JOBDIR={tmp_path / 'made'}"]
    first = command("webcrawl", *words, "-s", "OUTPUTS=text,warc")
    assert "OUTPUTS: warc: only a crawl can write that: left out" in first.stderr
    assert "nothing was made" not in first.stderr

    second = command("webcrawl", *words, "-s", "OUTPUTS=documents")
    assert "all was read by earlier runs: another JOBDIR" in second.stderr
    nothing = command("webcrawl", "process", odd.job, "-s", f"JOBDIR={tmp_path / 'no'}")
    assert "1 file of archives; nothing will be made of them: name outputs" in nothing.stderr
    assert "nothing was made of them: name outputs" in nothing.stderr
