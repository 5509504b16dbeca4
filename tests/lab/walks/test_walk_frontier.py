"""The frontier of random walks: each walker is at one URL, and goes on to a random link or a random
start.
"""

from collections import Counter
from contextlib import closing
from itertools import pairwise

import pytest

from tests.support.walks import Walk, impolite, lines, ranks
from webcrawl.base.model import Link, Status
from webcrawl.lab.walks.walkers import MAX_PAGES_PER_HOST, Walker, WalkRules
from webcrawl.store.crawldb import CrawlDB

RING = {
    f"http://h{host}/{page}": [f"http://h{(host + 1) % 5}/{page}"]
    for host in range(5)
    for page in range(4)
}


def rules(walkers=3, restart=0.0, jump="seeds", steps=0):
    return WalkRules(walkers, restart, jump, steps)


class TestSteps:
    def test_a_walker_goes_where_its_page_links_to(self, db):
        """Without restarts each visit of a walker but its first is to a page that the one before
        links to.
        """
        found = Walk(db, rules(walkers=1), RING).run(30)

        assert [line.how for line in found] == ["start"] + ["link"] * 29
        assert all(after.url in RING[before.url] for before, after in pairwise(found))
        assert [line.step for line in found] == [*range(30)]

    def test_the_out_degree_is_logged(self, db):
        """A line says among how many links the walker chose."""
        links = {
            "http://a/": ["http://a/1", "http://a/2", "http://a/3"],
            "http://a/1": [],
            "http://a/2": [],
        }

        found = Walk(db, rules(), links, seeds=["http://a/"]).run(20)

        assert {line.degree for line in found if line.url == "http://a/"} == {3}
        assert {line.degree for line in found if line.url != "http://a/"} == {0}

    def test_links_are_chosen_uniformly(self, db):
        """Of three links each is followed as often as the others, within four standard deviations."""
        links = {
            "http://a/": [f"http://{name}/" for name in "bcd"],
            **{f"http://{name}/": [] for name in "bcd"},
        }

        found = Walk(db, rules(walkers=1), links, seeds=["http://a/"]).run(3000)

        followed = Counter(line.url for line in found if line.how == "link")
        total = sum(followed.values())
        assert all(
            abs(count - total / 3) < 4 * (total * 2 / 9) ** 0.5 for count in followed.values()
        )

    def test_restarts_come_with_their_probability(self, db):
        """The part of the visits that begin with a restart is the one asked for, within four
        standard deviations.
        """
        found = Walk(db, rules(walkers=5, restart=0.25), RING).run(4000)

        share = sum(line.how == "restart" for line in found) / len(found)
        assert abs(share - 0.25) < 4 * (0.25 * 0.75 / 4000) ** 0.5

    def test_a_redirect_is_followed_without_a_choice(self, db):
        """A redirect is logged, and never followed by a restart; it is no visit, and leads to where
        it says.
        """
        links = {"http://a/": ["http://b/"], "http://b/": []}

        walk = Walk(
            db, rules(walkers=1, restart=0.9), links, {"http://a/": 302}, seeds=["http://a/"]
        )
        found = walk.run(40)

        assert [line.url for line in found] == ["http://a/", "http://b/"] * 20
        assert {line.how for line in found if line.url == "http://b/"} == {"redirect"}
        assert walk.walkers.visits == 20

    def test_a_long_walk_is_not_deep(self, db):
        """The discovery path of a link that a walker follows has one letter, so no limit of depth
        ends a walk.
        """
        walk = Walk(db, rules(walkers=1), RING)
        walk.run(100)

        assert walk.take().path == "L"


