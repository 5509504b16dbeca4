"""What bounds a crawl, by its own figures: the rules of docs/troubleshooting.md as a table."""

import re

import pytest

from webcrawl import settings
from webcrawl.crawl.bound import (
    FENCED,
    FIGURES,
    HELPS,
    PAUSES,
    WORDS,
    BoundLook,
    Cause,
    Tally,
    in_words,
    judge,
    sentence,
    shares,
    thread_seconds,
)
from webcrawl.crawl.metrics import TROUBLES

QUEUED = {"seconds": 1.0, "queued": 1000, "slots": 100, "wanted": 100}
# in capitals, and no settings of ours
ELSEWHERE = {"TLS", "JOBDIR", "NAME", "SSD", "PLAYWRIGHT_MAX_CONTEXTS"}


@pytest.mark.parametrize(
    ("figures", "cause"),
    [
        # what it is told, or what is missing, goes before all else
        ({"trouble": "paused", "ran": 1.0}, Cause.PAUSE),
        ({"short": True, "active": 100, "ready": 50}, Cause.FILES),
        ({"throttled": True, "active": 5, "waiting": 900}, Cause.BANDWIDTH),
        # the process
        ({"ran": 0.9, "active": 100, "ready": 50}, Cause.PROCESSOR),
        ({"ran": 0.2, "crowded": 0.7, "waiting": 50}, Cause.PROCESSOR),
        ({"ran": 0.8, "waiting": 50}, Cause.POLITENESS),
        ({"stalled": 0.5, "ran": 0.4, "waiting": 50}, Cause.DISK),
        ({"stalled": 0.5, "ran": 0.9, "waiting": 50}, Cause.PROCESSOR),
        ({"stalled": 0.2, "ran": 0.1, "waiting": 50}, Cause.POLITENESS),
        ({"late": 0.6, "ran": 0.1, "active": 9, "waiting": 3}, Cause.PAGES),
        ({"late": 0.6, "ran": 0.4, "active": 9, "waiting": 3}, Cause.ANSWERS),
        # nothing to do
        ({"queued": 0}, Cause.WORK),
        ({"queued": 0, "away": "the hive's server"}, Cause.SERVER),
        ({"trouble": FENCED, "has_lost_server": True}, Cause.SERVER),
        ({"trouble": FENCED}, Cause.PAUSE),
        ({"queued": 9, "deferred": 9, "away": "the hive's server"}, Cause.SERVER),
        ({"away": "the hive's server", "waiting": 12}, Cause.POLITENESS),
        ({"queued": 9, "deferred": 9}, Cause.DEFERRED),
        ({"queued": 9, "deferred": 2, "over_budget": 7}, Cause.BUDGETS),
        # downloads
        ({"active": 100, "ready": 1}, Cause.SLOTS),
        ({"active": 60, "ready": 1, "waiting": 5000}, Cause.SLOTS),
        ({"active": 20, "ready": 9, "slots": 20, "wanted": 100}, Cause.FILES),
        ({"active": 59, "ready": 1, "waiting": 5000}, Cause.POLITENESS),
        ({"active": 100, "ready": 0, "waiting": 5000}, Cause.POLITENESS),
        ({"active": 100, "ready": 9, "waiting": 5000, "slots": 0}, Cause.POLITENESS),
        ({"active": 100, "ready": 9, "naming": 50}, Cause.NAMES),
        ({"active": 8, "waiting": 2, "naming": 6}, Cause.NAMES),
        ({"active": 8, "waiting": 20, "naming": 8}, Cause.POLITENESS),
        ({"active": 100, "ready": 9, "securing": 70, "naming": 20}, Cause.TLS),
        ({"active": 100, "ready": 9, "receiving": 80}, Cause.TRANSFER),
        ({"active": 100, "ready": 9, "rendering": 96}, Cause.BROWSER),
        ({"active": 100, "ready": 9, "reading": 96}, Cause.READERS),
        ({"active": 100, "ready": 9, "processing": 91}, Cause.PAGES),
        ({"active": 8, "waiting": 2, "processing": 8}, Cause.PAGES),
        ({"active": 8, "waiting": 20, "processing": 8}, Cause.POLITENESS),
        ({"active": 40, "waiting": 3}, Cause.ANSWERS),
        # politeness
        ({"active": 1, "waiting": 1}, Cause.POLITENESS),
        ({"waiting": 12}, Cause.POLITENESS),
        ({"waiting": 12, "failing": 5}, Cause.POLITENESS),
        ({"waiting": 12, "failing": 7}, Cause.FAILURES),
        ({"waiting": 1, "told": 1}, Cause.RETRY_AFTER),
        ({"waiting": 9, "delayed": 5, "failing": 2}, Cause.CRAWL_DELAY),
        # all hosts have just ended, and links are on their way into the frontier
        ({}, Cause.POLITENESS),
    ],
)
def test_the_cause(figures, cause):
    """A look has one cause, the first of these that its figures show."""
    assert judge(BoundLook(**{**QUEUED, **figures})) is cause


