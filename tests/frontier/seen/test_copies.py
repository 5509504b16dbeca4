"""Which bodies that a site has in several folders are followed there, and where that ends."""

from hashlib import sha256

import pytest

from webcrawl.frontier.seen import content
from webcrawl.frontier.seen.content import Copies, Copy


def digest(body):
    return sha256(b"key" + body).digest()[:16]


PAGE, OTHER = digest(b"untranslated"), digest(b"other")


class Seen:
    """Follows whatever it may."""

    def __init__(self, *, sites=False, aliases=False):
        self.kept = set()
        self.copies = Copies(self.kept.__contains__, digest, sites=sites, aliases=aliases)

    def first(self, url, body=PAGE):
        self.kept.update(self.copies.notes(body, url))

    def again(self, url, body=PAGE, *, by_query=False):
        copy, notes = self.copies.judge(body, url, by_query=by_query)
        self.kept.update(notes)
        assert bool(notes) == (copy is Copy.FOLLOWED)
        return copy


@pytest.fixture(name="seen")
def _seen():
    found = Seen()
    found.first("http://a.test/en/x")
    return found


def test_another_body_is_not_concerned(seen):
    """What is remembered is of one body."""
    seen.again("http://a.test/da/x")
    assert seen.again("http://a.test/da/x", OTHER) is Copy.FOLLOWED


@pytest.mark.parametrize("url", ["https://a.test/en/x", "https://a.test/en/"])
def test_another_scheme_is_the_same_folder(seen, url):
    """The same site by another scheme is no copy with links of its own."""
    assert seen.again(url) is Copy.KNOWN


@pytest.mark.parametrize(("aliases", "copy"), [(True, Copy.KNOWN), (False, Copy.FOLLOWED)])
def test_www_is_a_mirror(aliases, copy):
    """A name with www. is the same site as the one without, where the scope does not tell them
    apart.
    """
    seen = Seen(aliases=aliases)
    seen.first("http://a.test/en/x")
    assert seen.again("http://www.a.test/en/x") is copy


def test_a_port_makes_another_host(seen):
    """Two servers of one machine have pages of their own."""
    assert seen.again("http://a.test:8080/en/x") is Copy.FOLLOWED


def test_links_by_query_lead_elsewhere_from_each_file(seen):
    """A body with links like ?page=2 is followed from each file of a folder, whatever the file's
    own query.
    """
    assert seen.again("http://a.test/en/list", by_query=True) is Copy.FOLLOWED
    assert seen.again("http://a.test/en/list?page=1", by_query=True) is Copy.KNOWN
    assert seen.again("http://a.test/en/other", by_query=True) is Copy.FOLLOWED


def test_below_one_folder_that_has_it(seen):
    """A start page that is the same below itself is followed there, but a copy below that copy is
    not.
    """
    seen.first("http://a.test/", OTHER)
    assert seen.again("http://a.test/da/", OTHER) is Copy.FOLLOWED
    assert seen.again("http://a.test/da/da/", OTHER) is Copy.NESTED
    assert seen.again("http://a.test/da/much/further/", OTHER) is Copy.NESTED


def test_so_many_below_and_no_more(seen, monkeypatch):
    """Of the folders below one that has the body, BELOW are followed."""
    monkeypatch.setattr(content, "BELOW", 3)
    found = [seen.again(f"http://a.test/en/{at}/") for at in range(5)]

    assert found == [Copy.FOLLOWED] * 3 + [Copy.NESTED] * 2


def test_so_many_folders_and_no_more(seen, monkeypatch):
    """A body is followed in FOLDERS folders of a host. Another host is not concerned."""
    monkeypatch.setattr(content, "FOLDERS", 5)
    found = [seen.again(f"http://a.test/{at}/") for at in range(7)]

    assert found == [Copy.FOLLOWED] * 5 + [Copy.NESTED] * 2
    assert seen.again("http://b.test/6/") is Copy.FOLLOWED


def test_a_site_that_never_had_it():
    """Where mirrors are left out, a copy counts only on a host that had the body before."""
    seen = Seen(sites=True, aliases=True)
    seen.first("http://a.test/en/x")
    assert seen.again("http://a.test/da/x") is Copy.FOLLOWED
    assert seen.again("http://mirror.test/en/x") is Copy.ELSEWHERE
    assert seen.again("http://mirror.test/da/x") is Copy.ELSEWHERE
