"""What pages need to be shown is fetched beyond any scope, and nothing else is."""

import json
from collections import Counter

import pytest

from tests.support.crawling import QUICK, Crawl
from tests.support.crawling_sites import serving

NAMES = ["site.test", "cdn.test", "far.test"]
FRAMED = '<link rel=stylesheet href="http://cdn.test/framed.css"><a href="/beyond">x</a>'
FILES = {
    "http://site.test/": (
        '<link rel="shortcut icon" href=/icon.ico><link rel=stylesheet href=http://cdn.test/one.css>'
        "<link rel=alternate href=http://far.test/feed><link rel=next href=http://far.test/next>"
        "<img src=http://cdn.test/a.png srcset='http://cdn.test/a2.png 2x'><script src=http://cdn.test/s.js></script>"
        "<style>b{c:url(/back.png)}</style><p style='c:url(http://cdn.test/p.png)'>"
        "<video poster=/poster.jpg src=/film.mp4></video><object data=http://far.test/object.svg></object>"
        "<iframe src=http://far.test/frame></iframe><iframe src=/inner></iframe><img src=http://cdn.test/moved>"
        "<svg><use href='/sprite.svg#x'></use></svg>"
        "<a href=/page>x</a><a href=http://far.test/link>x</a><a href=/archive.zip>x</a>"
    ),
    "http://site.test/page": "<img src=http://cdn.test/b.png>",
    "http://site.test/inner": "<img src=/in.png><a href=/from-inner>x</a>",
    "http://site.test/from-inner": "",
    "http://far.test/frame": FRAMED
    + "<iframe src=/second></iframe><meta http-equiv=refresh content='0;url=/again'>",
    "http://far.test/again": "<a href=/beyond2>x</a><img src=again.png>",
    "http://far.test/second": "<img src=/deep.png><iframe src=/third></iframe>",
    "http://far.test/third": "<img src=/too-deep.png><a href=/beyond3>x</a>",
    "http://cdn.test/one.css": "@import 'two.css';",
    "http://cdn.test/two.css": "@import 'three.css'; @font-face{src:url(http://far.test/font.woff2)}",
    "http://cdn.test/three.css": "@import 'four.css';",
    "http://cdn.test/framed.css": "b{c:url(framed.png)}",
    "http://cdn.test/moved": "http://far.test/there.png",
}
SHOWN = {
    "http://site.test/": "icon.ico back.png poster.jpg film.mp4 sprite.svg inner in.png",
    "http://cdn.test/": "one.css two.css three.css a.png a2.png s.js p.png b.png framed.css framed.png moved",
    "http://far.test/": "font.woff2 object.svg frame second third deep.png there.png again again.png",
}
REQUISITES = {host + name for host, names in SHOWN.items() for name in names.split()}
PAGES = {
    "http://site.test/",
    "http://site.test/page",
    "http://site.test/inner",
    "http://site.test/from-inner",
}


def answer(url):
    body = FILES.get(url)
    if url == "http://cdn.test/moved":
        return 301, f"text/plain\r\nLocation: {body}", b""
    if body is None:
        kind = "image/png" if "png" in url else "text/plain"
        return 200, kind, url.encode()
    return 200, "text/css" if url.endswith(".css") else "text/html", body.encode()


@pytest.fixture(name="requested")
def _requested(tmp_path):
    """The URLs requested by a crawl of the first site with these settings, without robots.txt."""

    def crawl(seeds="http://site.test/\n", scope="host", answers=answer, **settings):
        with serving(answers, tmp_path, NAMES) as sites:
            path = tmp_path / "seeds.txt"
            path.write_text(seeds)
            hosts = sites.hosts_file(tmp_path / "hosts", NAMES)
            crawl = Crawl(tmp_path / "job", {"seeds": path, "scope": scope}, QUICK)
            assert crawl.run(HOSTS_FILE=hosts, **settings) == 0
            return Counter(url for url in sites.requested if not url.endswith("/robots.txt"))

    return crawl


