"""Pages that are the same under several URLs, with relative links of their own from each, crawled
whole.
"""

import pytest

from tests.support.named_sites import sites

LANGUAGES = ["en", "da", "de"]
UNTRANSLATED = (
    b'<p>Only in English, so far.<a href="own">Here</a><a href="deep/own">and there</a>'
    + b" " * 5000
)
START = b"".join(b'<a href="/%s/page">x</a>' % name.encode() for name in LANGUAGES)


def manual(host, path, _):
    """A manual that was translated in part: a page without a translation is the same in each
    language.
    """
    if path == "/":
        return START
    if path.split("/")[1] not in LANGUAGES:
        return None
    return UNTRANSLATED if path.endswith("/page") else f"<p>{host}{path}".encode()


def said(crawl):
    return [line for line in crawl.output.read_text().splitlines() if "extensions.summary" in line]


@pytest.mark.parametrize("scope", ["host", "domain", "seeds", "any"])
def test_untranslated_pages_lead_to_their_own_languages(tmp_path, scope):
    """Relative links of a copy in another folder are followed.

    The pages of Apache's manual that no one had translated were the same bytes under /da/ and /en/.
    The links of all copies but the first were dropped, and 595 URLs that the server has were never
    requested.
    """
    with sites(manual) as served:
        crawl = served.crawl(tmp_path, ["manual.test"], URL_SCOPE=scope)
        assert crawl.run() == 0

        own = {f"/{name}/{page}" for name in LANGUAGES for page in ("page", "own", "deep/own")}
        assert sorted(path for _, path in served.pages()) == sorted(own | {"/"})


@pytest.mark.parametrize("scope", ["host", "any"])
def test_one_body_for_every_url_ends(tmp_path, scope):
    """A server that gives the same body for each URL is left after some hundred pages, and the last
    lines say so.
    """
    body = b"<h1>Welcome</h1>" + b"".join(b'<a href="%d/">x</a>' % at for at in range(10))

    with sites(lambda *_: body) as served:
        crawl = served.crawl(tmp_path, ["trap.test"], URL_SCOPE=scope, TRAP_RULES=False)
        assert crawl.run() == 0

        assert len(served.pages()) == 1 + 10 + 100
        assert any(
            "100 pages (the links of copies in ever more folders: CONTENT_SEEN)" in line
            for line in said(crawl)
        )


def test_a_mirror_is_told_of(tmp_path):
    """The pages of a mirror are left out where links lead anywhere, and the last lines count them."""
    with sites(
        lambda host, path, cookie: linked if path == "/en/own" else manual(host, path, cookie)
    ) as served:
        linked = b'<a href="%s">x</a>' % served.url("mirror.test", "/en/page").encode()
        crawl = served.crawl(tmp_path, ["manual.test"], names=["mirror.test"])
        assert crawl.run() == 0

        assert [path for host, path in served.pages() if host == "mirror.test"] == ["/en/page"]
        assert any(
            "1 page (the links of copies of another host's pages: CONTENT_SEEN)" in line
            for line in said(crawl)
        )
