"""Three small sites of which much is odd, crawled once: what is said of them can be compared with
what they are.
"""

from types import SimpleNamespace

from tests.support.named_sites import sites

BLOCK_PAGE = b"""<!doctype html><title>Making sure you're not a bot!</title><link rel=stylesheet
href="/.within.website/x/xess/xess.css"><h1>Making sure you're not a bot!</h1><a href=/beyond>x</a>"""
PAGES = ("a", "b", "c", "new", "here")  # of good.test, besides its first one; b is a copy of a
LINKS = (
    "a",
    "b",
    "c",
    "gone",
    "lost",
    "secret/1",
    "secret/2",
    "secret/3",
    "old",
    "error",
    "challenge",
    "wp-login.php",
)
AWAY = ("1", "2", "3")  # pages of away.test, where nothing listens


def served(port):
    """Return the function that `sites` calls for answers."""

    def answer(host, path, _cookie):
        """Return the answer of a host to a path."""
        if host == "moved.test":
            return (
                None
                if path == "/robots.txt"
                else (301, [("Location", f"http://good.test:{port()}/here")], b"")
            )
        if path == "/robots.txt":
            return b"User-agent: *\nDisallow: /secret/\n"
        name = path.removeprefix("/")
        if name == "":
            away = "".join(f"<a href=http://away.test:{port()}/{page}>away</a>" for page in AWAY)
            return (
                f"<title>odd</title>{away}"
                + "".join(f"<a href=/{link}>{link}</a>" for link in LINKS)
            ).encode()
        if name in PAGES:
            return f"<title>tea</title><p>{name.replace('b', 'a')} is a page about tea".encode()
        return {
            "old": (301, [("Location", "/new")], b""),
            "error": (500, [], b"no"),
            "challenge": BLOCK_PAGE,
        }.get(name)

    return answer


def crawled(folder):
    """Return a finished crawl of good.test, of moved.test, which leads there, and of others.

    The others are away.test, and an address that is not public.
    """
    with sites(served(lambda: site.port)) as site:
        seeds = [
            site.url("good.test"),
            site.url("moved.test"),
            site.url("away.test", "/0"),
            "http://10.0.0.1/",
        ]
        settings = {
            "PORTS_ALLOWED": site.port,
            "OUTPUTS": "warc cdxj tables text index",
            "HOST_PATIENCE": 1000,
            "HOST_RETRY_WAIT": 0.2,
            "HOST_MAX_FAILURES": 2,
            "OUTAGE_END_WAIT": 1,
        }
        crawl = site.crawl(folder, seeds, **settings)
        (folder / "hosts").write_text(
            "127.0.0.1 good.test\n127.0.0.1 moved.test\n127.0.0.3 away.test\n"
        )
        with (folder / "seeds.txt").open("ab") as file:
            file.write(b"\n# a comment\n\xff\n")
        status = crawl.run()
    requested = [(host, path) for host, path, _ in site.requested]
    return SimpleNamespace(
        crawl=crawl, job=crawl.jobdir, status=status, seeds=seeds, requested=requested
    )