def test_a_look_without_time():
    """Two looks at the same moment say nothing of the processor."""
    assert judge(BoundLook(queued=5, waiting=3)) is Cause.POLITENESS


class TestTally:
    def test_means(self):
        """States are weighted by time; what was used is per second; each cause has its own."""
        tally = Tally()
        tally.add(BoundLook(1.0, active=10, ran=0.5, pages=30), Cause.SLOTS)
        tally.add(BoundLook(3.0, active=50, ran=0.5, pages=30), Cause.SLOTS)
        tally.add(BoundLook(1.0, active=999, ran=1.0), Cause.PROCESSOR)

        means = tally.means(Cause.SLOTS)
        assert (means["active"], means["ran"], means["pages"]) == (40.0, 0.25, 15.0)

    def test_both(self):
        """Two add up, and neither changes."""
        one, other = Tally(), Tally()
        one.add(BoundLook(1.0, waiting=2), Cause.POLITENESS)
        other.add(BoundLook(3.0, waiting=6), Cause.POLITENESS)
        other.add(BoundLook(2.0), Cause.DISK)
        both = one.plus(other)

        assert both.seconds == {Cause.POLITENESS: 4.0, Cause.DISK: 2.0}
        assert both.means(Cause.POLITENESS)["waiting"] == 5.0
        assert one.seconds == {Cause.POLITENESS: 1.0}


