"""Traps that nobody listed end, and good sites that look like them do not; time is simulated."""

from collections import Counter

import pytest

from benchmarks.support import families as sites
from benchmarks.support import zoo
from tests.support.examples import in_campaign
from tests.support.frontiers import make, over_budget
from tests.support.saving import prepared
from webcrawl.base.model import Link, unpack
from webcrawl.frontier.allowances.fixed import Fixed
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.budgets import FAMILIES
from webcrawl.frontier.check_state import check_domains
from webcrawl.frontier.families import families
from webcrawl.frontier.families.features import MOST as MOST_RUNS
from webcrawl.frontier.families.learning import FOLD_AFTER_PAGES, DomainLearning
from webcrawl.frontier.families.memory import Memory
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.report.report_source import read_state
from webcrawl.tools.why.places import FAMILY, QueueSearch

HOME = f"{sites.HOME}/"
BUDGET = 10_000
MOST = 700  # pages of a good site that a test fetches


def folding(db, *, folds=True, allowance=None):
    limits, politeness = Limits(queues=30, max_queues=100), Mercator(0, 0.1, 300)
    return make(
        db,
        limits,
        domain=zoo.domain_of,
        memory=8 << 20,
        politeness=politeness,
        allowance=allowance or Fixed(BUDGET),
        folds=folds,
    )


def fetched(frontier, site, most=BUDGET, seeds=(HOME,)):
    return zoo.crawl(frontier, {"zoo.test": site}, seeds, most)["zoo.test"]


def learnt_of(db, url):
    """What was learnt from a hundred pages of a URL's family, as it is kept of the domain."""
    learning = DomainLearning()
    for _ in range(100):
        learning.record_page(learning.families_of(url), families.Brings.NEWS)
    learnt = learning.pack()
    db.set(families.META_PREFIX + "a.test", learnt)
    return learnt


def end_page(known, url):
    """A page with a new body is fetched, and all is saved."""
    known.read("a.test", url, b"<p>text</p>")
    known.record_links(url, [])
    known.record_page("a.test", Link(url), 200)
    known.save()


DAILY = sorted(sites.TRAPS)[::8]  # in every run; the others in the campaign


class TestTraps:
    @pytest.mark.parametrize("allowance", [Fixed(BUDGET), Unlimited()], ids=["budget", "unlimited"])
    @pytest.mark.parametrize("trap", [*DAILY, *in_campaign(*sorted({*sites.TRAPS} - {*DAILY}))])
    def test_a_trap_costs_less_than_five_hundred_pages(self, db, trap, allowance):
        """The others wait, and are counted.

        Without a budget, as many again are tried in the end.
        """
        frontier = folding(db, allowance=allowance)

        assert fetched(frontier, sites.TRAPS[trap]) < (
            500 if allowance.most(0, seed=True) == BUDGET else 1000
        )
        assert over_budget(frontier) == (len(frontier), 1)
        assert frontier.counters["folded"] >= len(frontier) == frontier.over_budget > 0
        assert not frontier.core.queues.budgets.families._looks

    def test_sessions_of_letters(self, db):
        """A segment that is new on nearly every page varies, though it has no digit; the site
        beside is fetched whole.

        Each session was a family of its own, and the wider ones were paid for by the site's good
        pages.
        """
        frontier, urls = folding(db), []

        def site(_, path):
            urls.append(path)
            body, links = sessions(path)
            return body, [
                link if link.startswith("http") else HOME.rstrip("/") + link for link in links
            ]

        fetched(frontier, site)

        assert len({url for url in urls if url.startswith("docs/")}) == 900
        assert len(urls) < 2 * (900 + 90)


LETTERS = str.maketrans("0123456789", "ghijklmnop")


def sessions(path):
    """A text of 900 pages, and 90 items whose links have a session of letters in their path, a new
    one on each page.
    """
    session = zoo.digest_of(path).translate(LETTERS)[:9]
    folder, _, name = path.rpartition("/")
    at = sites.WORDS.index(name) if name in sites.WORDS[:900] else 0
    if folder.endswith("items"):
        near = [sites.WORDS[at * step % 90] for step in (1, 2, 3, 5)]
        links = [*(f"/{session}/items/{word}" for word in near), f"/docs/text/{sites.WORDS[0]}"]
        return sites.html(f"Item {name}", f"<p>{sites.words(60, 'item', at % 90)}</p>", links)
    near = [sites.WORDS[(at * 3 + step) % 900] for step in range(3)]
    links = [*(f"/docs/text/{word}" for word in near), f"/{session}/items/{sites.WORDS[at % 90]}"]
    return sites.html(name, f"<p>{sites.words(100, at)}</p>", links)


