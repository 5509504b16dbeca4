"""Which bodies that were seen are followed all the same, and how often."""

from hashlib import sha256

import pytest

from webcrawl.frontier.seen import content
from webcrawl.frontier.seen.content import Shells


def digest(body):
    return sha256(b"key" + body).digest()[:16]


def domain_of(url):
    return ".".join(url.split("/")[2].split(".")[-2:])


SHELL, OTHER = digest(b"enter here"), digest(b"other")


class Seen:
    """Follows whatever it may."""

    def __init__(self):
        self.kept = set()
        self.shells = Shells(self.kept.__contains__, digest, domain_of)

    def follows(self, body, url, redirects=0):
        notes = self.shells.follows(body, url, redirects)
        self.kept.update(notes)
        return bool(notes)


@pytest.fixture(name="seen")
def _seen():
    return Seen()


def test_once_on_each_domain(seen):
    """A body is followed on each new registered domain, and there once, on whichever of its hosts
    it comes first.
    """
    assert seen.follows(SHELL, "http://a.test/")
    assert not seen.follows(SHELL, "http://www.a.test/")
    assert seen.follows(SHELL, "http://b.test/")


def test_behind_a_redirect_it_is_the_domains_one(seen):
    """A start page behind a redirect counts as the domain's one body: pages that it links to are
    not followed.
    """
    assert seen.follows(SHELL, "http://a.test/", 1)
    assert not seen.follows(OTHER, "http://a.test/inner")


def test_so_many_domains_and_no_more(seen, monkeypatch):
    """A body is followed on DOMAINS domains. Another body is not concerned."""
    monkeypatch.setattr(content, "DOMAINS", 5)
    followed = [seen.follows(SHELL, f"http://site{number}.test/") for number in range(7)]

    assert followed == [True] * 5 + [False] * 2
    assert seen.follows(OTHER, "http://site6.test/")


def test_nothing_is_kept_of_what_is_not_followed(seen):
    """What is kept is bounded by what is followed: one digest per body, and one per hop."""
    assert len(seen.shells.follows(SHELL, "http://a.test/", 0)) == 2
    assert len(seen.shells.follows(SHELL, "http://a.test/", 3)) == 5
    seen.follows(SHELL, "http://a.test/", 3)
    assert seen.shells.follows(OTHER, "http://a.test/", 3) == []


def test_no_page_can_take_a_domains_turn(seen):
    """A body that spells out what is kept for another domain has another digest: the key is in
    front.
    """
    seen.kept.add(digest(b"0 a.test"))
    seen.kept.add(digest(digest(b"") + b"0 a.test"))

    assert seen.follows(SHELL, "http://a.test/")