class TestWords:
    def said(self, cause, **figures):
        tally = Tally()
        tally.add(BoundLook(3.0, **figures), cause)
        tally.add(BoundLook(1.0), Cause.WORK)
        return sentence(tally)

    def test_sentence(self):
        """It names the main cause, its share of the time, its figures, and what would help."""
        assert self.said(Cause.POLITENESS, waiting=12, active=4, hosts=1) == (
            "politeness 75 % of the time (hosts: 1 active 0 ready 12 waiting); what helps: more "
            "hosts: more seeds, a wider URL_SCOPE. Only where the hosts are your own: POLITENESS_FACTOR, "
            "POLITENESS_MIN_DELAY, HOST_CONNECTIONS"
        )

    @pytest.mark.parametrize(
        ("cause", "looked", "figures", "helps"),
        [
            (Cause.BANDWIDTH, {"bytes": 15_000_000}, ["5.0 MB"], "BANDWIDTH_MAX"),
            (Cause.DISK, {"stalled": 1.5, "ran": 0.6}, ["50 %", "20 %"], "CHECKPOINT_INTERVAL"),
            (Cause.PROCESSOR, {"ran": 2.7, "pages": 210}, ["90 %", "70 pages"], "hive"),
            (Cause.NAMES, {"naming": 7, "active": 9}, ["7 of 9"], "DNS_NAMESERVERS"),
            (Cause.TLS, {"securing": 7, "active": 9}, ["7 of 9"], "CONCURRENT_REQUESTS"),
            (Cause.TRANSFER, {"receiving": 7, "active": 9}, ["7 of 9"], "DOWNLOAD_TRUNCATE"),
            (Cause.BROWSER, {"rendering": 7, "active": 9}, ["7 of 9"], "PLAYWRIGHT_MAX_CONTEXTS"),
            (Cause.READERS, {"reading": 7, "active": 9}, ["7 of 9"], "SCORER"),
            (Cause.PAGES, {"processing": 7, "active": 9}, ["7 of 9"], "pipelines"),
            (
                Cause.SLOTS,
                {"active": 9, "ready": 4},
                ["9 downloads", "4 more hosts"],
                "CONCURRENT_REQUESTS",
            ),
            (Cause.FAILURES, {"failing": 7, "waiting": 9}, ["7 of 9"], "HOST_RETRY_WAIT"),
            (Cause.RETRY_AFTER, {"told": 7, "waiting": 9}, ["7 of 9"], "RETRY_AFTER_MAX"),
            (Cause.CRAWL_DELAY, {"delayed": 7, "waiting": 9}, ["7 of 9"], "CRAWL_DELAY_MAX"),
            (Cause.DEFERRED, {"deferred": 7}, ["7"], "host NAME resume"),
            (Cause.BUDGETS, {"over_budget": 7}, ["7"], "DOMAIN_BUDGET_PAGES"),
            (Cause.WORK, {}, [], "seeds"),
            (Cause.WORK, {"revisited": 7}, [], "REVISIT_AGE"),
        ],
    )
    def test_each_cause(self, cause, looked, figures, helps):
        """The figures that show it are those of the looks, and the advice is about that cause."""
        tally = Tally()
        tally.add(BoundLook(3.0, **looked), cause)
        why, _, advice = sentence(tally).partition("what helps: ")

        assert [figure for figure in figures if figure not in why] == []
        assert helps in advice

    def test_failures_beside_folded_urls(self):
        """Time is not all that helps while hosts fail, if URLs are folded: the setting that fetches
        them is named.
        """
        said = self.said(Cause.FAILURES, waiting=1, failing=1, over_budget=9)

        assert "only time" in said
        assert "for URLs over budgets or folded (9): a higher DOMAIN_BUDGET_PAGES" in said
        assert "TRAP_RULES" not in self.said(Cause.FAILURES, waiting=1, failing=1)

    def test_a_pause_says_why(self):
        """A crawl that is told to rest says by what."""
        assert self.said(Cause.PAUSE, trouble="disk nearly full").startswith(
            "a pause 75 % of the time (disk nearly full);"
        )

    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_what_ends_a_pause(self, trouble):
        """What helps is said of each kind of pause alone: `resume` ends only one that was
        commanded.
        """
        helps = self.said(Cause.PAUSE, trouble=trouble).partition("what helps: ")[2]
        assert helps == PAUSES[trouble]
        assert ("scrapy ctl JOBDIR resume" in helps) == (trouble == "paused")

    @pytest.mark.parametrize("trouble", ["", "disk nearly full"])
    def test_a_pause_that_is_over(self, trouble):
        """A crawl that was paused and resumed needs no `resume`, whatever may hold it up now."""
        tally = Tally()
        tally.add(BoundLook(3.0, trouble="paused"), Cause.PAUSE)

        assert sentence(tally, trouble) == "a pause 100 % of the time (paused)"
        assert sentence(tally, "paused").endswith(PAUSES["paused"])

    def test_a_pause_of_another_kind(self):
        """An extension of the user's may have reasons of its own: all that may help is said."""
        assert self.said(Cause.PAUSE, trouble="too hot").endswith(
            f"what helps: {HELPS[Cause.PAUSE]}"
        )

    def test_slots_that_files_take(self):
        """Where fewer downloads fit than are wanted, the limit of open files is named."""
        said = self.said(Cause.FILES, slots=20, wanted=100)
        assert said.endswith("a higher ulimit -n: only 20 of CONCURRENT_REQUESTS = 100 fit")
        assert self.said(Cause.FILES, slots=100, wanted=100).endswith(HELPS[Cause.FILES])
        assert self.said(Cause.SLOTS, slots=100, wanted=100).endswith(
            "a higher CONCURRENT_REQUESTS"
        )

    def test_a_crowded_machine(self):
        """If others had the core for longer than the crawl, no setting of the crawl is named."""
        said = self.said(Cause.PROCESSOR, ran=0.6, crowded=2.1)
        assert said.endswith(
            "fewer other programs on this machine: they used the core 70 % of the time"
        )

    def test_nothing_known(self):
        """Before the first look there is nothing to say."""
        assert sentence(Tally()) == ""

    def test_every_cause(self):
        """Each has words and advice; the sentence of each can be made."""
        assert WORDS.keys() == HELPS.keys() == set(Cause)
        for cause in Cause:
            assert self.said(cause, active=3).startswith(WORDS[cause])

    @pytest.mark.parametrize(
        "text", [*HELPS.values(), *WORDS.values(), *FIGURES.values(), *PAUSES.values()]
    )
    def test_settings_exist(self, text):
        """What is named in capitals is a setting that there is."""
        names = set(re.findall(r"\b[A-Z][A-Z_]+\b", text)) - ELSEWHERE
        assert {name for name in names if not hasattr(settings, name)} == set()

    def test_of_counters(self):
        """The counters of a whole crawl give shares, the largest first; what is hardly there is
        left out.
        """
        figures = {"bound/politeness": 930, "bound/processor": 69, "bound/disk": 1, "pages": 5}
        assert [*shares(figures)] == [Cause.POLITENESS, Cause.PROCESSOR]
        assert in_words(figures) == "politeness 93 %, the processor 7 %"
        assert in_words({"pages": 5}) == ""

    @pytest.mark.parametrize("value", ["7", None, -3, float("nan"), [1], True])
    def test_of_a_file(self, value):
        """Whatever stands in a file as a counter, what is no number of seconds counts for nothing."""
        assert in_words({"bound/disk": value, "bound/slots": 2}) == "CONCURRENT_REQUESTS 100 %"


class TestThreadSeconds:
    def test_as_the_kernel_says(self, tmp_path):
        """Nanoseconds that ran and that waited, as seconds."""
        (tmp_path / "schedstat").write_text("2500000000 500000000 12\n")
        assert thread_seconds(tmp_path / "schedstat") == (2.5, 0.5)

    @pytest.mark.parametrize("text", [None, "", "none\n"])
    def test_a_kernel_that_does_not(self, tmp_path, text):
        """Elsewhere only the thread's own CPU time is known."""
        if text is not None:
            (tmp_path / "schedstat").write_text(text)
        ran, waited = thread_seconds(tmp_path / "schedstat")
        assert ran > 0
        assert waited == 0