class TestGoodSites:
    @pytest.mark.parametrize("name", sorted(sites.GOOD))
    def test_good_sites_are_not_held_back(self, db, name):
        """Pages of one frame, of pictures, of three words, lists and dates: each of them is
        fetched.
        """
        site, pages = sites.GOOD[name]
        frontier = folding(db)

        most = pages if name == "archive" else MOST  # its articles come behind all its days

        assert fetched(frontier, site, most) == most

    def test_without_a_budget_real_pages_that_look_alike_are_fetched_in_the_end(self, db):
        """They are folded behind all others, and go on once nothing else is left: a site's archive
        is whole.
        """

        def site(_, path):
            if path.startswith("note"):
                return sites.html("Note", "<p>Nothing was written here yet.</p>", [HOME])
            at = zoo.number_in(path)
            links = [
                f"{HOME}{kind}/{at * 2 + step}" for kind in ("text", "note") for step in (1, 2)
            ]
            return sites.html(
                "Text",
                f"<p>{sites.words(60, at)}</p>",
                [one for one in links if zoo.number_in(one) < 600],
            )

        frontier = folding(db, allowance=Unlimited())

        assert fetched(frontier, site) == 1199
        assert frontier.counters["folded"] > 200
        assert len(frontier) == 0

    def test_a_page_that_is_not_looked_at_is_no_news(self, db):
        """What the other pages of a sampled family bring says nothing of it."""
        url = "http://a.test/x/a"
        learnt = learnt_of(db, url)
        known = families.Families(db, 0)
        known.waits("a.test", url)  # the domain is in memory from now on

        end_page(known, url)

        assert db.get(families.META_PREFIX + "a.test") == learnt

    def test_a_page_of_a_domain_that_was_let_go_is_no_news(self, db):
        """A new body that comes while the domain is only on disk is not counted as nothing new."""
        url = "http://a.test/x/a"
        learnt = learnt_of(db, url)
        known = families.Families(db, 0)

        end_page(known, url)

        assert db.get(families.META_PREFIX + "a.test") == learnt

    def test_a_trap_holds_back_nothing_else(self, db):
        """A good site on the same host as a trap is fetched whole."""
        good, trap = sites.GOOD["ids"][0], sites.TRAPS["epochs"]

        def site(host, path):
            if path.startswith("cal"):
                return trap(host, path)
            body, links = good(host, path)
            return body, [
                *[link for link in links if zoo.number_in(link) < 600],
                f"{HOME}cal?date=1700000000",
            ]

        assert 600 <= fetched(folding(db), site) < 600 + 500


def fold(known, name):
    """Pages of the domain without news, just enough that its URLs with a number wait."""
    for _ in range(FOLD_AFTER_PAGES[0]):
        known.record_page(name, Link(f"http://{name}/1"), 200)


def read_news(known, name, number):
    """A page full of texts that no page of a lower number had; return its URL."""
    url = f"http://{name}/{number + 2}"
    runs = "".join(
        f"<p>{str(number * MOST_RUNS + at).translate(LETTERS)} text" for at in range(MOST_RUNS - 1)
    )
    known.read(name, url, runs.encode())
    return url


