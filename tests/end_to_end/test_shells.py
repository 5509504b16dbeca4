"""Sites that share a small page, and mirrors of a whole site, crawled by `scrapy crawl web`."""

from collections import Counter

from tests.support.named_sites import sites
from webcrawl.tools.verify_crawl import verify

SHELL = b'<frameset><frame src="menu.html"><frame src="main.html"></frameset>'
HOSTS = [f"site{number}.test" for number in range(12)]


def own(host, path):
    return f"<p>This is {host}{path}".encode()


def annotated(crawl):
    """The URLs that crawl.log says are followed although their bodies were seen."""
    lines = (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    return {line.split()[3] for line in lines if "seen:followed" in line.split()[11].split(",")}


def test_each_shell_leads_to_its_own_pages(tmp_path):
    """Hosts that have the same frameset are all crawled: it is followed on each, logged so, and
    archived as ever.
    """
    pages = {"/": SHELL, "/menu.html": None, "/main.html": None}

    with sites(
        lambda host, path, _: (pages[path] or own(host, path)) if path in pages else None
    ) as served:
        crawl = served.crawl(tmp_path, HOSTS)
        assert crawl.run() == 0

        assert sorted(served.pages()) == sorted((host, path) for host in HOSTS for path in pages)
        assert len(annotated(crawl)) == len(HOSTS) - 1
        assert list(verify(crawl.jobdir, Counter())) == []


def test_a_shell_behind_a_shell(tmp_path):
    """A page that redirects by refresh to a page that is the same everywhere: both are followed on
    each host.
    """
    pages = {
        "/": b'<meta http-equiv=refresh content="0; url=start/">',
        "/start/": b'<a href="../own">Enter',
    }

    with sites(
        lambda host, path, _: pages.get(path) or (own(host, path) if path == "/own" else None)
    ) as served:
        assert served.crawl(tmp_path, HOSTS[:5]).run() == 0

        assert sorted(served.pages()) == sorted(
            (host, path) for host in HOSTS[:5] for path in [*pages, "/own"]
        )


def test_a_mirror_is_not_crawled_again(tmp_path):
    """On each mirror of a site the start page is fetched, and the pages that it links to: nothing
    behind those.
    """
    tree = {"/": [f"/{at}" for at in range(3)]}
    for _ in range(3):
        tree |= {
            path: [f"{path}{at}" for at in range(3)]
            for paths in list(tree.values())
            for path in paths
        }
    leaves = {path for paths in tree.values() for path in paths} - tree.keys()
    bodies = {
        path: (path + "".join(f'<a href="{link}">' for link in links)).encode()
        for path, links in tree.items()
    }
    bodies |= {path: path.encode() for path in leaves}
    mirrors = HOSTS[:6]

    with sites(lambda _, path, __: bodies.get(path)) as served:
        assert served.crawl(tmp_path, mirrors).run() == 0

        # each page is fetched on some of them
        assert {path for _, path in served.pages()} == bodies.keys()
        once = len(bodies) + (len(mirrors) - 1) * (1 + len(tree["/"]))
        # where the start page was new, one other body is followed
        assert once <= len(served.pages()) <= once + 3
