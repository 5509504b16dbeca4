"""What signals may have of the budget, and what becomes of those that come too early or too often."""

from contextlib import closing

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit.record import record_of
from webcrawl.crawl.revisit.revisits import FLOOR
from webcrawl.store.crawldb import CrawlDB


def begun(db, *, rate=1.0, since=DAY):
    """The budget has run for so long."""
    revisits = made(db, Told(), rate=rate)
    revisits.take(NOW - since, 0)
    return revisits


def fetched(revisits, link, now):
    record = record_of(link)
    record.fetched, record.digest = now, 1
    revisits.foretold.ahead.found(record)


def urls(links):
    return [link.url for link in links]


def test_a_page_that_was_fetched_at_a_signal_just_now(db):
    """The next signal waits until the page has rested for a minute, and is followed then, once."""
    revisits = begun(db)
    fetched(revisits, revisits.foretold.announce("http://h/1", NOW), NOW)
    for second in range(1, 60, 2):
        assert revisits.foretold.announce("http://h/1", NOW + second) is None
        assert urls(revisits.foretold.told_before(NOW + second, 9)) == []
    assert revisits.foretold.next_told(NOW + 59) == NOW + FLOOR
    assert urls(revisits.foretold.told_before(NOW + FLOOR, 9)) == ["http://h/1"]
    assert revisits.foretold.next_told(NOW + FLOOR) is None


def test_a_page_that_was_fetched_in_its_turn_just_now(db):
    """The same."""
    revisits = begun(db)
    revisits.keep(page(1, NOW), NOW)
    assert revisits.foretold.announce("http://h/1", NOW + 1, "XL", "http://h/map") is None
    (link,) = revisits.foretold.told_before(NOW + FLOOR, 9)
    assert (link.url, link.path, link.via) == ("http://h/1", "XL", "http://h/map")


def test_a_turn_that_comes_before_is_enough(db):
    """A fetch in the page's own turn comes after the signal."""
    revisits = begun(db, rate=0.1)
    for number in range(3):
        revisits.foretold.announce(f"http://h/{number}", NOW)
    spent(revisits, NOW)
    revisits.keep(page(7), NOW, NOW - 1)
    assert revisits.foretold.announce("http://h/7", NOW) is None
    assert [record.url for record in revisits.take(NOW, 9)] == ["http://h/7"]
    assert urls(revisits.foretold.told_before(NOW + DAY, 9)) == []


def spent(revisits, now):
    """Uses up what signals may have."""
    number = 0
    while revisits.foretold.announce(f"http://other/{number}", now) is not None:
        number += 1
    revisits.foretold.waiting.drop(f"http://other/{number}")
    return number


def test_a_day_of_half_of_the_budget_is_saved(db):
    """A burst after quiet days is followed at once, up to so much; the others wait for what comes, and none is lost."""
    revisits = begun(db, rate=0.01, since=30 * DAY)
    assert spent(revisits, NOW) == 432
    for number in range(50):
        assert revisits.foretold.announce(f"http://h/{number}", NOW + number) is None
    assert revisits.foretold.next_told(NOW + 50) == NOW + 200
    found = []
    for step in range(110):
        found += urls(revisits.foretold.told_before(NOW + 100 * step, 200))
    assert found == [f"http://h/{number}" for number in range(50)]


def lent(db, believed, due):
    """How many signals of fifty are followed within a thousand seconds, without tokens of their own."""
    policy = Told()
    revisits = made(db, policy, rate=0.1, missed=lambda url: 0.1 if believed else 1.0)
    revisits._told._rate = lambda: 0.0
    for number in range(100):
        policy.when[page(number).url] = NOW + due + number
        revisits.keep(page(number), NOW)
    revisits.take(NOW, 0)
    for number in range(50):
        revisits.foretold.announce(f"http://a/{number}", NOW)
    links = turns = 0
    for second in range(1000):
        links += len(urls(revisits.foretold.told_before(NOW + second, 9)))
        turns += len(revisits.take(NOW + second, 9))
    assert links + turns <= 102
    return links


@pytest.mark.parametrize(
    ("believed", "due", "links"), [(True, DAY, 48), (True, -500.0, 48), (True, -3000.0, 1), (False, DAY, 1)]
)
def test_pages_lend_their_part_while_they_are_not_late(db, believed, due, links):
    """Up to two rounds of a thousand seconds; then hosts that are believed may have more than half of the budget."""
    assert lent(db, believed, due) == pytest.approx(links, abs=2)


def test_nobody_overtakes_those_that_wait(db):
    """A host that is told of news all the time gets no token that another one waits for: they take turns."""
    revisits = begun(db, rate=0.2)
    spent(revisits, NOW)
    for number in range(50):
        revisits.foretold.announce(f"http://waits/{number}", NOW)
    found = []
    for step in range(40_000):  # a hundred signals a second, five looks
        now = NOW + step / 100
        link = revisits.foretold.announce(f"http://floods/{step}", now)
        found += [link.url] if link is not None else []
        if step % 20 == 19:
            found += urls(revisits.foretold.told_before(now, 200))
    assert 38 <= len(found) <= 41
    assert sum(url.startswith("http://waits/") for url in found) == pytest.approx(len(found) / 2, abs=1)


def test_a_kill_loses_and_doubles_none(tmp_path):
    """What waits at a checkpoint waits after it, and what was given before it is not given again."""
    with closing(CrawlDB(tmp_path)) as db:
        revisits = begun(db, rate=0.01)
        assert spent(revisits, NOW) == 432
        for number in range(50):
            revisits.foretold.announce(f"http://h/{number}", NOW)
        before = urls(revisits.foretold.told_before(NOW + 2000, 200))
        assert len(before) == 10
        for _ in db.prepare():
            pass
        db.checkpoint()
        assert len(urls(revisits.foretold.told_before(NOW + 4000, 200))) == 10  # they are undone
        revisits.foretold.announce("http://h/late", NOW)
    with closing(CrawlDB(tmp_path)) as db:
        revisits = made(db, Told(), rate=0.01)
        assert urls(revisits.foretold.told_before(NOW + 4000, 200)) == []  # the time in between gives nothing
        after = []
        for step in range(100):
            after += urls(revisits.foretold.told_before(NOW + 4000 + 200 * step, 200))
    assert before + after == [f"http://h/{number}" for number in range(50)]