@pytest.fixture(name="indexed")
def _indexed(tmp_path):
    """The URLs in the index of the archive."""

    def urls():
        lines = [
            line
            for path in (tmp_path / "job/warc").glob("*.cdxj")
            for line in path.read_text().splitlines()
        ]
        return Counter(json.loads(line.split(" ", 2)[2])["url"] for line in lines)

    return urls


def test_a_page_is_archived_with_all_it_needs(requested, indexed):
    """Images, style sheets with what they import, fonts, scripts, films, frames and what those
    need; each once.

    Three hops from the page: no further, and no link of a page that is only shown in another.
    """
    wanted = requested(REQUISITES=1)

    assert set(wanted) == PAGES | REQUISITES
    assert max(wanted.values()) == 1
    assert {url for url in indexed() if not url.endswith("/robots.txt")} == PAGES | REQUISITES


def test_without_it_the_scope_holds(requested):
    """Off is the default: then only links are followed, and within the scope."""
    assert set(requested()) == PAGES


def test_depth_and_inclusion_do_not_hold_for_them(requested):
    """What is not deep enough, or not included, is not followed, but what a page needs is fetched."""
    found = requested(REQUISITES=1, URL_MAX_DEPTH=0, URL_INCLUDE="^http://site.test/$", scope="any")

    assert set(found) == {"http://site.test/"} | (REQUISITES - {"http://cdn.test/b.png"})


def test_exclusions_and_length_hold(requested, tmp_path):
    """What is excluded, or too long, is not fetched for any page."""
    (tmp_path / "excluded").write_text("far.test\n")

    found = requested(REQUISITES=1, URL_EXCLUDE="[.]js$", URL_EXCLUDE_FILE=tmp_path / "excluded")

    assert {url for url in found if "far.test" in url or ".js" in url} == set()
    assert "http://cdn.test/three.css" in found


def test_robots_txt_holds(requested):
    """What a site forbids is not fetched, whichever page needs it."""

    def forbidding(url):
        return (
            (200, "text/plain", b"User-agent: *\nDisallow: /")
            if url.endswith("cdn.test/robots.txt")
            else answer(url)
        )

    found = requested(answers=forbidding, REQUISITES=1)

    assert {url for url in found if "cdn.test" in url} == set()
    assert "http://far.test/frame" in found


def test_a_page_shown_in_another_is_followed_if_it_is_a_seeds(requested):
    """Links of a frame that is a page of another seed's are followed, though a scope leads no link
    there.
    """
    found = requested(seeds="http://site.test/\nhttp://far.test/next\n", REQUISITES=1)

    assert {"http://far.test/beyond", "http://far.test/beyond2", "http://far.test/beyond3"} <= set(
        found
    )


def test_the_same_sheet_elsewhere_needs_other_files(requested):
    """A body seen before is read again for its requisites: relative to another place they are other
    files.
    """
    pages = {
        "http://site.test/": "<link rel=stylesheet href=/a/s.css><link rel=stylesheet href=/b/s.css><a href=/c/>x</a>",
        "http://site.test/c/": "<img src=x.png><a href=d>y</a>",
        "http://site.test/c/d": "<img src=x.png><a href=d>y</a>",
        "http://site.test/a/s.css": "b{c:url(x.png)}",
        "http://site.test/b/s.css": "b{c:url(x.png)}",
    }

    def answers(url):
        kind = "text/css" if url.endswith(".css") else "text/html"
        return (200, kind, pages[url].encode()) if url in pages else (200, "image/png", b"png")

    found = requested(answers=answers, REQUISITES=1, scope="any")

    assert {
        "http://site.test/a/x.png",
        "http://site.test/b/x.png",
        "http://site.test/c/x.png",
    } <= set(found)


def test_more_than_a_portion_are_all_fetched(requested):
    """A page may need more files than are submitted at once."""
    images = "".join(f"<img src=http://cdn.test/{number}.png>" for number in range(1200))

    def answers(url):
        return (
            (200, "text/html", images.encode())
            if url == "http://site.test/"
            else (200, "image/png", url.encode())
        )

    assert len(requested(answers=answers, REQUISITES=1, OUTPUTS="none")) == 1201
