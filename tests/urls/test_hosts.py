"""Hosts, registered domains, fingerprints and digests."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from siphashc import siphash

from tests.support.url_strategies import links
from webcrawl.base.url_text import host_of
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.host_names import RegisteredDomains, is_public_suffix
from webcrawl.urls.url_fingerprint import ContentDigests, Fingerprints

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


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        *(("com", True), ("co.uk", True), ("github.io.", True), ("c.ck", True), ("localhost", True)),
        *(("example.com", False), ("www.ck", False), ("site1.test", False), ("192.0.2.1", False)),
        ("[2001:db8::1]", False),
    ],
)
def test_public_suffixes(host, is_one):
    """Names right below a public suffix, or a single label, have owners of their own."""
    assert is_public_suffix(host) == is_one


class TestFingerprints:
    def test_a_batch_keeps_its_order(self):
        """Fingerprints are in the order of the URLs."""
        urls = ["http://a.example/", "http://b.example/", "http://a.example/"]

        assert Fingerprints(KEY)(urls) == [siphash(KEY, url) for url in urls]
        assert Fingerprints(KEY)([]) == []

    def test_the_value_is_siphash_2_4(self):
        """The fingerprint of the SipHash paper's test vector (bytes 0 to 14 under the key 0 to 15) is the paper's."""
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
