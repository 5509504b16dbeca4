"""When a URL's turn comes: estimates against a simulated crawl, host by host."""

import heapq
from random import Random

import pytest

from webcrawl.base.model import Link
from webcrawl.store.jobdir import crawl_line
from webcrawl.store.jobdir.host_row import State
from webcrawl.tools.why.facts import Facts
from webcrawl.tools.why.file_search import LogFile
from webcrawl.tools.why.form import Form
from webcrawl.tools.why.host_facts import Delay, Load, ended, new_host
from webcrawl.tools.why.queued import FRONT, HOST, RETRY, Place
from webcrawl.tools.why.verdict import due_in, told_due

RECORD = Link("http://a.test/x").pack()


def crawled(queued, turns, seconds, same):
    """When each URL of each host is asked for, by Mercator's heap, if the crawl needs so many seconds for each.

    Hosts whose `same` is the same have one address, which is as polite as one host.
    """
    ready = [(0.0, 0.0, number) for number in range(len(queued))]  # when, and since when it would have been
    asked, free, now = [[] for _ in queued], {}, 0.0
    while ready:
        at, since, host = heapq.heappop(ready)
        if free.get(same[host], 0.0) > at:
            heapq.heappush(ready, (free[same[host]], since, host))
            continue
        now = max(now + seconds, at)
        asked[host].append(now)
        free[same[host]] = now + turns[host]
        if len(asked[host]) < queued[host]:
            heapq.heappush(ready, (now + turns[host], now + turns[host], host))
    return asked


def facts_of(host, place, load, turn):
    row = new_host(f"site{host}.test")._replace(ip=f"127.0.0.{host // 2}")
    facts = Facts("http://a.test/x", Form("http://a.test/x"), host=row, load=load, delay=Delay(turn, "", 1, turn))
    facts.place = Place(HOST, RECORD, place, 100)
    return facts


@pytest.mark.parametrize("per_ip", [False, True])
@pytest.mark.parametrize("seconds", [0.0001, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_estimates_agree_with_a_simulated_crawl(seed, seconds, per_ip):
    """Nine of ten URLs have their turn within 0.7 to 1.5 times the estimate, whether hosts or the crawl are slow."""
    chance = Random(seed)
    queued = [min(int(3 * chance.paretovariate(0.8)), 300) for _ in range(60)]
    turns = [chance.uniform(0.5, 5.0) for _ in queued]
    addresses = [f"127.0.0.{host // 2 if per_ip else host}" for host in range(60)]
    asked = crawled(queued, turns, seconds, addresses)
    begun = max(sum(queued) * seconds / 10, 12.0)  # the crawl has its pace
    left = [[at for at in times if at > begun] for times in asked]
    ends = [at for times in asked for at in times]
    rate = sum(begun / 2 < at <= begun for at in ends) / (begun / 2) if seconds > 0.001 else 0.0
    load = Load([len(times) for times in left], turns, rate, 0.0, addresses if per_ip else ())

    ratios = []
    for host, times in enumerate(left):
        for place, at in enumerate(times):
            facts = facts_of(host, place, load, turns[host])
            facts.host = facts.host._replace(ip=addresses[host], ready_at=times[0] - begun)
            ratios.append((at - begun + 1) / (due_in(facts, 0.0) + 1))
    assert sum(0.7 <= ratio <= 1.5 for ratio in ratios) >= 0.9 * len(ratios)


def test_what_ended_since_the_checkpoint_is_not_waited_for():
    """Places are those of the checkpoint; what the log has since then has left its queue."""
    facts = facts_of(0, 10, Load([20], [2.0], 0.0, 0.0), 2.0)
    before = due_in(facts, 0.0)
    facts.ended = 4

    assert (before, due_in(facts, 0.0)) == (20.0, 12.0)


def test_a_url_to_be_tried_again_waits_for_its_time():
    """It comes when its time has come, and its host may be asked."""
    facts = facts_of(0, 0, None, 2.0)
    facts.place = Place(RETRY, RECORD, 0, 1, at=50.0)

    assert due_in(facts, 20.0) == 30.0
    assert due_in(facts, 60.0) == 0.0


def test_nobody_knows():
    """There is no estimate for a host that is paused, nor for what no host has in its queue."""
    paused, front = facts_of(0, 3, None, 2.0), facts_of(0, 3, None, 2.0)
    paused.paused = True
    front.place = Place(FRONT, RECORD, 3, 9, level=1)

    assert (due_in(paused, 0.0), due_in(front, 0.0)) == (None, None)


def test_a_host_that_fails_has_its_own_turns():
    """Its next try says when it comes, whatever the crawl is able to do."""
    facts = facts_of(0, 2, Load([9] * 50, [1.0] * 50, 1.0, 0.0), 1.0)
    facts.host = facts.host._replace(failures=2, ready_at=300.0, state=State.ASIDE)

    assert due_in(facts, 0.0) == 302.0


def test_the_pace_of_a_crawl_is_told():
    """Where the crawl is slower than the host, its words say what makes the wait longer."""
    said = "(at the crawl's pace)"
    slow, quick = Load([9] * 50, [1.0] * 50, 1.0, 0.0), Load([9] * 50, [1.0] * 50, 0.0, 0.0)

    assert told_due(facts_of(0, 2, slow, 1.0), 0.0).endswith(said)
    assert said not in told_due(facts_of(0, 2, quick, 1.0), 0.0)


def test_links_on_their_way_enter_when_nothing_may_be_fetched(tmp_path):
    """Until then the hosts that have URLs share the pace; from then on all have them, and a host's wait is longer."""
    queued, turns = [3] * 40 + [60] * 8, [1.0] * 48
    known, more = (Load(queued, turns, 10.0, 0.0, coming=[coming] * 48) for coming in (0, 40))

    assert known.seconds(3) == more.seconds(3) == pytest.approx(3 * 48 / 10, rel=0.1)
    assert 2 * known.seconds(50) < more.seconds(50) < 50 * 48 / 10


def test_lines_are_counted_by_host(tmp_path):
    """Lines after the checkpoint count for their hosts; the pace is that of all hosts."""
    outcome = type("Outcome", (), {"status": 200, "seconds": 0.1})
    lines = [
        crawl_line.line(1e9 + second, Link(f"http://{'ab'[second % 2]}.test/{second}"), outcome, None, [])
        for second in range(101)
    ]
    (tmp_path / "crawl.log").write_bytes(b"".join(lines))

    since, rate = ended(LogFile(tmp_path / "crawl.log", None, 3), {"a.test"}, 1e9 + 90.5)

    assert since == {"a.test": 5}
    assert rate == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("damage", [b"Y", b"\xff", b"9999-99"])
def test_a_damaged_time_has_no_pace(tmp_path, damage):
    """A line of the log that has no time costs the estimate its pace, and nothing else."""
    outcome = type("Outcome", (), {"status": 404, "seconds": 0.1})
    whole = crawl_line.line(1e9, Link("http://a.test/"), outcome, None, [])
    (tmp_path / "crawl.log").write_bytes(whole + damage + whole[len(damage) :])

    since, rate = ended(LogFile(tmp_path / "crawl.log", None, 3), {"a.test"}, 2e9)

    assert since.keys() <= {"a.test"}
    assert rate == 0.0
