"""Small frontiers for tests, with all options."""

from random import Random

from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Hooks, Rules, Shape
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier

OK = Outcome(200, 0.2)  # causes a wait of two seconds, with Mercator's factor of 10
POLITENESS = Mercator(10, 1, 300)


def make(
    db,
    limits=None,
    *,
    levels=3,
    memory=1 << 20,
    prioritizer=None,
    politeness=None,
    domain=str,
    allowance=None,
    seed=1,
    now=0.0,
    requisites=False,
    folds=False,
    revisits=False,
    **hooks,
):
    """A frontier in this database; a host waits ten times its last download, at least 1 s."""
    return open_frontier(
        db,
        Shape(levels, 2.0, memory, revisits),
        Rules(
            prioritizer or ByDepth(levels),
            politeness or POLITENESS,
            limits or Limits(queues=2, max_queues=100),
            domain,
            allowance or Unlimited(),
            folds=folds,
            requisites=requisites,
        ),
        Hooks(**hooks),
        random=Random(seed),
        now=now,
    )


def add(frontier, *urls, path=""):
    frontier.add([Link(url, path).pack() for url in urls])


def requests_of(frontier, outcome, until):
    """Take links as they are due until none is left; yield the time at which each request ends, its
    link and its outcome, which the caller has to tell the frontier.

    `outcome` is that of a URL at a time.
    """
    now = 0.0
    while len(frontier) and now < until:
        link = frontier.take(now)
        if link is None:
            now = max(now, frontier.next_ready())
            continue
        came = outcome(link.url, now)
        now += 0.01
        yield now, link, came


def over_budget(frontier):
    """The URLs over their domains' budgets, and these domains."""
    budgets = frontier.core.queues.budgets
    return budgets.table.held, budgets.table.over.domains + budgets.table.folded.domains


def drain(frontier, now, outcome=OK, most=1000):
    """Takes and finishes URLs until none is left, advancing the clock as needed: [(time, link)]."""
    taken = []
    while len(taken) < most:
        link = frontier.take(now)
        if link is None:
            ready = frontier.next_ready()
            if ready is None:
                break
            now = max(now, ready)
            continue
        taken.append((now, link))
        frontier.done(link, outcome, now + outcome.seconds)
    return taken
