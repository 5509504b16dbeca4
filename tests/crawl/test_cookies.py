"""Cookies: which are kept, and which are sent where."""

import time

import pytest

from webcrawl.crawl import redirect_chain
from webcrawl.crawl.redirect_chain import after, header

NOW = 1_700_000_000.0
HTTP, HTTPS = "http://a.test/", "https://a.test/"


def kept(*lines, url=HTTP, jar=()):
    return after(jar, [line.encode("latin-1") for line in lines], url, NOW)


def sent(jar, url=HTTP):
    return header(jar, url).decode("latin-1")


class TestKept:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("a=1", "a=1"),
            (" a = 1 ; Path=/ ; HttpOnly; SameSite=Lax", "a=1"),
            ("a=b=c==", "a=b=c=="),
            ('a="1 2"', 'a="1 2"'),
            ("a=", "a="),
            ("a=\xe4", "a=\xe4"),
            ("a=1; unknown; =; ;", "a=1"),
        ],
    )
    def test_name_and_value(self, line, expected):
        """Name and value are taken as they are, without the space around them; unknown attributes
        are ignored.
        """
        assert sent(kept(line)) == expected

    @pytest.mark.parametrize(
        "line", ["", ";", "a", "=1", "a=1\0", "a=1\r\nX: y", "a=\x7f", "a=1; Path=/\x01"]
    )
    def test_what_is_no_cookie(self, line):
        """A line without a name, or with control characters, sets nothing."""
        assert kept(line) == ()

    def test_the_last_value_counts(self):
        """A cookie of the same name and path replaces the older one, in its place."""
        jar = kept("a=1", "b=2", "a=3")
        assert sent(jar) == "a=3; b=2"
        assert sent(kept("b=4", jar=jar)) == "a=3; b=4"

    @pytest.mark.parametrize(
        "gone",
        [
            *(
                "Max-Age=0",
                "max-age=-1",
                "Expires=Thu, 01-Jan-1970 00:00:01 GMT",
                "Expires=Thursday, 01-Jan-70 00:00:01 GMT",
            ),
            "Max-Age=0; Expires=Wed, 21 Oct 2099 07:28:00 GMT",
        ],
    )
    def test_one_that_has_expired_is_removed(self, gone):
        """A cookie that is set to have expired is removed; Max-Age counts more than Expires."""
        assert sent(kept("a=1", "b=2", f"a=x; {gone}")) == "b=2"

    @pytest.mark.parametrize(
        "until",
        [
            "Max-Age=1",
            "Max-Age=x",
            "Expires=never",
            "Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ],
    )
    def test_any_other_expiry_is_ignored(self, until):
        """A chain of redirects is short: what has not expired when it is set stays until its end."""
        assert sent(kept(f"a=1; {until}")) == "a=1"

    @pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
    def test_a_date_without_a_zone(self, zone, monkeypatch):
        """It is in UTC, whatever the zone of this machine."""
        soon, just_now = (
            time.strftime("%a, %d %b %Y %H:%M:%S", time.gmtime(NOW + rest)) for rest in (60, -60)
        )
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            assert sent(kept(f"a=1; Expires={soon}", f"b=2; Expires={just_now}")) == "a=1"
        finally:
            monkeypatch.undo()
            time.tzset()

    @pytest.mark.parametrize(
        ("domain", "taken"), [("a.test", 1), (".A.test", 1), ("test", 1), ("", 1), ("b.test", 0)]
    )
    def test_domain(self, domain, taken):
        """A cookie for a domain that the host does not belong to is refused."""
        assert len(kept(f"a=1; Domain={domain}")) == taken


class TestSecure:
    def test_it_is_not_sent_in_clear(self):
        """A Secure cookie is sent over https only."""
        jar = kept("a=1; Secure", "b=2", url=HTTPS)
        assert (sent(jar, HTTPS), sent(jar, HTTP)) == ("a=1; b=2", "b=2")

    def test_http_cannot_set_it(self):
        """A Secure cookie that comes unencrypted is refused."""
        assert kept("a=1; Secure") == ()

    def test_http_cannot_replace_it(self):
        """Over http no cookie replaces or hides a secure one of its name."""
        jar = kept("a=1; Secure", url=HTTPS)
        assert kept("a=2", "a=3; Path=/x", "a=; Max-Age=0", jar=jar) == jar

    def test_from_http_to_https(self):
        """A cookie that http has set goes to https of the same host as well."""
        assert sent(kept("a=1"), HTTPS) == "a=1"

    @pytest.mark.parametrize(
        ("line", "taken"),
        [
            ("__Secure-a=1; Secure", True),
            ("__Secure-a=1", False),
            ("__secure-a=1", False),
            ("__Host-a=1; Secure; Path=/", True),
            ("__Host-a=1; Secure", False),
            ("__Host-a=1; Path=/", False),
            ("__HOST-a=1; Secure; Path=/x", False),
            ("__Host-a=1; Secure; Path=/; Domain=a.test", False),
        ],
    )
    def test_prefixes(self, line, taken):
        """A name with a prefix is taken only with what the prefix promises, and over https."""
        assert bool(kept(line, url=HTTPS)) is taken
        assert not kept(line)


class TestSent:
    @pytest.mark.parametrize(
        "url", ["http://b.test/", "http://www.a.test/", "http://test/", "ftp://a.test/"]
    )
    def test_to_no_other_host(self, url):
        """A cookie goes to the host that set it, whatever its Domain says."""
        assert sent(kept("a=1; Domain=a.test"), url) == ""

    @pytest.mark.parametrize(
        ("path", "url", "goes"),
        [
            ("/x", "/x", True),
            ("/x", "/x/y?q=/", True),
            ("/x", "/xy", False),
            ("/x/", "/x/y", True),
            ("/x/", "/x", False),
            ("/", "/y", True),
            ("x", "/y", False),  # not a path: the folder of the URL that sets it
            ("", "/set/y", True),
        ],
    )
    def test_path(self, path, url, goes):
        """A cookie goes to its path and what is below it; without a path that is the folder of the
        URL.
        """
        jar = kept(f"a=1; Path={path}", url="http://a.test/set/it?q=/z/")
        assert sent(jar, f"http://a.test{url}") == ("a=1" if goes else "")

    def test_longer_paths_first(self):
        """Cookies of longer paths go first, of equal ones the older."""
        jar = kept("a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/")
        assert sent(jar, "http://a.test/x/y") == "b=2; c=3; a=1; d=4"


class TestFloods:
    def test_so_many_and_no_more(self):
        """The first COUNT cookies of a chain are kept, of whichever hosts; those that are kept may
        change.
        """
        jar = kept(*(f"c{number}=1" for number in range(redirect_chain.COUNT - 1)))
        jar = kept(*(f"d{number}=1" for number in range(9)), url="http://b.test/", jar=jar)
        assert len(jar) == redirect_chain.COUNT
        assert sent(kept("c0=2", jar=jar)).startswith("c0=2;")

    def test_so_many_lines_are_read(self):
        """Of an answer's Set-Cookie headers the first LINES are read, even if they set nothing."""
        lines = ["no cookie"] * (redirect_chain.LINES - 1)
        assert len(kept(*lines, "a=1", "b=2")) == 1

    def test_so_long_and_no_longer(self):
        """The cookies of a chain have BYTES bytes at most; one that fits is kept after one that
        does not.
        """
        half = redirect_chain.BYTES // 2
        jar = kept(f"a={'x' * half}", f"b={'x' * half}", "c=1")
        assert [cookie.name for cookie in jar] == [b"a", b"c"]
        assert len(header(jar, HTTP)) <= redirect_chain.BYTES
        assert sent(kept("a=1", f"b={'x' * half}", jar=jar)).startswith("a=1; c=1; b=xx")
