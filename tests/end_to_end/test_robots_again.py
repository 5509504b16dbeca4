"""A robots.txt whose rules have expired, requested with a condition by `scrapy crawl web`."""

import sqlite3
from collections import Counter
from contextlib import closing

from tests.support.named_sites import sites
from webcrawl.store import rowcrc
from webcrawl.tools.verify_crawl import verify

LINKS = (
    b"".join(b"<a href=/%d>" % number for number in range(12))
    + b"<a href=/private/1><a href=/private/2>"
)


class Answers:
    """A site that knows by its ETag whether a client has its robots.txt; `requested` has the conditions
    it got.
    """

    def __init__(self):
        self.requested = []

    def __call__(self, host, path, headers):
        if path != "/robots.txt":
            return LINKS if path == "/" else b"<p>%s" % path.encode()
        self.requested.append(headers.get("If-None-Match"))
        if self.requested[-1] == '"1"':
            return 304, [("ETag", '"1"')], b""
        return 200, [("ETag", '"1"')], b"User-agent: *\nDisallow: /private"


def expire(jobdir):
    """Makes all rules a day old."""
    with closing(sqlite3.connect(jobdir / "state" / "crawl.db")) as db:
        for origin, rules in db.execute("SELECT origin, rules FROM robots").fetchall():
            db.execute(
                "REPLACE INTO robots VALUES (?, 1.0, ?, ?)",
                (origin, rules, rowcrc.robots(origin, 1.0, rules)),
            )
        db.commit()


def test_a_304_keeps_the_rules_in_force(tmp_path):
    """The crawl goes on with the rules it had: what was forbidden stays so, and the rest is
    fetched.
    """
    answers = Answers()
    with sites(answers, all_headers=True) as served:
        crawl = served.crawl(tmp_path, ["site.test"], CLOSESPIDER_PAGECOUNT=4)
        assert crawl.run() == 0
        expire(crawl.jobdir)
        del crawl.settings["CLOSESPIDER_PAGECOUNT"]
        assert crawl.run(HOST_PATIENCE=10**9) == 0
        requested = {path for _, path in served.pages()}
        assert list(verify(crawl.jobdir, Counter())) == []

    assert answers.requested == [None, '"1"']
    assert requested == {"/", *(f"/{number}" for number in range(12))}
    log = (crawl.jobdir / "logs" / "crawl.log").read_text()
    assert log.count(" -9998 ") == 2
