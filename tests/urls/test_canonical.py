"""The fetched form of a URL, and the shortcut to it."""

import gzip
import json
import re
from collections import Counter

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases, unpacked
from tests.support.examples import examples
from tests.support.url_settings import url_settings
from tests.support.url_strategies import bases, links
from webcrawl.base.model import Link, unpack
from webcrawl.base.url_text import host_of
from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical, canonical_links
from webcrawl.urls.filters.expressions import ExpressionFilter
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import build_filters, build_pipeline

PAGE = "http://h.example/a/b?c"


def canonical_or_reason(link, base=""):
    try:
        return canonical(link, base)
    except InvalidUrl as error:
        return error.reason


class TestCanonical:
    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("HTTP://H.Example:80/%7ejoe", "http://h.example/%7ejoe"),
            ("http://h.example", "http://h.example/"),
            ("https://h.example:443/x#part", "https://h.example/x"),
            ("http://h.example:8080", "http://h.example:8080/"),
            ("http://joe:secret@h.example/a@b", "http://h.example/a@b"),
            ("http://h.example/a b\u00e9?q=\u00e9 x", "http://h.example/a%20b%C3%A9?q=%C3%A9%20x"),
            ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
            ("http://h.example/a/./b/../c//d", "http://h.example/a/c//d"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::0001]:80/", "http://[::1]/"),
            ("http://h.example./", "http://h.example./"),
            ("ftp://anonymous@h.example:21/pub", "ftp://h.example/pub"),
        ],
    )
    def test_it_is_the_standards_serialisation_without_fragment_and_credentials(
        self, link, expected
    ):
        """The canonical form is the URL standard's, without what is never sent to a server."""
        assert canonical(link) == expected

    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("gopher://H.Example:70", "gopher://h.example/"),
            ("gopher://joe@b\u00fccher.example/1/a b", "gopher://xn--bcher-kva.example/1/a%20b"),
            ("gopher://h.example:80/0x", "gopher://h.example:80/0x"),
            ("gopher://h.example:7070?q", "gopher://h.example:7070/?q"),
            ("gopher://[::0001]:70/", "gopher://[::1]/"),
        ],
    )
    def test_gopher_hosts_are_normalised_as_for_http(self, link, expected):
        """Gopher URLs, unknown to the URL standard, get a lower-case ASCII host and lose the
        default port 70.
        """
        assert canonical(link) == expected

    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("gopher://h.example/1", "gopher://h.example/"),
            ("gopher://h.example:70/1#top", "gopher://h.example/"),
            ("gopher://h.example/11", "gopher://h.example/11"),
            ("gopher://h.example/1/", "gopher://h.example/1/"),
            ("gopher://h.example/0", "gopher://h.example/0"),
            ("http://h.example/1", "http://h.example/1"),
        ],
    )
    def test_a_gopher_hosts_own_menu_has_one_url(self, link, expected):
        """An empty path has type 1 (RFC 4266, 2.1): only the menu without a selector is the same as
        the root.
        """
        assert canonical(link) == expected

    @pytest.mark.parametrize(
        ("link", "reason"),
        [
            ("mailto:joe@h.example", "scheme"),
            ("javascript:void(0)", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("ws://h.example/", "scheme"),
            ("http://", "syntax"),
            ("http://a b/", "syntax"),
            ("no-base", "syntax"),
            ("http://h.example/\ud800", "encoding"),
            ("http://a..b/", "host"),
            ("http://./", "host"),
            (f"http://{'a' * 64}.example/", "host"),
            (f"http://{'a.' * 128}/", "host"),
            ("gopher:selector", "host"),
            ("gopher:///1", "host"),
            ("gopher://a%20b/", "host"),
            ("http://h.example/" + "a" * 65_520, "length"),
        ],
    )
    def test_what_cannot_be_fetched_is_invalid_for_a_reason(self, link, reason):
        """Other schemes, hosts that DNS cannot represent, strings without UTF-8 form, and long
        strings are invalid.
        """
        with pytest.raises(InvalidUrl) as error:
            canonical(link)

        assert error.value.reason == reason

    def test_the_longest_name_that_dns_can_carry_is_valid(self):
        """A host name has up to 253 characters in labels of up to 63 (RFC 1035, 2.3.4)."""
        host = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])

        assert canonical(f"http://{host}/") == f"http://{host}/"
        assert canonical_links(PAGE, [f"http://{host}/"], Counter()) == {
            f"http://{host}/": f"http://{host}/"
        }
        assert canonical_links(PAGE, [f"http://{host}d/"], Counter()) == {f"http://{host}d/": None}

    @examples(1000)
    @given(links, bases)
    def test_a_canonical_url_is_a_fixed_point_without_spaces(self, link, base):
        """A canonical URL is its own canonical form, is printable ASCII without spaces, and fits a
        queue's record.
        """
        try:
            url = canonical(link, base)
        except InvalidUrl:
            return

        assert canonical(url) == url
        assert re.fullmatch(r"(?:https?|ftp|gopher)://[!-.0-~]+/[!-~]*", url)
        assert unpack(Link(url, via=url).pack()) == Link(url, via=url)


