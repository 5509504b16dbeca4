"""A crawl that goes on with another policy, in simulated time: what the one before had learned is
not its own.
"""

from itertools import pairwise, permutations

import pytest

from tests.support.changing_site import Document
from tests.support.examples import in_campaign
from tests.support.revisiting import Web
from webcrawl.crawl.revisit.policies import POLICIES
from webcrawl.crawl.revisit.revisits import POLICY

DAY = 86_400
PAGES, ROUND = 6, 4 * 3600


@pytest.fixture(name="web")
def _web(tmp_path):
    """Makes a crawl with this policy, of pages of which half change each day."""
    made = []

    def make(policy):
        documents = {f"/{number}": Document(b"<p>0") for number in range(PAGES)}
        settings = {
            "REVISIT_POLICY": policy,
            "REVISIT_RATE": PAGES / ROUND,
            "REVISIT_AGE": ROUND,
            "RANDOM_SEED": 1,
        }
        made.append(Web(tmp_path / str(len(made)), documents, **settings))
        made[-1].seed(*documents)
        return made[-1]

    yield make
    for one in made:
        assert one.damage() == []


def days(one, many):
    for _ in range(many):
        for number in range(PAGES // 2):
            one.documents[f"/{number}"] = Document(b"<p>%d" % one.now)
        one.run(DAY)
    one.checkpoint()


def state_of(one):
    """What its policy has learned, as of a checkpoint that is taken now."""
    one.checkpoint()
    return one.crawl.parts.db.get(POLICY)


CHANGES = list(permutations(POLICIES, 2))
DAILY = CHANGES[::5]  # in every run; the others in the campaign


@pytest.mark.parametrize(
    ("before", "after"), [*DAILY, *in_campaign(*(one for one in CHANGES if one not in DAILY))]
)
def test_it_begins_anew(web, before, after):
    """It starts as in a crawl of its own, and pages are fetched again by it."""
    one = web(before)
    days(one, 2)
    one.kill(REVISIT_POLICY=after)
    assert state_of(one) == state_of(web(after))

    known = len(one.requested)
    days(one, 2)
    assert len(one.requested) - known > PAGES


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_one_goes_on(web, policy):
    """The same policy goes on with what it has learned, after a run without revisits, too."""
    one = web(policy)
    days(one, 2)
    learned = state_of(one)
    one.kill()
    assert state_of(one) == learned

    one.kill(REVISIT_POLICY="none")
    one.checkpoint()
    one.kill(REVISIT_POLICY=policy)
    assert state_of(one) == learned


def test_one_that_is_never_early(tmp_path):
    """However far the queue was ahead of the clock, `fixed` fetches no page before it is as old as
    REVISIT_AGE.
    """
    urls = [f"http://h{number}.test/" for number in range(20)]
    settings = {
        "REVISIT_POLICY": "uniform",
        "REVISIT_RATE": len(urls) / (5 * DAY),
        "REVISIT_AGE": DAY,
    }
    one = Web(tmp_path / "crawl", {"*": Document(b"<p>0")}, **settings)
    one.seed(*urls)
    one.run(DAY)
    one.checkpoint()
    one.requested.clear()
    one.kill(REVISIT_POLICY="fixed", REVISIT_RATE=0, REVISIT_AGE=3600)
    one.run(0.5 * DAY)

    waits = [later - sooner for url in urls for sooner, later in pairwise(one.times(url))]
    assert waits
    assert min(waits) >= 3590
    assert one.damage() == []
