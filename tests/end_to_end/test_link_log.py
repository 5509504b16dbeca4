"""logs/links.log in a crawl: links of every page, of bodies seen before too, and redirects."""

import pytest

from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving

pytestmark = pytest.mark.xdist_group("link log")  # one crawl for all tests

PAGE = (
    b'<a href="/moved">to</a> <a href=/twin>twin</a> <img src="i.png" alt="an image">'
    + b"<a href=/>home</a>" * 3
)
TWIN = b'<a href="below/there">same</a>'


class Linked(Site):
    """A page, two URLs with the same body, and redirects, one of robots.txt."""

    def answer(self):
        if self.path in ("/moved", "/robots.txt"):
            return self.say(
                302, b"", location=" /twin/?a#part" if self.path == "/moved" else "/rules.txt"
            )
        if self.path == "/rules.txt":
            return self.say(200, b"<a href=/no-page>x</a>", content_type="text/html")
        return self.say(200, PAGE if self.path == "/" else TWIN, content_type="text/html")


@pytest.fixture(name="logged", scope="module")
def _logged(tmp_path_factory):
    """The rows of links.log, without the server's address, and what was fetched."""
    folder = tmp_path_factory.mktemp("links")
    with serving(Linked) as here:
        (folder / "seeds.txt").write_text(f"{here}/\n")
        settings = {"OUTPUTS": "links"}
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0, crawl.output.read_text()
    text = (crawl.jobdir / "logs/links.log").read_text().replace(here, "")
    return sorted(tuple(line.split("\t")) for line in text.splitlines())


def test_a_redirect_is_a_link(logged):
    """It has the kind `redirect`, the Location as it was sent, and where that leads."""
    assert [row for row in logged if row[3] == "redirect"] == [
        ("/moved", "/twin/?a#part", "/twin/?a", "redirect", "")
    ]


def test_bodies_seen_before_have_their_links(logged):
    """Each URL that shows a body has the links of that body, resolved against this URL."""
    targets = {row[0]: row[2] for row in logged if row[4] == "same"}

    assert targets.keys() >= {"/twin", "/twin/?a"}
    assert targets["/twin"] == "/below/there"
    assert targets["/twin/?a"] == "/twin/below/there"


def test_unfollowed_links_are_logged(logged):
    """Kinds that are not followed are in the log like all others."""
    of_page = [row[3:] for row in logged if row[0] == "/"]

    assert ("img", "an image") in of_page
    assert of_page.count(("a", "home")) == 3


def test_robots_txt_has_no_links(logged):
    """Neither its redirect nor what it says is a link of the crawl."""
    assert not any("robots" in row[0] or "rules" in row[0] or "no-page" in row[1] for row in logged)
