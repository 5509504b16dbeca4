"""The list of sites that asked not to be crawled."""

import errno
import os
from pathlib import Path
from unittest import mock

import pytest

from tests.support.url_settings import url_settings
from webcrawl.base.errors import RulesError
from webcrawl.urls.exclusion_rules import OptOut, optouts_in, parse_exclusions
from webcrawl.urls.filters.exclusion import ExclusionFilter
from webcrawl.urls.filters.filter_protocol import Origin, Setup
from webcrawl.urls.link_pipeline import build_filters

LIST = """\ufeff# who asked
example.com
*.star.example   # a form other tools use
example.org/private/
dotted.example./private/
https://exact.example/a b
archive.example/web/http://gone.example/
192.0.2.1
[2001:db8::1]
b\u00fccher.example
"""


class Time:
    now = 1000.0

    def __call__(self):
        return self.now


class TestRules:
    @pytest.mark.parametrize(
        ("url", "excluded"),
        [
            ("http://example.com/", True),
            ("ftp://a.b.example.com:2121/x", True),
            ("http://example.com./", True),
            ("http://notexample.com/", False),
            ("http://star.example/", True),
            ("http://example.org/private/x", True),
            ("https://example.org/private/", True),
            ("http://example.org./private/x", True),
            ("https://example.org.:8443/private/", False),
            ("http://dotted.example/private/", True),
            ("http://dotted.example./private/", True),
            ("http://example.org/privately", False),
            ("http://www.example.org/private/", False),
            ("https://exact.example/a%20bc", True),
            ("http://exact.example/a%20bc", False),
            ("http://archive.example/web/http://gone.example/a", True),
            ("http://archive.example/web/http://gone.test/a", False),
            ("http://gone.example/a", False),
            ("http://192.0.2.1/x", True),
            ("http://[2001:db8::1]:8080/", True),
            ("http://xn--bcher-kva.example/", True),
        ],
    )
    def test_domains_and_prefixes(self, url, excluded):
        """A domain excludes its subdomains, a prefix all URLs that start with it; a scheme limits
        it to that scheme.

        The dot of DNS behind a name makes no other name of it.
        """
        assert parse_exclusions(LIST.removeprefix("\ufeff"), "list").excludes(url) == excluded

    @pytest.mark.parametrize("rule", ["a.test/~joe/(x)/\u00e9", "a.test/%7ejo%65/%28x%29/%c3%a9"])
    @pytest.mark.parametrize(
        "path", ["~joe/(x)/%C3%A9", "%7Ejoe/%28x%29/%c3%a9/y", "%7e%6A%6F%65/(x%29/%c3%A9?z"]
    )
    def test_spellings(self, rule, path):
        """An encoded character that may stand for itself is the same, in rules and in links."""
        assert parse_exclusions(rule, "list").excludes(f"http://a.test/{path}")

    @pytest.mark.parametrize("path", ["a%2Fb", "a%3Fb", "a%23b", "a%2525b"])
    def test_what_parts_a_url_is_not_decoded(self, path):
        """An encoded slash or question mark is part of a name."""
        rules = parse_exclusions("a.test/a/b\na.test/a?b\nhttp://a.test/a%25b", "list")
        assert not rules.excludes(f"http://a.test/{path}")

    @pytest.mark.parametrize(
        "line",
        [
            "a b",
            "mailto:joe@example.com",
            "http://",
            "a..b",
            "?",
            "example.com?x",
            "example.com:80x",
            "example.com:8080",
            "\ud800",
        ],
    )
    def test_a_bad_line_is_named(self, line):
        """A bad line raises one clear error with the file and the line's number."""
        with pytest.raises(
            RulesError, match=r"list, line 2: neither a domain nor a URL prefix \(\w+\)$"
        ):
            parse_exclusions(f"example.com\n{line}\n", "list")

    @pytest.mark.parametrize(
        "line",
        [
            "site4.*",
            "***",
            "a.*.example",
            "*.example.com/private/",
            "http://*/x",
            "example.com/private/*",
        ],
    )
    def test_a_star_that_stands_for_nothing(self, line):
        """Who writes it means many URLs, none of which the rule would exclude: it is refused."""
        with pytest.raises(RulesError, match=r"^list, line 1: \* is not a wildcard here"):
            parse_exclusions(line, "list")

    @pytest.mark.parametrize(
        "line", ["*.star.example", "*star.example", "web.example/web/*/a.example"]
    )
    def test_a_star_that_may_stand(self, line):
        """Other tools begin a domain with it, and a URL may have it."""
        assert parse_exclusions(line, "list")

    def test_a_bad_line_is_not_quoted(self):
        """What stands in a file that is no list of rules is in no message: a command may name any
        file.
        """
        with pytest.raises(RulesError) as error:
            parse_exclusions("root:$6$salt$secret:19000:0:99999:7:::\n", "/etc/shadow")

        assert str(error.value) == "/etc/shadow, line 1: neither a domain nor a URL prefix (syntax)"


