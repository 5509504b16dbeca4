"""The public suffix list, against the package that has it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tldextract import TLDExtract

from tests.support.real_urls import real_urls
from webcrawl.base.url_text import host_of
from webcrawl.record.tables.rows import host_parts
from webcrawl.urls.host_names import RegisteredDomains, _rules, is_ipv4, suffixes_of

pytestmark = pytest.mark.xdist_group("public suffixes")
LABELS = st.sampled_from(
    [
        *("a", "b", "www", "co", "uk", "com", "ck", "jp", "kawasaki", "city", "github", "io", "compute", "amazonaws"),
        *("xn--p1ai", "xn--55qx5d", "xn--", "xn--a", "cn", "", "_x", "-", "x" * 70, "com-", "A", "COM"),
        *("0", "1", "127", "255", "256"),
    ]
)


@pytest.fixture(scope="module", name="theirs")
def theirs_():
    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True).extract_str


def assert_alike(theirs, host):
    expected = theirs(host)
    found = suffixes_of(host.rstrip("."))
    assert found == (expected.suffix, expected.registry_suffix), host
    assert bool(not found.public and is_ipv4(host.rstrip("."))) == bool(expected.ipv4), host


def _written(name):
    """As it is in URLs."""
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in name.split(".")
    )


def test_each_rule_of_the_list(theirs):
    """A rule's name, names below it and what fits its `*` have the suffixes that the package gives them."""
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
    assert host_parts(address) == (None, None, None)
