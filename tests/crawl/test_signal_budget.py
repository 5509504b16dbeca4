"""Who announces the same page again and again takes little from the others, in a whole crawl
without a network.
"""

from collections import Counter

import pytest

from tests.support.changing_site import Document
from tests.support.examples import in_campaign
from tests.support.revisiting import Web

PAGES, RATE, HOURS = 40, 0.1, 2
TOLD = "http://h0.test/"


@pytest.fixture(name="web")
def _web(tmp_path):
    made = []

    def make(policy):
        settings = {"REVISIT_POLICY": policy, "REVISIT_RATE": RATE, "REVISIT_AGE": 120}
        made.append(Web(tmp_path / "crawl", {"*": Document(b"<p>1")}, **settings))
        made[-1].seed(*(f"http://h{number}.test/" for number in range(PAGES)))
        made[-1].run(600)
        return made[-1]

    yield make
    for one in made:
        one.crawl.close()


def since(one, start):
    return Counter(url for at, url, _ in one.requested if at >= start)


@pytest.mark.parametrize("policy", [*in_campaign("fixed", "uniform"), "optimal"])
def test_one_page_that_is_told_every_two_seconds(web, policy):
    """All other pages keep nine tenths of their part of half the budget at least, and the budget is
    kept.
    """
    one = web(policy)
    start = one.now
    while one.now < start + HOURS * 3600:
        one.crawl.parts.revisiting.tell(TOLD, one.now)
        one.run(2)

    found = since(one, start)
    told = found.pop(TOLD)
    fair = RATE * HOURS * 3600 / PAGES
    assert len(found) == PAGES - 1
    assert sum(found.values()) >= 0.9 * (PAGES - 1) * fair / 2
    assert min(found.values()) >= 0.9 * fair / 2
    assert told + sum(found.values()) <= 1.05 * RATE * HOURS * 3600
    assert told <= 1.05 * HOURS * 60  # it rests for a minute


def test_bursts_of_honest_signals(web):
    """Each is followed, though ten come at once, beside a page that is told all the time; and after
    a kill, too.
    """
    one = web("uniform")
    start = one.now
    told = Counter()
    for minute in range(HOURS * 60):
        for _ in range(5):
            one.crawl.parts.revisiting.tell(TOLD, one.now)
            one.run(12)
        if minute % 60 == 30:
            for number in range(1, 11):
                told[f"http://h{number}.test/"] += 1
                one.crawl.parts.revisiting.tell(f"http://h{number}.test/", one.now)
        if minute % 60 == 31:
            one.checkpoint()
            one.run(20)
            one.kill()
    one.run(600)

    for url, signals in told.items():
        times = [at for at, requested, _ in one.requested if requested == url]
        for hour in range(signals):
            moment = start + (60 * hour + 31) * 60
            assert any(moment - 120 <= at <= moment + 600 for at in times), (url, hour)