class TestState:
    def test_what_was_learnt_outlives_a_restart(self, tmp_path):
        """A folded family is still folded, and what waits still waits; without the rule it goes on."""
        for folds, most in ((True, 500), (True, 40), (False, BUDGET)):
            db = CrawlDB(tmp_path)
            frontier = folding(db, folds=folds)
            seeds = [] if frontier.queued else [HOME]
            pages = fetched(frontier, sites.TRAPS["log_in"], most if folds else 200, seeds)
            assert pages < most if folds else pages == 200
            prepared(db)
            db.checkpoint()
            db.close()

    def test_domains_beyond_the_memory_are_rows(self, db):
        """What was learnt of a domain that has no room is read again."""
        known = families.Families(db, 0)
        names = [f"d{at}.test" for at in range(3 * families.MIN_DOMAINS)]
        for name in names:
            fold(known, name)
        rows = len(db.named(families.META_PREFIX))

        assert all(known.waits(name, f"http://{name}/1") for name in names)
        assert rows == len(names) - families.MIN_DOMAINS

    def test_memories_that_have_grown_take_the_room_of_others(self, db):
        """As many domains stay as there is room for what is known of them."""
        known = families.Families(db, 8 * (families.FAMILIES_BYTES + DomainLearning().memory.size))

        def fold_all(numbers):
            """The domains up to the last of these that have no row, as they stay in memory."""
            for at in numbers:
                fold(known, f"d{at}.test")
            return numbers[-1] + 1 - len(db.named(families.META_PREFIX))

        before = fold_all(range(20))
        for number in range(160):  # 40,000 texts
            known.forget(read_news(known, "d19.test", number))
        beside_a_large_one = fold_all(range(19, 21))
        after = fold_all(range(21, 41))

        assert (before, beside_a_large_one, after) == (9, 7, 9)

    def test_a_memory_is_written_when_enough_is_new(self, db):
        """Not at each checkpoint, but always when its domain leaves memory; with the last fold its
        rows go.
        """
        known = families.Families(db, 0)

        def count():
            row = db.get(families.MEMORY_PREFIX + "a.test")
            return row is not None and Memory.unpack(row).count

        def read_without_news():
            known.record_page("a.test", Link("http://a.test/1"), 200)

        def saved():
            read_without_news()
            known.save()
            return count()

        fold(known, "a.test")
        counts = []
        for number in range(12):
            known.forget(read_news(known, "a.test", number))
            counts.append(saved())
        known.forget(read_news(known, "a.test", 12))
        read_without_news()
        for at in range(families.MIN_DOMAINS):
            fold(known, f"d{at}.test")
        left = count()
        still_waits = known.waits("a.test", "http://a.test/1")
        freed = [
            known.record_page("a.test", Link(read_news(known, "a.test", number)), 200)
            for number in (13, 14)
        ]

        assert counts[0] is False
        assert len({*counts}) == 4  # of twelve
        assert left > counts[-1]
        assert still_waits
        assert freed == [False, True]
        assert saved() is False
        assert db.get(families.META_PREFIX + "a.test") is None

    def test_what_waits_leaves_with_its_domain(self, db):
        """A domain that moves to another crawl takes these URLs along, under its own name."""
        frontier = folding(db)
        fetched(frontier, sites.TRAPS["log_in"])
        held = over_budget(frontier)[0]

        pieces = [
            piece
            for some in frontier.moves.domains(lambda name: name == "zoo.test")
            for piece in some
        ]

        names = {piece[1] for piece in pieces}
        urls = [unpack(record).url for piece in pieces if piece[0] == "held" for record in piece[2]]
        assert names == {"zoo.test"}
        assert len(urls) == held > 0
        assert not any(name.endswith(FAMILIES) for name in names)

    def test_a_url_that_waits_says_so(self, db):
        """`why` finds it among those whose family brings nothing new."""
        frontier = folding(db)
        fetched(frontier, sites.TRAPS["log_in"])
        record = frontier.core.queues.budgets.table.get("zoo.test" + FAMILIES).queue.first(1)[0]
        url = unpack(record).url
        search = QueueSearch(frontier.core, zoo.domain_of, deep=False)
        search.search_own_queues([url])

        assert (search.places[url].where, search.places[url].place) == (FAMILY, 0)

    def test_a_domain_with_both_kinds_counts_once(self, db):
        """Of a domain over its budget that has folded URLs too, either number is known, also after
        a restart.
        """
        frontier = folding(db)
        budgets = frontier.core.queues.budgets
        fetched(frontier, sites.TRAPS["log_in"])
        folded = budgets.table.held
        budgets.get("zoo.test").used = BUDGET
        frontier.add([Link(f"{HOME}{name}", "L").pack() for name in ("a", "b")])
        fetched(frontier, sites.TRAPS["log_in"])
        before = frontier.look.figures()
        prepared(db)
        after = folding(db).look.figures()

        assert before["over_budget/folded"] == folded
        assert before["over_budget/domains"] == 1
        assert before["over_budget"] > folded
        assert {name: after[name] for name in after if "over" in name} == {
            name: before[name] for name in before if "over" in name
        }

    def test_urls_that_wait_are_not_called_over_budget(self, tmp_path):
        """The figures, the report and `verify` count them apart: a larger budget would fetch none
        of them.
        """
        db = CrawlDB(tmp_path / "state")
        frontier = folding(db)
        fetched(frontier, sites.TRAPS["log_in"])
        held, found, figures = over_budget(frontier)[0], Counter(), frontier.look.figures()
        prepared(db)
        db.checkpoint()
        db.close()

        with Snapshot(tmp_path / "state") as snapshot:
            state = read_state(snapshot)
            damages = [*check_domains(snapshot, SavedQueues(snapshot), found)]

        assert (figures["over_budget/domains"], figures["over_budget/folded"]) == (0, held)
        assert (state.over_budget, state.folded) == ((0, 0), (1, held))
        assert (damages, found["over budget"], found["folded"]) == ([], 0, held)
