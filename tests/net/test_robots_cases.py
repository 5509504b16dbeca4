"""Verdicts on real robots.txt files and on other projects' tests; docs/robots.md explains each number."""

import gzip
import json
from collections import Counter
from hashlib import blake2b

import pytest

from tests.support.cases import cases
from webcrawl.net.robots import parse
from webcrawl.net.robots_syntax import LIMIT


def _rows(name):
    return [json.loads(line) for line in (cases("robots-spec") / f"{name}.jsonl").read_text().splitlines()]


def _body(row):
    if "robots" in row:
        return row["robots"].encode(row["robots_encoding"])
    return row["robots_latin1"].encode("latin-1")


def _differing(rows):
    return [row["id"] for row in rows if parse(_body(row), row["agent"]).rules.allowed(row["url"]) != row["allowed"]]


class TestSpecification:
    @pytest.mark.parametrize(("name", "count"), [("google-robotstxt", 61), ("google-spec-test", 167)])
    def test_googles_tests(self, name, count):
        """Every verdict in Google's tests is ours, including Google's own extensions."""
        rows = _rows(name)

        assert len(rows) == count
        assert _differing(rows) == []

    def test_crawler_commons_tests(self):
        """Where crawler-commons and Google agree, we do; otherwise we follow Google."""
        rows = [row for row in _rows("crawler-commons") if "url" in row]

        assert _differing([row for row in rows if row["google_agrees"] is not False]) == []
        assert len(_differing([row for row in rows if row["google_agrees"] is False])) == 5

    def test_delays_and_sitemaps(self):
        """Crawl-delay and Sitemap are read as by crawler-commons."""
        rows = _rows("crawler-commons")
        delays = [
            (parse(_body(r), r["agent"]).rules.crawl_delay * 1000, r["crawl_delay_ms"])
            for r in rows
            if "crawl_delay_ms" in r
        ]
        sitemaps = [
            (len(parse(_body(r), r["agent"]).sitemaps), r["sitemaps_count"]) for r in rows if "sitemaps_count" in r
        ]

        assert [ours for ours, _ in delays + sitemaps] == [theirs for _, theirs in delays + sitemaps]
        assert (len(delays), len(sitemaps)) == (1, 1)


@pytest.fixture(name="real", scope="module")
def _real():
    with gzip.open(cases("robots-real") / "robots.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def _differences(row):
    """(our verdict, Google's, Protego's agreement) of each query on which we and Google differ."""
    body, host = row["body"].encode("latin-1"), row["hosts"][0]
    rules = {agent: parse(body, agent).rules for agent in {query[0] for query in row["queries"]}}
    for agent, path, allowed, protego_agrees in row["queries"]:
        ours = rules[agent].allowed(f"https://{host}{path}")
        if ours != allowed:
            yield ours, allowed, protego_agrees, len(body) > LIMIT


class TestRealFiles:
    @pytest.mark.campaign
    def test_verdicts_are_googles(self, real):
        """All but 73 of 107,122 verdicts: beyond 500 KiB, and where we forbid what Google cannot parse."""
        found = Counter(difference for row in real for difference in _differences(row))

        assert sum(len(row["queries"]) for row in real) == 107_122
        assert found == {
            (True, False, True, True): 6,  # one file of 1.3 MB
            (False, True, False, False): 67,  # blanks, quotes, braces in a pattern that we percent-encode
        }

    def test_all_files_are_read(self, real):
        """No file makes the parser raise, including those in unknown encodings."""
        assert len([parse(row["body"].encode("latin-1"), "webcrawl") for row in real]) == 1927

    def test_rules_are_what_they_were(self, real):
        """What files say of the use of pages changes nothing in the rules, delays and sitemaps of all real files."""
        found = blake2b(digest_size=8)
        for row in real:
            for agent in ("webcrawl", "googlebot"):
                txt = parse(row["body"].encode("latin-1"), agent)
                found.update(repr((sorted(txt.rules.items()), txt.rules.crawl_delay, txt.sitemaps)).encode())

        assert found.hexdigest() == "8012b007b9ae7304"  # as without these fields