class TestCanonicalLinks:
    @examples(1000)
    @given(links, bases)
    def test_the_shortcut_agrees_with_the_parser(self, link, base):
        """Any link on any page has the canonical form, or the reason, that the parser gives."""
        invalid = Counter()

        url = canonical_links(base, [link], invalid)[link]

        assert (url or next(iter(invalid))) == canonical_or_reason(link, base)
        assert invalid.total() == (url is None)

    @given(
        steps=st.lists(st.sampled_from(["../", "./"]), max_size=5),
        pieces=st.lists(
            st.sampled_from(["a", "b.html", "", ".", "..", "%2e", "x?y=/../z", "d;p", "#f", "e"]),
            max_size=4,
        ),
        port=st.sampled_from(["", ":80", ":8080", ":65535", ":65536", ":08080"]),
        folders=st.lists(st.sampled_from(["a", "b", ""]), max_size=5),
    )
    def test_steps_up_agree_with_the_parser(self, steps, pieces, port, folders):
        """Links that start with ../ or ./, and links with a port, have the canonical form that the
        parser gives.
        """
        base = canonical("http://host.test:8080/" + "/".join(folders))
        climbing, absolute = (
            "".join(steps) + "/".join(pieces),
            f"http://other.test{port}/" + "/".join(pieces),
        )

        for link in (climbing, absolute):
            try:
                expected = canonical(link, base)
            except InvalidUrl:
                expected = None
            assert canonical_links(base, [link], Counter())[link] == expected

    @pytest.mark.parametrize(
        "link",
        [
            *(
                "http://a.example/x",
                "http://a.example:8080/x",
                "http://a.example:18110/x?y",
                "//a.example/x",
            ),
            *(
                "/x/y?z",
                "x.html",
                "x?y",
                "?y",
                "",
                "#top",
                "/x#top",
                "a-b/c",
                "../x",
                "../../",
                "./",
                "./x?y",
            ),
            *("mailto:a@b.example", "javascript:void(0)", "tel:+49 1"),
        ],
    )
    def test_plain_links_take_the_shortcut(self, link, monkeypatch):
        """The common kinds of links never reach the parser."""
        monkeypatch.setattr("webcrawl.urls.canonical.canonical", None)

        assert list(canonical_links(PAGE, [link], Counter())) == [link]

    def test_links_come_once_in_the_order_of_the_page(self):
        """A repeated link is joined once; the order is that of first appearance."""
        assert canonical_links(PAGE, ["y", "#a", "y", "/x"], Counter()) == {
            "y": "http://h.example/a/y",
            "#a": "http://h.example/a/b?c",
            "/x": "http://h.example/x",
        }
        assert list(canonical_links(PAGE, ["y", "#a", "y", "/x"], Counter())) == ["y", "#a", "/x"]

    def test_invalid_links_are_counted_by_reason(self):
        """Each distinct invalid link counts once, under its reason."""
        invalid = Counter()

        found = canonical_links(
            PAGE, ["mailto:a", "mailto:a", "data:,", "http://a..b/", "\ud800", "x" * 2001], invalid
        )

        assert set(found.values()) == {None}
        assert invalid == {"scheme": 2, "host": 1, "encoding": 1, "length": 1}

    @pytest.mark.parametrize(
        "base", ["", "about:blank", "data:text/html,x", "\ud800", "x" * 3000, "nonsense"]
    )
    def test_a_page_without_a_usable_base_still_has_absolute_links(self, base):
        """Without a base, relative links are invalid and absolute ones are not."""
        invalid = Counter()

        found = canonical_links(base, ["x", "/x", "", "http://a.example/"], invalid)

        assert list(found.values()) == [None, None, None, "http://a.example/"]
        assert invalid == {"syntax": 3}

    def test_a_link_of_a_mebibyte_costs_no_work(self):
        """Links that are too long are rejected by their length alone."""
        invalid = Counter()

        canonical_links(PAGE, ["/" * 2**20, "\x00" * 2**20, "http://" + "a." * 2**19], invalid)

        assert invalid == {"length": 3}

    def test_there_are_four_schemes(self):
        """Canonical URLs have one of these four schemes."""
        assert SCHEMES == ("http", "https", "ftp", "gopher")


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
    lines = [
        line for path in sorted(cases("crawl-logs").glob("*.zst")) for line in text_lines(path)
    ]
    return [found[1] for line in lines if (found := re.search(r"Downloaded (\S+), status", line))]


