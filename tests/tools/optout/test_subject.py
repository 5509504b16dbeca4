"""What a stranger's wish may be about, and where it is proven."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.control.exclusions import wish_of
from webcrawl.tools.optout.token import LABEL, PATH, CannotName, subject_of
from webcrawl.urls.exclusion_rules import rules_of
from webcrawl.urls.host_names import RegisteredDomains, is_public_suffix
from webcrawl.urls.optout import OptOut

DOMAINS = RegisteredDomains()


def named(text):
    return subject_of(text, DOMAINS)


class TestRules:
    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("example.org", "example.org"),
            (" EXAMPLE.org. ", "example.org"),
            ("www.example.org", "www.example.org"),
            ("münchen.example", "xn--mnchen-3ya.example"),
            ("my_site.example", "my_site.example"),
            ("192.0.2.1", "192.0.2.1"),
            ("0xc0.0.2.1", "192.0.2.1"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("example.org/", "example.org/"),
            ("example.org./~joe/", "example.org/~joe/"),
            ("Example.org:8080/a b", "example.org:8080/a%20b"),
            ("example.org:80/a", "example.org/a"),
            ("https://münchen.example/ü", "https://xn--mnchen-3ya.example/%C3%BC"),
            ("gopher://example.org/", "gopher://example.org/"),
            ("example.org/a/../b", "example.org/b"),
        ],
    )
    def test_one_spelling(self, text, rule):
        """Whatever it is written in, a name has one rule, which the exclusion rules take and which names its URL."""
        subject = named(text)

        assert subject.rule == rule
        assert rules_of([OptOut(rule)]).excludes(subject.url)
        assert named(rule) == subject

    @pytest.mark.parametrize(
        "text",
        [
            *("", " ", "exa mple.org", "a..b", "user@example.org", "user:pw@example.org/", "https://me@example.org/"),
            *("example.org:8080", "*.example.org", "example.org#x", "example.org/a#b", "javascript://x/%0aalert(1)"),
            *("mailto:joe@example.org", "file:///etc/passwd", "<b>.example", "exa\nmple.org", "example.org\\x"),
            *(
                "example.org:99999/",
                "http:///",
                "::1",
                "x" * 501,
                "\x00",
                "a" * 64 + ".example",
                "example.org:0x50",
                "--by.example",
            ),
            *(
                "-a.example",
                "example.org/" + 200 * "ü",
                "--forget/",
                "--by=joe/",
                "\uff0a.example.org",
                "\uff0da.example",
                "*.example.org/",
                "\uff0a\uff0eexample.org/a",
            ),
        ],
    )
    def test_no_rule(self, text):
        """What is neither a domain nor a prefix, or says more than one, is refused in a line."""
        with pytest.raises(CannotName) as refusal:
            named(text)

        assert "\n" not in str(refusal.value)

    @pytest.mark.parametrize("text", ["org", "co.uk", "github.io", "localhost", "blogspot.com.", "test"])
    def test_suffixes(self, text):
        """A name whose names below have owners of their own cannot leave for all of them; its own pages can."""
        with pytest.raises(CannotName, match="owners of their own"):
            named(text)

        assert is_public_suffix(text)
        assert named(f"{text}/").rule == f"{text.removesuffix('.')}/"


@given(st.text("aü.-_/:@?#%[]\\* 0:x1~\uff0e\uff0f\uff20\uff0a\uff0d\uff03\uff1a\uff05", max_size=40))
def test_whatever_is_typed(text):
    """What is accepted is a rule that says the same again, and its files are at the authority that it names."""
    try:
        subject = named(text)
    except CannotName:
        return

    assert named(subject.rule) == subject
    assert wish_of([subject.rule], 0.0).rule == subject.rule  # nothing of it is an option
    assert rules_of([OptOut(subject.rule)]).excludes(subject.url)
    authority = subject.url.split("/")[2]
    assert {url.split("/")[2] for url in subject.files} <= {authority}
    assert "@" not in authority
    assert "*" not in authority


class TestPlaces:
    def test_of_a_domain(self):
        """A domain is proven at that very name, by https, http or its zone; not at one above or below it."""
        subject = named("www.example.org")

        assert subject.files == [f"https://www.example.org{PATH}", f"http://www.example.org{PATH}"]
        assert subject.record == f"{LABEL}.www.example.org"
        assert subject.site == "example.org"

    @pytest.mark.parametrize(
        ("text", "files"),
        [
            ("example.org/a/", ["https://example.org", "http://example.org"]),
            ("example.org:8080/a", ["https://example.org:8080", "http://example.org:8080"]),
            ("http://example.org:8080/a", ["http://example.org:8080"]),
            ("ftp://example.org/a", []),
            ("example.org/proxy/http://a.test/", ["https://example.org", "http://example.org"]),
        ],
    )
    def test_of_a_prefix(self, text, files):
        """A prefix is proven at its authority, with its port, and by its scheme if it has one."""
        subject = named(text)

        assert subject.files == [f"{origin}{PATH}" for origin in files]
        assert subject.record == f"{LABEL}.example.org"

    @pytest.mark.parametrize("text", ["192.0.2.1", "[2001:db8::1]/a", ".".join(["a" * 60] * 4)])
    def test_without_a_record(self, text):
        """An address has no zone, and a name may leave no room for the label: a file is the only way."""
        assert named(text).record == ""
        assert len(named(text).files) == 2