class TestDeadEnds:
    @pytest.mark.parametrize("status", [200, 404, 501, int(Status.CONNECT_FAILED)])
    def test_a_page_that_leads_nowhere_sends_its_walker_to_a_start(self, db, status):
        """A page without links, a missing one, an error and a host that is away end in a new start."""
        links = {"http://a/": ["http://b/"], "http://b/": []}

        found = Walk(db, rules(walkers=1), links, {"http://b/": status}, seeds=["http://a/"]).run(6)

        at_b = [line for line in found if line.url == "http://b/"]
        assert {line.status for line in at_b} == {status}
        assert [line.how for line in found if line.url == "http://a/"][:2] == ["start", "deadend"]

    def test_a_url_that_may_not_be_fetched_is_a_dead_end(self, db):
        """What robots.txt forbids is logged with its status, without a request."""
        links = {"http://a/": ["http://a/private"]}

        def admission(link, _now):
            return Status.ROBOTS_FORBIDDEN if link.url.endswith("private") else None

        walk = Walk(db, rules(walkers=1), links, seeds=["http://a/"], admission=admission)
        found = walk.run(5)

        assert [line.status for line in found[:3]] == [200, Status.ROBOTS_FORBIDDEN, 200]
        assert {url for _, url in walk.requested} == {"http://a/"}

    def test_where_every_start_is_refused_walkers_rest(self, db):
        """A walker without an answer goes on a second later, so a walk that finds nothing does not
        spin.
        """
        walk = Walk(
            db,
            rules(walkers=2),
            {},
            seeds=["http://a/"],
            admission=lambda *_: Status.ROBOTS_FORBIDDEN,
        )
        for _ in range(400):
            walk.frontier.take(walk.now)
            walk.now = max(walk.now, walk.frontier.next_ready())

        assert len(walk.log) <= 2 * (walk.now + 1)
        assert walk.places == 2

    def test_rests_grow_while_nobody_gets_an_answer(self, db):
        """Where every start is refused the log grows ever more slowly: in a day by a line a minute
        for each walker.
        """
        walk = Walk(
            db,
            rules(walkers=2),
            {},
            seeds=["http://a/"],
            admission=lambda *_: Status.ROBOTS_FORBIDDEN,
        )
        while walk.now < 86_400:
            walk.frontier.take(walk.now)
            walk.now = max(walk.now, walk.frontier.next_ready())

        assert 2 * 1400 < len(walk.log) < 2 * 1600

    def test_walkers_who_get_no_answer_anywhere_are_no_reason_to_go_on(self, db):
        """If each of them was refused ten times, nothing is left but waiting, and an answer ends
        that.
        """
        walk = Walk(
            db, rules(walkers=2), {"http://b/": []}, {"http://b/": 404}, seeds=["http://a/"]
        )
        walk.run(1)
        assert not walk.frontier.resting()
        for url in ["http://a/"] * 20:
            walk.walkers.leave(walk.walkers._place_at(Walker(9), Link(url)), Status.CONNECT_FAILED)
        assert walk.frontier.resting()

        walk.walkers.leave(walk.walkers._place_at(Walker(9), Link("http://b/")), 404)

        assert not walk.frontier.resting()