def page_links():
    for name in ("html-newspaper", "html-readability"):
        with gzip.open(cases(name) / "links.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)


def real_urls():
    """URLs that people linked to: on real pages, in the Hollins crawl, and the front pages of top
    sites.
    """
    found = [link[2] for page in page_links() for link in page["links"] if link[2]]
    found += [
        line.partition("\t")[2] for line in text_lines(cases("graph-hollins") / "urls.tsv.zst")
    ]
    for path in cases("top-sites").glob("*.zst"):
        found += [f"http://{line.rpartition(',')[2]}/" for line in text_lines(path)]
    return [
        url for url in dict.fromkeys(canonical_links("", found, Counter(), 2**20).values()) if url
    ]


def known_traps():
    """The ignore expressions of ArchiveBot."""
    patterns = json.loads((cases("crawler-traps") / "archivebot-ignore-patterns.json").read_text())
    return [expression for found in patterns.values() for expression in found]


class TestStandard:
    def test_the_url_standards_own_cases(self):
        """Serialisation is the standard's, without fragment and credentials; what the standard
        rejects is invalid.

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
                assert canonical_or_none(row["input"], row["base"] or "") == _nameable(expected), (
                    row
                )
                tested += 1
        assert tested > 100

    @pytest.mark.parametrize("name", ["toascii", "IdnaTestV2"])
    def test_internationalised_hosts(self, name):
        """A host becomes the A-label of the standard, or is invalid where the standard or DNS
        rejects it.
        """
        rows = json.loads((cases("url-wpt") / f"{name}.json").read_text())
        rows = [row for row in rows if isinstance(row, dict)]
        assert rows
        for row in rows:
            expected = row["output"] and _nameable(f"http://{row['output']}/")
            assert canonical_or_none(f"http://{row['input']}/") == (expected or None), row


def _nameable(url):
    """The URL if DNS can represent its host (RFC 1035), which the URL standard does not require."""
    host = host_of(url).removesuffix(".")
    named = host[0:1] == "[" or (
        len(host) <= 253 and all(0 < len(label) <= 63 for label in host.split("."))
    )
    return url if named else None


class TestOtherCrawlers:
    def test_rows_that_the_standard_folds_fold_together(self):
        """URLs that eight crawlers and the standard treat as the same are the same, and canonical
        forms are stable.
        """
        rows = [
            json.loads(line)
            for line in (cases("url-canonical") / "canonical.jsonl").read_text().splitlines()
        ]
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
            found = canonical_links(
                page["base"], [link[1] for link in page["links"]], Counter(), 2**20
            )
            for link in page["links"]:
                if link[2] and link[2].partition(":")[0] in SCHEMES:
                    assert found[link[1]] == canonical_or_none(link[2]), link
                    tested += 1
        assert tested > 39_000

    def test_registered_domains(self):
        """The public suffix list's test cases hold; a host without a registrable domain is its own
        domain.
        """
        domains = RegisteredDomains()
        for host, expected in json.loads(
            (cases("public-suffix") / "registrable-domain.json").read_text()
        ):
            url = canonical_or_none(f"http://{host}/") if host else None
            if url is not None:
                wanted = host_of(canonical(f"http://{expected}/")) if expected else host_of(url)
                assert domains(host_of(url)) == wanted, host


class TestHostileStrings:
    def test_naughty_strings_are_links_or_are_counted(self):
        """No naughty string, as a link, path, query or host, raises or puts a blank into a URL."""
        strings = json.loads((cases("malicious") / "blns.json").read_text())
        pipeline = build_pipeline(url_settings(), bytes(16))
        links = [
            start + text
            for text in strings
            for start in ("", "/", "/?", "http://", "http://h.example/", "//")
        ]

        found = pipeline.process("http://h.example/a", 1, links).urls

        urls = canonical_links("http://h.example/a", links, Counter()).values()
        assert all(re.fullmatch("[!-~]+", url) for url in urls if url is not None)
        assert len(found) > 500


class TestTraps:
    @pytest.fixture(name="chain")
    def _chain(self):
        return build_filters(url_settings(), clock=lambda: NOW)

    def test_the_engine_takes_what_operators_wrote(self):
        """The expressions of a real archiving crew, compiled as one set, match what Python's engine
        matches.

        About six use look-around or back-references, which no linear-time engine supports.
        """
        mine = [one for one in known_traps() if _compiles(one)]
        assert len(known_traps()) - len(mine) <= 8
        python, together = [re.compile(one) for one in mine], ExpressionFilter(exclude=mine)
        sample = real_urls()[::10] + logged_urls()[::10]

        assert together.keep(sample, Origin()) == [
            url for url in sample if not any(one.search(url) for one in python)
        ]

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
