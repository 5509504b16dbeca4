"""Redirects cost a domain no more than what they lead to; time is simulated."""

from benchmarks.support import zoo
from tests.support.frontiers import make
from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.politeness.mercator import Mercator

HOME = "http://www.zoo.test/"
LEAD = 100  # DOMAIN_BUDGET_PAGES; a seed's domain may have ten times as many
STORIES = 201
LETTERS = str.maketrans("0123456789", "ghijklmnop")  # a word with a digit says nothing


def crawl(db, site, lead=LEAD):
    """The URLs fetched of a site, of which an answer is a redirect's target or a body with links."""
    allowance = ByReputation(lead)
    limits, politeness = Limits(queues=30, max_queues=100), Mercator(0, 0.1, 300)
    frontier = make(
        db,
        limits,
        domain=zoo.domain_of,
        memory=64 << 20,
        politeness=politeness,
        allowance=allowance,
        folds=True,
    )
    seen, bodies, fetched, now = {HOME}, set(), [], 0.0
    frontier.add([Link(HOME, seed=HOME).pack()])
    while len(fetched) < 20 * lead:
        link = frontier.take(now)
        if link is None:
            if len(frontier) == frontier.over_budget:
                break
            now = max(now, frontier.next_ready() or 0.0)
            continue
        fetched.append(link.url)
        answer = site(link.url.removeprefix(HOME))
        if isinstance(answer, str):
            status, links, path = 302, [answer], f"{link.path}R"
        else:
            status, path = 200, "L"
            body, links = answer
            if body not in bodies:
                bodies.add(body)
                frontier.domains.new_body(link, body.encode())
        frontier.domains.heard(link.url, links)
        fresh = [url for url in dict.fromkeys(links) if url not in seen]
        seen.update(fresh)
        frontier.add([Link(url, path, link.url).pack() for url in fresh])
        frontier.done(link, Outcome(status, 0.01), now + 0.01)
        now += 0.01
    return fetched, frontier


def story(at):
    words = " ".join(zoo.digest_of(at, step).translate(LETTERS) for step in range(4))
    return f"<h1>{words}</h1><p>a story of {words}"


def tracked(path):
    """Stories, which link to the next one, and by ten links with a token each to any of the others."""
    at = zoo.number_in(path.partition("&")[0])
    if path.startswith("out"):
        return f"{HOME}story/{at}"
    links = [
        f"{HOME}out?to={(at * 7 + step) % STORIES}&from={zoo.digest_of(at, step)}"
        for step in range(10)
    ]
    return story(at), [*links, *([f"{HOME}story/{at + 1}"] if at + 1 < STORIES else [])]


def test_tracking_links_cost_no_stories(db):
    """A site whose links lead through redirects to known pages is fetched whole.

    Each such redirect was a debt of the domain: its lead was spent, and 101 of 201 stories were
    never fetched.
    """
    fetched, _ = crawl(db, tracked)

    stories = {url for url in fetched if "/story/" in url}
    assert len(stories) == STORIES


def test_redirects_to_known_pages_are_folded(db):
    """Redirects that lead to nothing new are few, however many links there are to them."""
    fetched, frontier = crawl(db, tracked, lead=1000)

    assert len(fetched) < 2 * STORIES + 200
    assert frontier.core.queues.budgets.table.folded.urls > 1000


def test_redirects_without_end_are_bounded(db):
    """A site that names ever new redirects to its front page costs less than its lead."""

    def site(path):
        if path.startswith("r/"):
            return HOME
        return "front page", [f"{HOME}r/{zoo.digest_of(step)}" for step in range(5000)]

    fetched, _ = crawl(db, site, lead=1000)

    assert len(fetched) < 400


def test_a_redirect_and_its_page_are_one(db):
    """A site of which every link is redirected once has all the pages of its budget."""

    def site(path):
        at = zoo.number_in(path)
        if path.startswith("node"):
            return f"{HOME}blog/{at}"
        return story(at), [f"{HOME}node/{further}" for further in (at + 1, at + 2)]

    fetched, _ = crawl(db, site)

    pages = [url for url in fetched if "/blog/" in url]
    assert len(pages) >= 10 * LEAD - 10


def test_a_chain_of_redirects_is_no_way_around_the_budget(db):
    """Each further redirect of a chain is a page of the budget."""

    def site(path):
        hop, _, number = path.partition("/")
        at = zoo.number_in(number)
        if hop in {"hop1", "hop2", "hop3", "hop4"}:
            return f"{HOME}hop{int(hop[-1]) + 1}/{at}"
        return story(at), [f"{HOME}hop1/{further}" for further in (2 * at + 1, 2 * at + 2)]

    fetched, _ = crawl(db, site)

    assert len(fetched) <= 10 * LEAD * 5 / 4 + 10


def test_redirects_that_lead_nowhere_are_debts(db):
    """A redirect to a URL that no page was known of is owed until its target is answered."""

    def site(path):
        if path.startswith("r"):
            return f"{HOME}r/{zoo.digest_of(path)}"  # and so on, until nobody follows any more
        return "front page", [f"{HOME}r/{zoo.digest_of(step)}" for step in range(5000)]

    fetched, _ = crawl(db, site)

    assert len(fetched) <= 2 * LEAD