class TestJumps:
    def test_seeds_are_chosen_uniformly(self, db):
        """With jump=seeds each seed begins as many lives as any other, within four standard
        deviations.
        """
        found = Walk(db, rules(walkers=5, restart=1.0), RING).run(4000)

        begun = Counter(line.url for line in found)
        assert len(begun) == len(RING)
        assert all(abs(count - 200) < 4 * 200**0.5 for count in begun.values())

    def test_hosts_are_chosen_uniformly_and_then_their_pages(self, db):
        """With jump=hosts a host with many visited pages begins as many lives as one with a single
        page.
        """
        many = [f"http://many/{number}" for number in range(30)]
        links = {**{url: ["http://one/"] for url in many}, "http://one/": many}

        found = Walk(
            db, rules(walkers=4, restart=0.5, jump="hosts"), links, seeds=["http://one/"]
        ).run(6000)

        jumps = [line.url for line in found[1000:] if line.how == "restart"]
        share = jumps.count("http://one/") / len(jumps)
        assert abs(share - 0.5) < 4 * (0.25 / len(jumps)) ** 0.5
        assert len(set(jumps)) == 31

    def test_a_page_that_was_not_fetched_begins_no_life(self, db):
        """Only visited pages are jumped to: no missing one, and none of a host that is away."""
        links = {"http://a/": ["http://a/missing"], "http://b/": ["http://a/"]}

        found = Walk(
            db,
            rules(walkers=2, restart=0.3, jump="hosts"),
            links,
            {"http://a/missing": 404},
            seeds=["http://b/"],
        ).run(500)

        assert {line.url for line in found if line.how in ("restart", "deadend")} == {
            "http://a/",
            "http://b/",
        }

    def test_few_pages_are_kept_per_host(self, db):
        """Of a host with very many pages a random sample of them is kept, in one row."""
        walk = Walk(db, rules(jump="hosts"), {}, seeds=["http://a/"])
        for number in range(2 * MAX_PAGES_PER_HOST):
            walk.walkers.starts.add_visit(f"http://a/{number}")

        drawn = {walk.walkers.starts.draw() for _ in range(10 * MAX_PAGES_PER_HOST)}

        assert len(drawn) == MAX_PAGES_PER_HOST
        assert 0.9 < sum(int(url.rpartition("/")[2]) for url in drawn) / MAX_PAGES_PER_HOST**2 < 1.1


class TestPoliteness:
    def test_many_walkers_at_one_host_take_turns(self, db):
        """A host where all walkers are is requested once at a time, with its wait in between."""
        links = {
            f"http://a/{number}": [f"http://a/{(number * 7 + 1) % 30}"] for number in range(30)
        }

        walk = Walk(db, rules(walkers=20), links)
        walk.run(200)

        assert impolite(walk.requested) == []

    def test_a_crowded_host_does_not_hold_others_up(self, db):
        """While many walkers wait for one host, those at other hosts go on."""
        links = {
            **{f"http://crowd/{number}": [f"http://crowd/{number}"] for number in range(50)},
            "http://alone/": ["http://alone/"],
        }
        walk = Walk(db, rules(walkers=51), links, seeds=[])
        walk.frontier.add([Link(url, seed=url).pack() for url in links])
        draws = iter(links)
        walk.walkers.starts.draw = lambda: next(draws)

        found = walk.run(200)

        counts = Counter("alone" in line.url for line in found)
        assert counts[True] == pytest.approx(100, abs=2)

    def test_one_url_may_be_requested_by_several_walkers(self, db):
        """Walkers that meet at a URL each have it fetched, one after the other."""
        walk = Walk(db, rules(walkers=4), {"http://a/": ["http://a/"]})

        found = walk.run(40)

        assert Counter(line.walker for line in found) == dict.fromkeys(range(4), 10)
        assert impolite(walk.requested) == []


