"""robots.txt by RFC 9309: lines, groups, patterns, precedence."""

import gzip
import json
import re
import string
from collections import Counter
from hashlib import blake2b

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protego import Protego

from tests.support.cases import cases
from webcrawl.net.robots import (
    LIMIT,
    MOST_PARTS,
    _Group,
    matches,
    parse,
    path_of,
    pattern_of,
    product_token,
)
from webcrawl.net.robots_entry import pack, unpack
from webcrawl.urls.canonical import canonical
from webcrawl.urls.exclusion_rules import parse_exclusions


def _allowed(robots, path="/", agent="webcrawl"):
    return parse(robots if isinstance(robots, bytes) else robots.encode(), agent).rules.allowed(
        f"http://a.test{path}"
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["Allow", "Disallow"]), st.text("/ab*$", min_size=1, max_size=6)),
        max_size=8,
    ),
    st.text("/ab", max_size=6),
)
def test_the_rule_that_decides(lines, path):
    """The rule that is named as decisive says what the verdict is; without one everything is
    allowed.
    """
    body = "\n".join(["User-agent: *", *(f"{kind}: /{pattern}" for kind, pattern in lines)])
    rules, url = parse(body.encode(), "webcrawl").rules, f"http://a.test/{path}"
    found = rules.deciding(url)

    assert (found is None or found[1]) is rules.allowed(url)
    assert found is None or matches(found[0], path_of(url)) or path_of(url).startswith(found[0])


