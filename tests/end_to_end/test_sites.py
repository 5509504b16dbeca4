"""Real sites, served as they were: the requests are exactly those that an independent reader of
their pages expects.
"""

import gzip
import json
import re
from collections import Counter
from typing import ClassVar
from urllib.parse import unquote

import pytest

from tests.support.cases import cases, unpacked
from tests.support.crawling import Crawl
from tests.support.crawling_sites import serving

FILTERS = "webcrawl.urls.filters"
PLAIN = {  # follow every link of the hosts, whatever its path looks like
    f"{FILTERS}.url_parts.SchemeFilter": 100,
    f"{FILTERS}.expressions.ExpressionFilter": 700,
}
TRAPS = {
    f"{FILTERS}.{path}": 900 + order
    for order, path in enumerate(
        [
            "depth.DepthFilter",
            "traps.GrowthFilter",
            "traps.CalendarFilter",
            "traps.FamiliesFilter",
            "traps.RepeatsFilter",
        ]
    )
}
SETTINGS = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "DOWNLOAD_TIMEOUT": 20,
    "URL_MAX_LENGTH": 65_536,
    "LINK_SOURCES": "a area frame iframe refresh",
    "CONTENT_SEEN": "process",  # a body's relative links lead elsewhere from another URL
}
TRAP_HOST = "https://intranet.ics.uci.edu/"  # a form's state in its URLs, 255 pages deep
MISSING = 404, "text/plain", b"not here"


@pytest.mark.campaign
class TestSharedHosts:
    """41 hosts of one university."""

    @pytest.fixture(name="expected")
    def _expected(self):
        lines = gzip.decompress(
            (cases("site-uci-shared") / "expected_requests.tsv.gz").read_bytes()
        ).decode()
        return {line.split("\t")[2] for line in lines.splitlines()}

    @pytest.fixture(name="requested")
    def _requested(self, tmp_path):
        """The URLs requested with these filters, without robots.txt."""
        folder = cases("site-uci-shared")
        data = unpacked(folder / "pages.jsonl.zst")
        pages = {page["url"]: page for page in map(json.loads, data.decode().split("\n")[:-1])}
        names = sorted({url.split("/")[2] for url in pages})
        assert (len(pages), len(names)) == (1668, 41)

        def answer(url):
            page = pages.get(url)
            kind = "text/html" if page and page["html"] else "text/plain"
            return (200, f"{kind}; charset=utf-8", page["body"].encode()) if page else MISSING

        def crawl(filters, **more):
            with serving(answer, tmp_path, names) as sites:
                seeds = tmp_path / "seeds.txt"
                seeds.write_text("\n".join(json.loads((folder / "seeds.json").read_text())))
                inside = "^https?://(?:" + "|".join(map(re.escape, names)) + ")/"
                settings = {
                    "URL_INCLUDE": inside,
                    "HOSTS_FILE": sites.hosts_file(tmp_path / "hosts", names),
                }
                crawl = Crawl(tmp_path / "job", {"seeds": seeds}, SETTINGS | settings)
                assert crawl.run(URL_FILTERS=json.dumps(filters), **more) == 0
            return [url for url in sites.requested if not url.endswith("/robots.txt")]

        return crawl

    def test_without_trap_rules_all_is_requested(self, requested, expected):
        """Without trap rules the expected URLs are requested once each; http and https are
        different URLs.
        """
        counts = Counter(requested(PLAIN, TRAP_RULES=False))

        assert counts.keys() - expected == set()
        assert expected - counts.keys() == set()
        assert max(counts.values()) == 1

    def test_trap_rules_cost_nothing_but_the_trap(self, requested, expected):
        """With bounded depth and trap rules, what is missing belongs to the one host with a trap."""
        counts = Counter(requested(PLAIN | TRAPS))

        assert counts.keys() <= expected
        assert max(counts.values()) == 1
        missing = expected - counts.keys()
        assert missing
        assert {url for url in missing if not url.startswith(TRAP_HOST)} == set()


class TestSelfTestSites:
    """Small sites by which another crawler tests itself, each on its own host."""

    # What a browser could be led to by links, frames and refreshes, but not by forms or scripts.
    # Depth 3 is the deepest.
    EXPECTED: ClassVar = {
        "Frames": ["index", "topframe", "leftframe", "rightframe", "noframe"],
        "Refresh": ["index", "refresh", "refresh2"],
        "MaxLinkHops": ["index", "2", "3", "4"],
        "RobotsExclusion": ["index", "included"],
        "SpacesInHrefPath": ["index", "spaces%20in%20path"],
        "TrickyRelativeURIs": ["index", "reluptricky", "/test8/anothersub/reluptarget"],
        "FormTagExtraction": ["index"],
        "SimpleJavascriptExtraction": ["index"],
        # The bases are odd, but they are URLs, so they count. That of two.html leads to another
        # host.
        "BadURIsStopPageParsing": [
            *["index", "one", "two", "three"],
            *["/BadURIsStopPageParsing/www.loc.gov/rr/european/egw/goodone", "/goodthree"],
        ],
    }

    def test_each_file_that_is_linked_is_fetched_once(self, tmp_path):
        """Every target of links, frames and refreshes is fetched once, and nothing that robots.txt
        forbids.
        """
        folder = cases("selftest-sites") / "heritrix-webapps"
        names = [f"{case.lower()}.test" for case in self.EXPECTED]

        def answer(url):
            path = folder / unquote(url.split("/", 3)[3])
            return (200, "text/html", path.read_bytes()) if path.is_file() else MISSING

        with serving(answer, tmp_path, names) as sites:
            seeds = tmp_path / "seeds.txt"
            seeds.write_text(
                "".join(f"http://{case.lower()}.test/{case}/index.html\n" for case in self.EXPECTED)
            )
            crawl = Crawl(tmp_path / "job", {"seeds": seeds, "scope": "host"}, SETTINGS)
            hosts = sites.hosts_file(tmp_path / "hosts", names)
            assert crawl.run(HOSTS_FILE=hosts, USER_AGENT="heritrix_selftest", URL_MAX_DEPTH=3) == 0

        requested = Counter(url for url in sites.requested if not url.endswith("/robots.txt"))
        assert requested == Counter(
            f"http://{case.lower()}.test{page if page[0] == '/' else f'/{case}/{page}'}.html"
            for case, pages in self.EXPECTED.items()
            for page in pages
        )