class TestEnd:
    def test_it_ends_after_so_many_visits(self, db):
        """No URL is handed out beyond the visits asked for, and the walkers keep their places."""
        walk = Walk(db, rules(walkers=7, restart=0.2, steps=50), RING)

        found = walk.run(1000)

        assert len(found) == 50
        assert walk.take() is None
        assert walk.places == 7
        assert len(walk.frontier) == walk.frontier.over_budget == 7

    def test_each_walker_makes_its_share(self, db):
        """Those at a crowded host too: its pages have the share of the visits that the links give
        them.

        Of the first visits that walkers make together it is smaller, because there they wait.
        """
        links = {
            f"http://a/{page}": [f"http://a/{(page + 1) % 7}", f"http://{page}/"]
            for page in range(7)
        }
        links |= {
            f"http://{number}/": ["http://a/0", f"http://{(number + 1) % 7}/"]
            for number in range(7)
        }
        shares = {}
        for steps in (0, 400):
            with closing(CrawlDB(db.folder / str(steps))) as other:
                found = Walk(other, rules(walkers=100, restart=0.2, steps=steps), links).run(400)
            made = Counter(line.walker for line in found)
            shares[steps] = sum("http://a/" in line.url for line in found) / 400

        assert set(made.values()) == {4}
        crowded = sum(share for url, share in ranks(links, 0.2).items() if "http://a/" in url)
        chance = (crowded * (1 - crowded) / 400) ** 0.5
        assert abs(shares[400] - crowded) < 3 * chance
        assert shares[0] < crowded - 4 * chance

    def test_with_more_visits_each_goes_on_where_it_was(self, tmp_path):
        """A walker that has made its share knows where it goes next when the walk has more steps."""
        found = []
        for steps in (21, 42):
            with closing(CrawlDB(tmp_path)) as db:
                walk = Walk(db, rules(steps=steps), RING, now=float(steps))
                found += walk.run(100)
                db.checkpoint()

        assert Counter(line.walker for line in found) == {0: 14, 1: 14, 2: 14}
        for walker in range(3):
            own = [line.url for line in found if line.walker == walker]
            assert all(after in RING[before] for before, after in pairwise(own))

    def test_the_figures_say_how_far_it_has_come(self, db):
        """How many visits have been made, and are to be made, is among the figures."""
        walk = Walk(db, rules(walkers=7, steps=50), RING)
        walk.run(30)

        assert walk.frontier.look.figures().items() >= {"walk/visits": 30, "walk/steps": 50}.items()

    def test_what_is_in_flight_counts(self, db):
        """As many downloads are begun as there are visits left."""
        walk = Walk(db, rules(walkers=7, steps=3), RING)

        assert [walk.frontier.take(0.0) is not None for _ in range(5)] == [
            True,
            True,
            True,
            False,
            False,
        ]

    def test_without_seeds_there_is_nothing_to_do(self, db):
        """A walk that has nowhere to start is empty."""
        walk = Walk(db, rules(), {}, seeds=[])

        assert walk.take() is None
        assert len(walk.frontier) == 0


class TestCheckpoint:
    def test_it_goes_on_as_if_it_had_not_stopped(self, tmp_path):
        """A walk that is stopped at a checkpoint makes the same visits afterwards as one that is
        not.
        """
        found = []
        for stops in ((), (40, 41, 90)):
            folder = tmp_path / str(len(stops))
            log = []
            for end in (*stops, 150):
                db = CrawlDB(folder)
                walk = Walk(
                    db, rules(walkers=1, restart=0.2), RING, now=log[-1].time if log else 0.0
                )
                log += walk.run(end - len(log))
                db.checkpoint()
                db.close()
            found.append([line[1:] for line in log])

        assert found[0] == found[1]

    def test_a_kill_loses_no_walker_and_doubles_no_visit(self, tmp_path):
        """After a kill the walk is that of the last checkpoint: every walker has its place, and its
        step.
        """
        kept, steps = [], {}
        for _ in range(12):
            db = CrawlDB(tmp_path)
            walk = Walk(db, rules(walkers=6, restart=0.2, jump="hosts"), RING, now=1e4)
            assert walk.places == 6
            walk.run(20)
            flying = list(filter(None, [walk.take() for _ in range(3)]))
            for link in flying[:-1]:
                walk.answer(link)
            db.checkpoint()
            kept += lines(walk.log)
            walk.answer(flying[-1])  # lost, and so are the visits that follow
            walk.run(len(walk.log) + 3)
            db.close()
        for line in kept:
            assert line.step == steps.get(line.walker, -1) + 1
            steps[line.walker] = line.step
        assert len(steps) == 6

    def test_a_url_that_is_fetched_again_after_its_walker_has_gone_is_no_visit(self, db):
        """What an outage has cost is requested again; nobody is there any more, and nothing is
        logged.
        """
        walk = Walk(db, rules(walkers=1), RING)
        walk.run(5)

        assert walk.walkers.leave(Link("http://elsewhere/"), 200) is None
        assert len(walk.log) == 5