class TestExclusionFilter:
    @pytest.fixture(name="path")
    def _path(self, tmp_path):
        path = tmp_path / "exclude.txt"
        path.write_text(LIST)
        return path

    def test_links_and_queued_urls_are_checked_alike(self, path):
        """New links are dropped, and queued URLs are rejected when they are taken."""
        chain = build_filters(url_settings(URL_EXCLUDE_FILE=str(path)))
        one = next(one for one in chain.filters if one.name == "excluded")

        assert one.keep(["http://example.com/", "http://a.example/"], Origin()) == [
            "http://a.example/"
        ]
        assert chain.reject("http://www.example.com/")
        assert not chain.reject("http://a.example/")

    def test_a_changed_file_is_read_again(self, path):
        """A change of the file takes effect after the interval, and not before."""
        clock = Time()
        one = ExclusionFilter(path, 30, clock)
        path.write_text("a.example\n")

        clock.now += 29
        assert not one.reject("http://a.example/")
        clock.now += 1
        assert one.reject("http://a.example/")
        assert not one.reject("http://example.com/")

    def test_a_change_is_heeded_within_a_minute(self, path):
        """The crawl's own filter looks at its file at least twice a minute."""
        clock = Time()
        one = ExclusionFilter.from_setup(
            Setup(url_settings(URL_EXCLUDE_FILE=str(path)), clock, b"", mock.Mock())
        )
        path.write_text("a.example\n")

        clock.now += 30
        assert one.reject("http://a.example/")

    def test_a_clock_set_back_does_not_hide_a_change(self, path):
        """After the clock was set back, the file is looked at as soon as a URL is checked."""
        clock = Time()
        one = ExclusionFilter(path, 30, clock)
        path.write_text("a.example\n")

        clock.now -= 3600
        assert one.reject("http://a.example/")

    def test_an_unchanged_file_is_not_read_again(self, path, caplog):
        """While the file's time and size stay the same, it is not read."""
        clock = Time()
        one = ExclusionFilter(path, 30, clock)

        with caplog.at_level("INFO"):
            clock.now += 30
            assert one.reject("http://example.com/")

        assert not caplog.records

    @pytest.mark.parametrize("harm", ["missing", "bad line", "not text", "a pipe"])
    def test_a_file_that_breaks_keeps_the_old_rules(self, path, caplog, harm):
        """A running crawl keeps its rules, warns once, and reads the file again once it is valid."""
        clock = Time()
        one = ExclusionFilter(path, 30, clock)
        if harm in ("missing", "a pipe"):
            path.unlink()
        if harm == "a pipe":
            os.mkfifo(path)
        elif harm != "missing":
            path.write_bytes(b"a b\n" if harm == "bad line" else b"\xff\xfe\x00")

        for _ in range(3):
            clock.now += 30
            assert one.reject("http://example.com/")
        assert len(caplog.records) == 1
        assert "exclude.txt" in caplog.text

        path.unlink(missing_ok=True)
        path.write_text("a.example\n")
        os.utime(path, (1, 1))
        clock.now += 30
        assert one.reject("http://a.example/")

    def test_a_file_that_comes_back_as_it_was(self, path, caplog):
        """The line that the old rules are kept is taken back, also by a file that was only moved
        away for a while.
        """
        clock = Time()
        one = ExclusionFilter(path, 30, clock)
        with caplog.at_level("INFO"):
            for there in (False, True, True):
                if there and not path.exists():
                    path.with_suffix(".away").rename(path)
                elif not there:
                    path.rename(path.with_suffix(".away"))
                clock.now += 30
                assert one.reject("http://example.com/")

        kept, again = caplog.messages
        assert kept.endswith("; the previous exclusions stay in force")
        assert again.startswith(f"{path}: read again; it now has ")

    def test_what_could_not_be_read_is_read_later(self, path, monkeypatch):
        """A change that comes while this machine has no descriptor left is in force as soon as it
        has one.
        """
        clock = Time()
        one = ExclusionFilter(path, 30, clock)
        path.write_text("a.example\n")
        with monkeypatch.context() as patch:
            patch.setattr(
                Path,
                "read_text",
                mock.Mock(side_effect=OSError(errno.EMFILE, "Too many open files")),
            )
            clock.now += 30
            assert one.reject("http://example.com/")

        clock.now += 30
        assert one.reject("http://a.example/")

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (None, ": cannot be read: No such file"),
            (b"a b\n", ", line 1: neither a domain"),
            (b"\xff\xfe", ": is not UTF-8 text"),
        ],
    )
    def test_at_the_start_the_file_must_be_valid(self, tmp_path, content, why):
        """A crawl does not start without a valid list."""
        path = tmp_path / "exclude.txt"
        if content is not None:
            path.write_bytes(content)

        with pytest.raises(RulesError, match=rf"exclude\.txt{why}"):
            ExclusionFilter(path, 30, Time())