class TestLines:
    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\r\r\n", "\n\n"])
    def test_any_line_end_ends_a_line(self, end):
        """CR, LF and both together end a line (RFC 9309 2.2)."""
        robots = end.join(["User-agent: a", "User-agent: webcrawl", "Disallow: /x"])

        assert (_allowed(robots, "/x"), _allowed(robots, "/y")) == (False, True)

    @pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
    def test_what_python_calls_a_line_end_is_none(self, separator):
        """Other characters at which `splitlines` splits do not end a line."""
        assert not _allowed(f"User-agent: *\nDisallow: /a{separator}Allow: /b\nDisallow: /b", "/b")

    @pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
    def test_a_mark_at_the_beginning_is_not_there(self, mark):
        """A byte order mark, even a partial one, does not spoil the first line."""
        assert not _allowed(mark + b"User-agent: *\nDisallow: /")

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_a_long_file_in_utf_16_ends_with_a_line(self, encoding):
        """Half a line is no rule, though a letter in it has a byte that is a line feed by itself."""
        start = "\ufeffUser-agent: *\nDisallow: /\n"
        filled = start + "\n" * (LIMIT // 2 - 20 - len(start)) + "Allow: /\u0a85" + "z" * 100 + "\n"

        assert len(filled.encode(encoding)) > LIMIT
        assert not _allowed(filled.encode(encoding), "/%E0%AA%85x")

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
    def test_utf_16_with_its_mark_is_read(self, encoding):
        """A file with a UTF-16 byte order mark is read as such."""
        mark = "" if encoding == "utf-16" else "\ufeff"

        assert not _allowed(
            (mark + "User-agent: *\nDisallow: /\u30c4").encode(encoding), "/%E3%83%84"
        )

    def test_the_first_500_kib_are_read(self):
        """A rule within the limit counts; the line at the limit, and those after it, are ignored."""
        head = b"User-agent: *\nDisallow: /in\n"
        truncated = b"Disallow: /cut-here"
        body = (
            head
            + b"#" * (LIMIT - len(head) - 1 - len(truncated) + 5)
            + b"\n"
            + truncated
            + b"\nDisallow: /out\n"
        )

        assert [_allowed(body, path) for path in ("/in", "/cut", "/cut-here", "/out")] == [
            False,
            True,
            True,
            True,
        ]

    def test_a_file_that_is_one_endless_line_has_no_rules(self):
        """If no line ends within the limit there is no record."""
        assert _allowed(b"Disallow: /" * LIMIT)

    @pytest.mark.parametrize(
        "line",
        [
            "disallow:/x",
            "DISALLOW : /x",
            " Disallow:\t/x \t",
            "Disallow: /x # why",
            "Disallow /x",
            "disalow: /x",
        ],
    )
    def test_loose_spellings_are_understood(self, line):
        """Case, blanks, comments, a missing colon and common typing errors do not matter."""
        assert not _allowed(f"user-agent: *\n{line}", "/x")

    @pytest.mark.parametrize(
        "line", ["Disallow /x y", "Disallowed: /x", "#Disallow: /x", "Disallow; /x", "/x"]
    )
    def test_what_is_no_record_is_nothing(self, line):
        """An unrecognised line neither forbids anything nor ends a group."""
        assert _allowed(f"user-agent: *\n{line}", "/x")

    def test_html_is_a_file_without_rules(self):
        """An error page with status 200 allows everything."""
        assert _allowed(
            "<!DOCTYPE html><html><body>\n<p>User-agent: *</p>\n<p>Disallow: /</p></body></html>"
        )

    @given(st.binary(max_size=300))
    @example(b"\xff\xfeU")
    @example(b"\xfe\xff\xd8\x00")
    def test_any_bytes_are_a_file(self, body):
        """No file makes the parser raise, and its rules survive packing."""
        rules = parse(
            b"User-agent: *\nDisallow: " + body + b"\nAllow: " + body[::-1], "webcrawl"
        ).rules
        again = unpack(pack(rules, "webcrawl"), "webcrawl")

        assert rules.allowed("http://a.test/x") in (True, False)
        assert again is not None
        assert dict(again.items()) == dict(rules.items())


class TestGroups:
    def test_the_own_group_goes_before_everyones(self):
        """A crawler with its own group ignores the group for all others."""
        robots = "User-agent: *\nDisallow: /\nUser-agent: webcrawl\nDisallow: /x"

        assert [_allowed(robots, path) for path in ("/", "/x")] == [True, False]

    def test_a_group_without_rules_allows_everything(self):
        """A group without rules allows everything."""
        assert _allowed("User-agent: *\nDisallow: /\n\nUser-agent: webcrawl\n")

    def test_groups_of_one_crawler_are_one(self):
        """Rules of several groups with the same name are combined (RFC 9309 2.2.1)."""
        robots = "User-agent: webcrawl\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: WebCrawl\nDisallow: /c"

        assert [_allowed(robots, path) for path in ("/a", "/b", "/c")] == [False, True, False]

    @pytest.mark.parametrize(
        ("line", "named"),
        [
            ("webcrawl", True),
            ("WEBCRAWL", True),
            ("webcrawl/0.1", True),
            ("webcrawl bot", True),
            ("web", False),
            ("webcrawler", False),
            ("my-webcrawl", False),
            ("Mozilla (webcrawl)", False),
            ("", False),
        ],
    )
    def test_a_name_is_compared_whole(self, line, named):
        """The product token must be equal but for case; what follows it is a version or a comment."""
        assert _allowed(f"User-agent: {line}\nDisallow: /") is not named

    @pytest.mark.parametrize(
        ("line", "everyone"), [("*", True), ("* # all", True), ("*bot", False), ("**", False)]
    )
    def test_a_star_is_everyone(self, line, everyone):
        """A lone star names all crawlers."""
        assert _allowed(f"User-agent: {line}\nDisallow: /") is not everyone

    def test_several_names_share_their_rules(self):
        """Consecutive names head one group, whatever unrelated lines are between them."""
        robots = "User-agent: a\nSitemap: http://a.test/s\n\nUser-agent: webcrawl\nnonsense: 1\nDisallow: /"

        assert not _allowed(robots)

    def test_a_group_that_is_named_often_takes_each_rule_once(self, monkeypatch):
        """Thousands of equal names before thousands of rules cost no more than one name."""
        taken = []
        take = _Group.add_line

        def counted(group, kind, value):
            taken.append(value)
            take(group, kind, value)

        monkeypatch.setattr(_Group, "add_line", counted)
        lines = [*["User-agent: *", "User-agent: other"] * 50, "Disallow: /a"]

        assert not _allowed("\n".join(lines), "/a")
        assert taken == [b"/a"]

    def test_rules_before_any_name_are_nobodys(self):
        """A rule outside any group is ignored."""
        assert _allowed("Disallow: /\nUser-agent: *\nAllow: /x")

    @pytest.mark.parametrize(
        ("user_agent", "token"),
        [
            ("webcrawl/0.1 (+contact)", "webcrawl"),
            ("My_Own-Bot", "My_Own-Bot"),
            (" padded/1", "padded"),
            ("4everbot/1", ""),
            ("", ""),
        ],
    )
    def test_the_token_is_the_products_name(self, user_agent, token):
        """The product token is the first word of USER_AGENT, as far as RFC 9309 allows it."""
        assert product_token(user_agent) == token

    def test_a_crawler_without_a_name_belongs_to_everyone(self):
        """An empty product token matches no group but that for all crawlers."""
        robots = "User-agent: 4ever\nDisallow: /a\nUser-agent: *\nDisallow: /b"

        assert [_allowed(robots, path, agent="") for path in ("/a", "/b")] == [True, False]


class TestPrecedence:
    def test_the_longest_match_decides(self):
        """The order of the lines does not matter, the number of octets does."""
        lines = ["Allow: /a", "Disallow: /a/b", "Allow: /a/b/c", "Disallow: /*.gif$"]

        for robots in (
            "\n".join(["User-agent: *", *lines]),
            "\n".join(["User-agent: *", *reversed(lines)]),
        ):
            paths = ("/a", "/a/b", "/a/b/c", "/a/b/c.gif", "/x.gif", "/x.gif?")
            assert [_allowed(robots, path) for path in paths] == [
                True,
                False,
                True,
                False,
                False,
                True,
            ]

    @pytest.mark.parametrize(
        ("pair", "allowed"),
        [
            ("Allow: /aa\nDisallow: /*", True),
            ("Disallow: /aa\nAllow: /*", False),
            ("Allow: /a\nDisallow: /*a", False),
            ("Disallow: /a\nAllow: /*a", True),
        ],
    )
    def test_signs_count_like_any_octet(self, pair, allowed):
        """A pattern with a star is longer or shorter than a plain one by its own octets."""
        assert _allowed(f"User-agent: *\n{pair}", "/aa") is allowed

    @pytest.mark.parametrize(
        "pair",
        [
            "Allow: /a\nDisallow: /a",
            "Disallow: /a\nAllow: /a",
            "Disallow: /a\nAllow: /*",
            "Allow: /a\nDisallow: /*",
            "Disallow: /*\nAllow: *a",
        ],
    )
    def test_of_equals_the_permission_wins(self, pair):
        """Of an allow and a disallow of the same length, allow wins."""
        assert _allowed(f"User-agent: *\n{pair}", "/a")

    def test_to_allow_the_index_is_to_allow_its_folder(self):
        """Allowing index.html allows the folder, and nothing more in it."""
        robots = "User-agent: *\nDisallow: /\nAllow: /a/index.html"

        assert [_allowed(robots, path) for path in ("/a/", "/a/index.html", "/a", "/a/b")] == [
            True,
            True,
            False,
            False,
        ]

    @pytest.mark.parametrize("value", ["", "x", "http://a.test/", "?q"])
    def test_a_value_that_no_path_can_match_forbids_nothing(self, value):
        """A pattern must begin with a slash or a star."""
        assert _allowed(f"User-agent: *\nDisallow: {value}", "/x?q")

    @pytest.mark.parametrize(
        "lines",
        [[f"*a{number}" for number in range(MOST_PARTS // 2 + 1)], ["/" + "*a" * MOST_PARTS]],
    )
    def test_a_file_with_unreasonably_many_stars_forbids_everything(self, lines):
        """Beyond a bound a file would make every verdict too expensive: then the host is off
        limits.
        """
        patterns = "".join(f"Disallow: {line}\n" for line in lines)
        rules = parse(f"User-agent: *\nAllow: /\n{patterns}".encode(), "webcrawl").rules

        assert not rules.allowed("http://a.test/")
        assert len(rules) == 1


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "path", "same"),
        [
            ("/a", "/ab", True),
            ("/a", "/A", False),
            ("/a*c", "/abbc/d", True),
            ("/a*c$", "/abbc/d", False),
            ("/*$", "/abc", True),
            ("/a$", "/a?", False),
            ("/a$b", "/a$b", True),
            ("/a%24", "/a$", True),
            ("/a%2A", "/a*", True),
            ("/a%2A", "/ab", False),
            ("/?q=", "/?q=1", True),
            ("/ツ", "/%E3%83%84", True),
            ("/%e3%83%84", "/%E3%83%84", True),
            ("/%62%61%7a", "/baz", True),
            ("/baz", "/%62%61%7A", True),
            ("/a%2fb", "/a/b", False),
            ("/a%2Fb", "/a%2fb", True),
            ("/a%3Fb", "/a?b", False),
            ("/a%23b", "/a%23b", True),
            ("/a%5B1%5D", "/a[1]", True),
            ("/?a[]=http://b", "/?a%5b%5d=http%3A//b", True),
            ("/?a=http%3A%2F%2Fb", "/?a=http://b", False),
            ("/http%3A%2F%2Fb", "/http:%2F%2Fb", True),
            ("/http:%2F%2Fb", "/http%3a%2f%2fb", True),
            ("/http%3A%2F%2Fb", "/http://b", False),
            ("/~u", "/%7Eu", True),
            ("/a b", "/a%20b", True),
            ("/a|b", "/a%7Cb", True),
            ("/100%", "/100%", True),
        ],
    )
    def test_octets_are_compared_in_one_spelling(self, pattern, path, same):
        """Percent-encoding makes no difference where RFC 9309 2.2.2 says so, but of what parts a
        URL.
        """
        assert matches(pattern_of(pattern.encode()), path_of(f"http://a.test{path}")) is same
        assert _allowed(f"User-agent: *\nDisallow: {pattern}", path) is not same

    @pytest.mark.parametrize("char", sorted(set(string.printable[:95]) - set(" \\*$#")))
    def test_exclusions_have_the_same_form(self, char):
        """Rules of robots.txt, of the use of pages, and of the exclusion file take the same
        spellings for one.
        """
        for rule in (char, f"%{ord(char):02x}"):
            for path in (char, f"%{ord(char):02X}"):
                url = canonical(f"http://a.test/x{path}y")
                read = parse(
                    f"User-agent: *\nDisallow: /x{rule}y\nContent-Usage: /x{rule}y train-ai=n".encode(),
                    "",
                ).rules
                excludes = parse_exclusions(f"http://a.test/x{rule}y", "list").excludes(url)
                assert read.allowed(url) is not excludes
                assert bool(read.said.of(url)) is excludes

    @given(
        st.lists(
            st.tuples(
                st.sampled_from("aZ9-._~ \"<>^`{|}é:[]@!&'()+,;="), st.booleans(), st.booleans()
            ),
            max_size=12,
        ),
        st.sampled_from(["", "?q="]),
    )
    def test_no_side_need_be_encoded(self, octets, query):
        """Whatever is percent-encoded in rule or URL, but what parts it or is a wildcard, the
        verdict is the same.
        """

        def written(char, encoded):
            return f"%{ord(char):x}" if encoded and char.isascii() else char

        rule, path = (
            "".join(written(char, flags[side]) for char, *flags in octets) for side in (0, 1)
        )

        assert not parse(
            f"User-agent: *\nDisallow: /{query}x{rule}x".encode(), "webcrawl"
        ).rules.allowed(canonical(f"http://a.test/{query}x{path}x"))

    @given(st.text("a*/", max_size=8), st.booleans(), st.text("ab/", max_size=10))
    def test_stars_match_as_a_regular_expression_would(self, pattern, anchored, path):
        """A star is any run of octets, a final dollar the end."""
        pattern, path = "/" + pattern, "/" + path
        expression = re.escape(pattern).replace(r"\*", ".*") + ("$" if anchored else "")

        assert matches(pattern + "$" * anchored, path) == bool(re.match(expression, path))

    @given(
        st.lists(st.tuples(st.booleans(), st.text("aa*/", max_size=4), st.booleans()), max_size=6),
        st.text("a/", max_size=4),
    )
    def test_verdicts_are_protegos(self, rules, path):
        """On plain patterns with stars and dollars another parser gives the same verdict."""
        lines = [
            f"{'Allow' if allow else 'Disallow'}: /{text}{'$' * end}" for allow, text, end in rules
        ]
        robots = "\n".join(["User-agent: webcrawl", *lines])

        assert _allowed(robots, "/" + path) == Protego.parse(robots).can_fetch(
            f"http://a.test/{path}", "webcrawl"
        )

    @given(st.text(string.printable, max_size=20).map(str.encode) | st.binary(max_size=20))
    def test_the_comparable_form_is_its_own(self, value):
        """Normalising a pattern twice changes nothing."""
        once = pattern_of(b"/" + value)

        assert pattern_of(once.encode()) == once


class TestOther:
    def test_the_delay_is_the_own_groups(self):
        """Crawl-delay belongs to its group; the last one counts."""
        robots = b"User-agent: a\nCrawl-delay: 9\nUser-agent: webcrawl\nCrawl-delay: 1\nCrawl-delay: 2.5\n"

        assert [parse(robots, agent).rules.crawl_delay for agent in ("a", "webcrawl", "b")] == [
            2.5,
            2.5,
            0.0,
        ]

    @pytest.mark.parametrize("value", ["", "x", "-1", "nan", "inf", "0", "1e999", "5 s"])
    def test_a_delay_that_is_no_number_is_none(self, value):
        """Only a positive number of seconds is a delay."""
        assert (
            parse(f"User-agent: *\nCrawl-delay: {value}".encode(), "webcrawl").rules.crawl_delay
            == 0
        )

    def test_sitemaps_are_everyones(self):
        """Sitemaps count anywhere in the file."""
        robots = (
            b"Sitemap: http://a.test/1\nUser-agent: a\nSITEMAP:/2\nDisallow: /\nsite-map : 3 # x"
        )

        assert parse(robots, "webcrawl").sitemaps == ["http://a.test/1", "/2", "3"]

    def test_no_break_space_before_a_field(self):
        """A no-break space before a field, as editors leave it, does not take the line away."""
        found = parse(
            "User-agent: *\n\u00a0Disallow: /a\n \u00a0Sitemap\u00a0: http://a.test/1".encode(),
            "webcrawl",
        )

        assert not found.rules.allowed("http://a.test/a")
        assert found.sitemaps == ["http://a.test/1"]

    @pytest.mark.parametrize("before", ["\u00a0", "\u200b", "\u200b\u00a0"])
    def test_invisible_characters_before_a_field_or_a_rule(self, before):
        """Whatever blank stands before a field or a rule, which hides nothing from its author, the
        rule is obeyed.
        """
        whole = f"{before}User-agent:{before}*\n{before}Disallow:{before}/a".encode()

        assert not parse(whole, "webcrawl").rules.allowed("http://a.test/a")
        assert parse("User-agent: *\nDisallow: /\u00e0".encode(), "webcrawl").rules.allowed(
            "http://a.test/%C3"
        )

    def test_sitemap_lines_without_an_address(self):
        """They name nothing, not robots.txt itself; spaces of any kind are no part of an address."""
        robots = "Sitemap:\nSitemap: \u00a0\nSitemap: \u00a0http://a.test/1\u3000\nSitemap: # none".encode()

        assert parse(robots, "webcrawl").sitemaps == ["http://a.test/1"]

    @pytest.mark.parametrize("before", [b"\xe2\x80\x8b", b"\xef\xbb\xbf\xc2\xa0", b"\xa0"])
    def test_invisible_characters_before_an_address(self, before):
        """A zero-width space, a byte order mark or Latin-1's no-break space is no part of a
        sitemap's address.
        """
        assert parse(b"Sitemap: " + before + b"http://a.test/1", "webcrawl").sitemaps == [
            "http://a.test/1"
        ]

    def test_rules_of_another_crawler_are_not_ours(self):
        """Rules packed for another product token are not used, nor unreadable ones."""
        rules = parse(b"User-agent: a\nDisallow: /x\nCrawl-delay: 3", "a").rules
        data = pack(rules, "a")
        again = unpack(data, "a")

        assert again is not None
        assert (again.allowed("http://a.test/x"), again.crawl_delay) == (False, 3.0)
        assert [unpack(data, "b"), unpack(data[:-3], "a"), unpack(b"x", "a")] == [None] * 3


def _rows(name):
    return [
        json.loads(line)
        for line in (cases("robots-spec") / f"{name}.jsonl").read_text().splitlines()
    ]


def _body(row):
    if "robots" in row:
        return row["robots"].encode(row["robots_encoding"])
    return row["robots_latin1"].encode("latin-1")


def _differing(rows):
    return [
        row["id"]
        for row in rows
        if parse(_body(row), row["agent"]).rules.allowed(row["url"]) != row["allowed"]
    ]


class TestSpecification:
    @pytest.mark.parametrize(
        ("name", "count"), [("google-robotstxt", 61), ("google-spec-test", 167)]
    )
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
            (len(parse(_body(r), r["agent"]).sitemaps), r["sitemaps_count"])
            for r in rows
            if "sitemaps_count" in r
        ]

        assert [ours for ours, _ in delays + sitemaps] == [
            theirs for _, theirs in delays + sitemaps
        ]
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
        """All but 73 of 107,122 verdicts: beyond 500 KiB, and where we forbid what Google cannot
        parse.
        """
        found = Counter(difference for row in real for difference in _differences(row))

        assert sum(len(row["queries"]) for row in real) == 107_122
        assert found == {
            (True, False, True, True): 6,  # one file of 1.3 MB
            # blanks, quotes, braces in a pattern that we percent-encode
            (False, True, False, False): 67,
        }

    def test_all_files_are_read(self, real):
        """No file makes the parser raise, including those in unknown encodings."""
        assert len([parse(row["body"].encode("latin-1"), "webcrawl") for row in real]) == 1927

    def test_rules_are_what_they_were(self, real):
        """What files say of the use of pages changes nothing in the rules, delays and sitemaps of
        all real files.
        """
        found = blake2b(digest_size=8)
        for row in real:
            for agent in ("webcrawl", "googlebot"):
                txt = parse(row["body"].encode("latin-1"), agent)
                found.update(
                    repr((sorted(txt.rules.items()), txt.rules.crawl_delay, txt.sitemaps)).encode()
                )

        assert found.hexdigest() == "8012b007b9ae7304"  # as without these fields
