"""The URL room against test cases and crawl logs of other projects."""

import gzip
import json
import re
from collections import Counter

import pytest
import re2

from tests.support.cases import cases, unpacked
from tests.support.url_settings import url_settings
from webcrawl.base.url_text import host_of
from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical, canonical_links
from webcrawl.urls.filters.expressions import ExpressionFilter
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import build_filters, build_pipeline

NOW = 1_747_000_000  # May 2025, when the later of the crawl logs was written
TRAP_FILTERS = ("trap_repeats", "trap_growth", "trap_calendar", "trap_family")


def canonical_or_none(link, base=""):
    try:
        return canonical(link, base, 2**20)
    except InvalidUrl:
        return None


def text_lines(path):
    return unpacked(path).decode().splitlines()


def logged_urls():
    lines = [line for path in sorted(cases("crawl-logs").glob("*.zst")) for line in text_lines(path)]
    return [found[1] for line in lines if (found := re.search(r"Downloaded (\S+), status", line))]


def page_links():
    for name in ("html-newspaper", "html-readability"):
        with gzip.open(cases(name) / "links.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)


def real_urls():
    """URLs that people linked to: on real pages, in the Hollins crawl, and the front pages of top sites."""
    found = [link[2] for page in page_links() for link in page["links"] if link[2]]
    found += [line.partition("\t")[2] for line in text_lines(cases("graph-hollins") / "urls.tsv.zst")]
    for path in cases("top-sites").glob("*.zst"):
        found += [f"http://{line.rpartition(',')[2]}/" for line in text_lines(path)]
    return [url for url in dict.fromkeys(canonical_links("", found, Counter(), 2**20).values()) if url]


def known_traps():
    """The ignore expressions of ArchiveBot."""
    patterns = json.loads((cases("crawler-traps") / "archivebot-ignore-patterns.json").read_text())
    return [expression for found in patterns.values() for expression in found]


class TestStandard:
    def test_the_url_standards_own_cases(self):
        """Serialisation is the standard's, without fragment and credentials; what the standard rejects is invalid.

        Beyond the standard, a host that DNS cannot represent is invalid (RFC 1035).
        """
        rows = json.loads((cases("url-wpt") / "urltestdata.json").read_text())
        rows = [row for row in rows if isinstance(row, dict) and "input" in row]
        tested = 0
        for row in rows:
            href = row.get("href")
            if row.get("failure"):
                assert canonical_or_none(row["input"], row["base"] or "") is None, row
            elif href.partition(":")[0] in SCHEMES[:3]:
                expected = re.sub(r"^(\w+://)[^/@]*@", r"\1", href.partition("#")[0])
                assert canonical_or_none(row["input"], row["base"] or "") == _nameable(expected), row
                tested += 1
        assert tested > 100

    @pytest.mark.parametrize("name", ["toascii", "IdnaTestV2"])
    def test_internationalised_hosts(self, name):
        """A host becomes the A-label of the standard, or is invalid where the standard or DNS rejects it."""
        rows = json.loads((cases("url-wpt") / f"{name}.json").read_text())
        rows = [row for row in rows if isinstance(row, dict)]
        assert rows
        for row in rows:
            expected = row["output"] and _nameable(f"http://{row['output']}/")
            assert canonical_or_none(f"http://{row['input']}/") == (expected or None), row


def _nameable(url):
    """The URL if DNS can represent its host (RFC 1035), which the URL standard does not require."""
    host = host_of(url).removesuffix(".")
    named = host[0:1] == "[" or (len(host) <= 253 and all(0 < len(label) <= 63 for label in host.split(".")))
    return url if named else None


class TestOtherCrawlers:
    def test_rows_that_the_standard_folds_fold_together(self):
        """URLs that eight crawlers and the standard treat as the same are the same, and canonical forms are stable."""
        rows = [json.loads(line) for line in (cases("url-canonical") / "canonical.jsonl").read_text().splitlines()]
        hard = [row for row in rows if row["kind"] == "canonical" and row.get("whatwg_same")]
        for row in hard:
            assert canonical_or_none(row["input"]) == canonical_or_none(row["expected"]), row
        for row in rows:
            url = canonical_or_none(row["input"]) if isinstance(row["input"], str) else None
            assert url is None or canonical(url, "", 2**20) == url
        assert len(hard) > 250

    def test_links_are_joined_as_the_reference_joins_them(self):
        """Every link of 217 real pages resolves to the target of the reference."""
        tested = 0
        for page in page_links():
            found = canonical_links(page["base"], [link[1] for link in page["links"]], Counter(), 2**20)
            for link in page["links"]:
                if link[2] and link[2].partition(":")[0] in SCHEMES:
                    assert found[link[1]] == canonical_or_none(link[2]), link
                    tested += 1
        assert tested > 39_000

    def test_registered_domains(self):
        """The public suffix list's test cases hold; a host without a registrable domain is its own domain."""
        domains = RegisteredDomains()
        for host, expected in json.loads((cases("public-suffix") / "registrable-domain.json").read_text()):
            url = canonical_or_none(f"http://{host}/") if host else None
            if url is not None:
                wanted = host_of(canonical(f"http://{expected}/")) if expected else host_of(url)
                assert domains(host_of(url)) == wanted, host


class TestHostileStrings:
    def test_naughty_strings_are_links_or_are_counted(self):
        """No naughty string, as a link, path, query or host, raises or puts a blank into a URL."""
        strings = json.loads((cases("malicious") / "blns.json").read_text())
        pipeline = build_pipeline(url_settings(), bytes(16))
        links = [start + text for text in strings for start in ("", "/", "/?", "http://", "http://h.example/", "//")]

        found = pipeline.process("http://h.example/a", 1, links).urls

        urls = canonical_links("http://h.example/a", links, Counter()).values()
        assert all(re.fullmatch("[!-~]+", url) for url in urls if url is not None)
        assert len(found) > 500


class TestTraps:
    @pytest.fixture(name="chain")
    def _chain(self):
        return build_filters(url_settings(), clock=lambda: NOW)

    def test_the_engine_takes_what_operators_wrote(self):
        """The expressions of a real archiving crew, compiled as one set, match what Python's engine matches.

        About six use look-around or back-references, which no linear-time engine supports.
        """
        mine = [one for one in known_traps() if _compiles(one)]
        assert len(known_traps()) - len(mine) <= 8
        python, together = [re.compile(one) for one in mine], ExpressionFilter(exclude=mine)
        sample = real_urls()[::10] + logged_urls()[::10]

        assert together.keep(sample, Origin()) == [url for url in sample if not any(one.search(url) for one in python)]

    def test_trap_urls_of_real_crawls_are_caught(self, chain):
        """Of the logged URLs that archivists have rules for, 99 in 100 are dropped.

        This guards against regressions: the known paths were written with these logs in mind.
        """
        rules = [re.compile(one) for one in known_traps()]
        urls = [url for url in canonical_links("", logged_urls(), Counter()).values() if url]
        traps = [url for url in dict.fromkeys(urls) if any(rule.search(url) for rule in rules)]
        kept = chain.keep(traps, Origin(), Counter())

        assert len(traps) > 1900
        assert len(kept) <= len(traps) // 100

    def test_ordinary_urls_are_no_traps(self, chain):
        """No trap filter drops any of 43,000 URLs that people linked to."""
        filtered, urls = Counter(), real_urls()

        chain.keep(urls, Origin(), filtered)

        assert len(urls) > 40_000
        assert {name: filtered[name] for name in TRAP_FILTERS if filtered[name]} == {}


def _compiles(expression):
    try:
        options = re2.Options()
        options.log_errors = False
        re2.compile(expression, options)
    except re2.error:
        return False
    return True
