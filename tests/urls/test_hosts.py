"""Hosts, registered domains, fingerprints and digests."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from siphashc import siphash
from tldextract import TLDExtract

from tests.support.real_urls import real_urls
from tests.support.url_strategies import links
from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.record.tables.rows import host_parts
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.host_names import (
    RegisteredDomains,
    _rules,
    entered,
    is_ipv4,
    sites,
    steps,
    suffixes_of,
)
from webcrawl.urls.url_fingerprint import ContentDigests, Fingerprints
from webcrawl.urls.url_languages import CODES, SPOKEN, domain_languages, marked_language

KEY, OTHER = bytes(16), bytes(range(16))


@pytest.fixture(name="domains", scope="module")
def _domains():
    return RegisteredDomains()


class TestHostOf:
    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("http://h.example/", "h.example"),
            ("https://h.example:8080/a:b", "h.example"),
            ("http://[::1]/", "[::1]"),
            ("http://[::1]:8080/", "[::1]"),
            ("ftp://127.0.0.1:2121/x", "127.0.0.1"),
        ],
    )
    def test_the_host_has_no_port(self, url, host):
        """The host does not include the port; an IPv6 address keeps its brackets."""
        assert host_of(url) == host

    @given(links)
    def test_every_canonical_url_has_a_host(self, link):
        """Every canonical URL has a host, and a URL made from that host has it again."""
        try:
            url = canonical(link)
        except InvalidUrl:
            return

        assert host_of(f"http://{host_of(url)}/") == host_of(url) != ""


class TestRegisteredDomains:
    @pytest.mark.parametrize(
        ("host", "domain"),
        [
            ("www.news.example.co.uk", "example.co.uk"),
            ("a.github.io", "a.github.io"),
            ("example.com.", "example.com"),
            ("a.b.site1.test", "site1.test"),
            ("a.b.c.ck", "b.c.ck"),
            ("localhost", "localhost"),
            ("co.uk", "co.uk"),
            ("192.0.2.1", "192.0.2.1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
        ],
    )
    def test_every_host_has_a_domain(self, domains, host, domain):
        """The domain is the public suffix and one more label; a host without one is its own domain."""
        assert domains(host) == domain

    def test_nothing_is_downloaded(self, monkeypatch):
        """The suffix list is the packaged one: no socket is opened."""
        monkeypatch.setattr(socket, "socket", None)

        assert RegisteredDomains()("a.b.example.org") == "example.org"

    def test_the_cache_is_bounded(self):
        """The cache of hosts is bounded, and evictions change no answer."""
        domains = RegisteredDomains(size=2)

        assert [domains(f"w{i % 5}.example{i % 5}.com") for i in range(20)] == [
            f"example{i % 5}.com" for i in range(20)
        ]


class TestFingerprints:
    def test_a_batch_keeps_its_order(self):
        """Fingerprints are in the order of the URLs."""
        urls = ["http://a.example/", "http://b.example/", "http://a.example/"]

        assert Fingerprints(KEY)(urls) == [siphash(KEY, url) for url in urls]
        assert Fingerprints(KEY)([]) == []

    def test_the_value_is_siphash_2_4(self):
        """The fingerprint of the SipHash paper's test vector (bytes 0 to 14 under the key 0 to 15)
        is the paper's.
        """
        assert Fingerprints(OTHER)(["".join(map(chr, range(15)))]) == [0xA129CA6149BE45E5]

    @given(st.lists(st.text(st.characters(codec="ascii")), max_size=20))
    def test_values_have_64_bits(self, urls):
        """Every fingerprint fits an unsigned 64-bit number."""
        assert all(0 <= value < 2**64 for value in Fingerprints(KEY)(urls))

    @pytest.mark.parametrize("kind", [Fingerprints, ContentDigests])
    @pytest.mark.parametrize("key", [b"", bytes(15), bytes(17)])
    def test_a_key_has_16_bytes(self, kind, key):
        """A key of another length raises ValueError."""
        with pytest.raises(ValueError, match="16 bytes"):
            kind(key)

    def test_the_key_changes_everything(self):
        """Another key gives other fingerprints and digests."""
        assert Fingerprints(KEY)(["x"]) != Fingerprints(OTHER)(["x"])
        assert ContentDigests(KEY)(b"x") != ContentDigests(OTHER)(b"x")


class TestContentDigests:
    def test_a_digest_has_128_bits_and_depends_on_the_body_alone(self):
        """Equal bodies have equal digests of 16 bytes, whatever is digested in between."""
        digest = ContentDigests(KEY)
        first = digest(b"body")
        other = digest(b"")

        assert len(first) == len(other) == 16
        assert digest(b"body") == first != other


DOMAINS = RegisteredDomains()
HERE, THERE = "http://www.here.example/", "https://there.example/"


def site_of(url):
    return DOMAINS(host_of(url))


class TestCounts:
    @pytest.mark.parametrize(
        ("path", "entered", "followed"),
        [
            ("", 0, 0),
            ("LLL", 0, 3),
            ("LER", 0, 2),
            ("LLl", 1, 0),
            ("LLlLRL", 1, 2),
            ("LlLLe", 2, 0),
            ("LLrLP", 1, 1),
        ],
    )
    def test_sites_and_links_since(self, path, entered, followed):
        """Sites are counted by the marks, and links from the last mark on; a redirect is no link."""
        assert (sites(path), steps(path)) == (entered, followed)


class TestEntered:
    @pytest.mark.parametrize(
        ("path", "via", "url", "expected"),
        [
            ("LL", HERE, f"{HERE}x", "LL"),
            ("LL", HERE, "http://blog.here.example/", "LL"),
            ("LL", HERE, THERE, "Ll"),
            ("LE", HERE, THERE, "Le"),
            ("LR", HERE, THERE, "Lr"),
            ("", "", THERE, ""),
            ("", HERE, THERE, ""),
            ("l", HERE, THERE, "l"),
            ("L", "http://a.github.io/", "http://b.github.io/", "l"),
            ("L", "http://127.0.0.1:80/", "http://127.0.0.1:8080/", "L"),
        ],
    )
    def test_the_hop_into_another_site_is_marked(self, path, via, url, expected):
        """The last letter becomes small if page and link have different registered domains; a mark
        stays.
        """
        assert entered(path, via, url, site_of) == expected

    @pytest.mark.parametrize("path", ["R", "lR", "LrR", "RRR"])
    def test_a_redirect_alone_enters_no_site(self, path):
        """A redirect into another site is none to be counted if no link was followed since the
        last.
        """
        assert entered(path, HERE, THERE, site_of) == path

    def test_the_depth_stays(self):
        """A mark changes neither the depth that prioritizers and pages have, nor the letters in
        logs.
        """
        assert [
            (Link("", path).depth, Link("", path).hops) for path in ("LERP", "LerP", "LeR")
        ] == [
            (2, "LERP"),
            (2, "LERP"),
            (2, "LER"),
        ]


class TestNoWalkIsEndless:
    @given(
        st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=60),
        st.integers(0, 4),
    )
    def test_every_walk_ends(self, moves, deepest):
        """However links and redirects lead from site to site and back, a path ends: k links deep, k
        sites away.
        """
        one, path, page, links = DepthFilter(deepest, DOMAINS), "", "http://site0.example/", 0
        for redirect, site in moves * (deepest + 3) ** 2:
            if redirect and path.endswith(("R" * 3, "r")):  # the crawl follows some in a row
                continue
            letter = "R" if redirect else "L"
            url = f"http://site{site}.example/{links}"
            if not one.keep([url], Origin(page, Link("", path + letter).depth, path + letter)):
                break
            path, page = entered(path + letter, page, url, site_of), url
            links += not redirect
            # the filter's short way relies on it
            assert max(sites(path), steps(path)) <= links == Link("", path).depth

        assert links <= deepest * (deepest + 2)

    @pytest.mark.parametrize("deepest", [0, 1, 50])
    def test_two_sites_that_link_to_each_other(self, deepest):
        """Two sites with a new page behind each link to the other are left after as many links as
        the limit.
        """
        one, path, page = DepthFilter(deepest, DOMAINS), "", HERE
        for number in range(1000):
            url = f"{HERE if number % 2 else THERE}{number}"
            if not one.keep([url], Origin(page, number + 1, f"{path}L")):
                break
            path, page = entered(f"{path}L", page, url, site_of), url

        assert number == deepest


pytestmark = pytest.mark.xdist_group("public suffixes")
LABELS = st.sampled_from(
    [
        *(
            "a",
            "b",
            "www",
            "co",
            "uk",
            "com",
            "ck",
            "jp",
            "kawasaki",
            "city",
            "github",
            "io",
            "compute",
            "amazonaws",
        ),
        *(
            "xn--p1ai",
            "xn--55qx5d",
            "xn--",
            "xn--a",
            "cn",
            "",
            "_x",
            "-",
            "x" * 70,
            "com-",
            "A",
            "COM",
        ),
        *("0", "1", "127", "255", "256"),
    ]
)


@pytest.fixture(scope="module", name="theirs")
def theirs_():
    return TLDExtract(
        cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True
    ).extract_str


def assert_alike(theirs, host):
    expected = theirs(host)
    found = suffixes_of(host.rstrip("."))
    assert found == (expected.suffix, expected.registry_suffix), host
    assert bool(not found.public and is_ipv4(host.rstrip("."))) == bool(expected.ipv4), host


def _written(name):
    """As it is in URLs."""
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in name.split(".")
    )


def test_each_rule_of_the_list(theirs):
    """A rule's name, names below it and what fits its `*` have the suffixes that the package gives
    them.
    """
    for rule in _rules():
        name = rule.lstrip("*!.")
        for host in (name, f"a.{name}", f"b.a.{name}", f"c.b.a.{name}.", _written(name)):
            assert_alike(theirs, host)


@given(st.lists(LABELS, min_size=1, max_size=6).map(".".join))
def test_any_host(theirs, host):
    """Odd labels, addresses and unknown names are judged alike."""
    assert_alike(theirs, host)


@pytest.mark.campaign
def test_real_hosts(theirs):
    """All hosts of the collected URLs have the package's registered domains."""
    domains = RegisteredDomains()
    for host in {host_of(url) for url in real_urls() if url.startswith("http")}:
        if host[0] != "[":
            assert_alike(theirs, host)
            found = theirs(host)
            if found.suffix:
                assert domains(host) == (found.top_domain_under_public_suffix or host)