class TestDetails:
    def test_of_a_line(self):
        """A comment may say by whom, why, since and until when, and that what is stored is to be
        forgotten.
        """
        text = "a.test # by: Joe Doe why: letter of 3 May until: 2027-01-31 forget: yes\n"

        found, odd = optouts_in(text, "list")

        assert found == [
            OptOut(
                "a.test",
                0.0,
                "Joe Doe",
                "letter of 3 May",
                1801440000.0,
                forget=True,
                source="file",
            )
        ]
        assert odd == []

    def test_any_other_comment_is_the_reason(self):
        """A comment that begins with none of these words is free text, whatever stands in it."""
        found, odd = optouts_in("a.test # asked by: phone, until: they say so\n", "list")

        assert (found[0].why, found[0].until, odd) == (
            "asked by: phone, until: they say so",
            0.0,
            [],
        )

    def test_a_bad_date_lets_the_rule_hold(self, tmp_path, caplog):
        """An end that is no date is warned of, with its line's number, and the rule holds for good."""
        path = tmp_path / "exclude.txt"
        path.write_text("x.test\na.test # until: spring\n")

        assert ExclusionFilter(path, 30, Time()).reject("http://a.test/")
        assert "line 2: until is not a date" in caplog.text
        assert "spring" not in caplog.text

    def test_an_end(self, tmp_path):
        """A rule ends by itself at its time; the others stay."""
        clock, path = Time(), tmp_path / "exclude.txt"
        path.write_text("x.test\na.test # until: 1970-01-01T00:20Z\n")
        one = ExclusionFilter(path, 30, clock)

        assert one.reject("http://a.test/")
        clock.now = 1200.0
        assert (one.reject("http://a.test/"), one.reject("http://x.test/")) == (False, True)
