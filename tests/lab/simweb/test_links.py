"""The links that the synthetic web states are those that a reader finds in its pages."""

import pytest

from tests.support.simweb_reader import joined, read, unpacked
from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.kinds import KINDS
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.tree_pages import anchors
from webcrawl.lab.simweb.web_answers import WebRequest

WORLD = World(50, 2000, seed=7, port=8000, mix={"subdomain": 0.3, "https": 0.3}, slow=0.1)
SOUND = sorted(name for name, kind in KINDS.items() if not kind.counted)
OF_TRAPS = [
    f"trap_{name}"
    for name in ("calendar", "session", "session_path", "repeating", "growing", "facets")
]


def requested(host: int, target: str):
    """The answer to a crawler that accepts no coding, and the links that a reader finds in it."""
    answer = WORLD.answer(WebRequest(host, target))
    return answer, set(read(WORLD.origin(host) + target, unpacked(answer.body), answer.type))


@pytest.mark.parametrize("page", [0, 1, 5, 6, 7, 8, 70])
def test_tree_pages_have_the_links_they_claim(page):
    """Every link of a tree page, in whatever form, is listed with its source, and no other."""
    _, found = requested(0, path(page))

    assert found == {(link.source, link.url) for link in anchors(WORLD, 0, page)}


@pytest.mark.parametrize("kind", SOUND)
def test_special_answers_have_the_links_they_claim(kind):
    """Every link of a special answer is listed with its source, and no other."""
    answer, found = requested(3, f"/x/{kind}/12" + ("/" if kind == "trap_repeating" else ""))

    assert found == {(link.source, link.url) for link in answer.links}


@pytest.mark.parametrize("kind", [kind for kind in SOUND if kind.startswith("redirect")])
def test_redirects_lead_where_they_claim(kind):
    """A Location, however written, leads to the URL that the truth knows."""
    answer, _ = requested(3, f"/x/{kind}/12")
    written = [line.partition(": ")[2] for line in answer.headers if line.startswith("Location: ")]

    meant = [
        joined(f"{WORLD.origin(3)}/x/{kind}/12", line.encode("latin-1").decode())
        for line in written
    ]

    assert [url for url in meant if url is not None and "/never/" not in url] == [
        answer.location
    ] * bool(answer.location)


@pytest.mark.parametrize("kind", OF_TRAPS)
def test_traps_go_on(kind):
    """Each page of a trap links to a page that is new."""
    seen, target = set(), f"/x/{kind}/12" + ("/" if kind == "trap_repeating" else "")
    origin = WORLD.origin(3)

    for _ in range(30):
        seen.add(target)
        _, found = requested(3, target)
        new = sorted(
            url.removeprefix(origin) for _, url in found if url.removeprefix(origin) not in seen
        )
        target = new[-1]

    assert len(seen) == 30


def test_nothing_leads_where_no_link_leads():
    """No page, special or not, has a link below /never/."""
    urls = {url for kind in SOUND for _, url in requested(3, f"/x/{kind}/12")[1]}

    assert not [url for url in urls if "/never" in url]