@pytest.mark.parametrize("address", ["0.1.2.3", "255.255.255.255", "192.0.2.1"])
def test_addresses(address):
    """An address has no suffix."""
    assert is_ipv4(address)
    assert set(host_parts(address)) == {None}


@pytest.mark.parametrize(
    ("url", "language"),
    [
        ("http://a.si/sl/page", "sl"),
        ("http://a.si/EN", "en"),
        ("http://a.ch/de-ch/x", "de"),
        ("http://a.com/?p=1&lang=hr", "hr"),
        ("http://hr.wikipedia.org/wiki/X", "hr"),
        ("http://a.com/us/x", ""),
        ("http://a.com/x/de/y", ""),
        ("http://de.com/", ""),
        ("http://a.com/?language=english", ""),
        ("http://a.com/density", ""),
    ],
)
def test_marks(url, language):
    """The first folder, a parameter, or a label before the domain may be a code; what only looks
    like one is none.
    """
    assert marked_language(url) == language


def test_domains():
    """Of countries most pages are in a language of theirs; others say nothing."""
    assert domain_languages("http://www.a.si/x") == ("sl",)
    assert domain_languages("http://a.com/") == domain_languages("http://[::1]/") == ()
    assert {code for codes in SPOKEN.values() for code in codes} - CODES == {"be", "ca", "id", "uk"}
