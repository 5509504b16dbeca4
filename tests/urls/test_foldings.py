"""The comparison form: which URLs count as the same."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.url_settings import url_settings
from webcrawl.base.errors import RulesError
from webcrawl.urls import foldings
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.foldings import HostRules, compose, read_host_rules
from webcrawl.urls.link_pipeline import build_folding

ALL = (
    foldings.no_session_ids,
    foldings.single_slashes,
    foldings.no_index,
    foldings.lower_path,
    foldings.sorted_query,
    foldings.one_scheme,
)
SITE = "http://h.example"
PIECES = [
    "/",
    "//",
    "A",
    "b",
    ";jsessionid=X",
    "(S(x))",
    "index.html",
    "Default.asp",
    ".",
    "?",
    "&",
    "sid=",
    "a" * 20,
    "=",
    "s=" + "0" * 32,
]


@pytest.mark.parametrize("folding", ALL, ids=lambda folding: folding.__name__)
class TestEveryFolding:
    @given(pieces=st.lists(st.sampled_from(PIECES), max_size=10))
    def test_folding_twice_changes_nothing(self, folding, pieces):
        """A folded URL is its own folding, keeps its host, and fits a record whose fields are
        separated by spaces.
        """
        try:
            url = canonical(f"https://H.example:8080/{''.join(pieces)}")
        except InvalidUrl:
            assume(False)

        folded = folding(url)

        assert folding(folded) == folded
        assert re.fullmatch("[!-~]+", folded)
        assert folded.startswith(("https://h.example:8080/", "http://h.example:8080/"))


HOST_RULES = HostRules({"www.": ""}, {".mirror.example": ".example"}, {"old.example": "h.example"})


class TestAllTogether:
    @given(
        order=st.permutations([*ALL, HOST_RULES]),
        used=st.integers(1, len(ALL) + 1),
        host=st.sampled_from(
            ["h.example", "www.www.h.example", "old.mirror.example", "www.old.example:8080"]
        ),
        pieces=st.lists(st.sampled_from(PIECES), max_size=10),
    )
    def test_a_folded_url_is_its_own_folding(self, order, used, host, pieces):
        """Whichever foldings are used, in whatever order, folding twice is folding once."""
        try:
            url = canonical(f"https://{host}/{''.join(pieces)}")
        except InvalidUrl:
            assume(False)
        fold = compose(order[:used])

        assert fold(fold(url)) == fold(url)

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_what_a_later_folding_leaves_is_folded(self, order):
        """A session id that was a segment of its own leaves no second slash.

        With single_slashes before no_session_ids, `/;jsessionid=1/a` became `//a`, another page
        than `/a`.
        """
        both = foldings.single_slashes, foldings.no_session_ids
        fold = compose([both[at] for at in order])

        assert fold(f"{SITE}/;jsessionid=1/a/b") == fold(f"{SITE}//a/b") == f"{SITE}/a/b"

    def test_rules_that_lead_in_a_circle(self):
        """All URLs of the circle have one form."""
        fold = compose(
            [HostRules({}, {}, {"a.test": "b.test", "b.test": "c.test", "c.test": "a.test"})]
        )

        assert {fold(f"http://{name}.test/x") for name in "abc"} == {"http://a.test/x"}

    def test_rules_that_never_end(self):
        """A rule that makes a name longer each time is applied once, as it is written."""
        fold = compose([HostRules({}, {".com": ".shop.com"}, {})])

        assert fold("http://a.com/") == "http://a.shop.com/"


class TestFoldings:
    @pytest.mark.parametrize(
        ("folding", "url", "folded"),
        [
            (foldings.lower_path, "/A/B.HTML?Q=X", "/a/b.html?Q=X"),
            (foldings.no_index, "/a/index.html", "/a/"),
            (foldings.no_index, "/Default.ASP?id=1", "/?id=1"),
            (foldings.no_index, "/index.html/x", "/index.html/x"),
            (foldings.no_index, "/my-index.html", "/my-index.html"),
            (foldings.single_slashes, "//a///b?u=http://c//d", "/a/b?u=http://c//d"),
            (foldings.sorted_query, "/?b=2&a=1&b=1", "/?a=1&b=1&b=2"),
            (foldings.no_session_ids, "/a;jsessionid=1F2?x=1", "/a?x=1"),
            (foldings.no_session_ids, "/(S(abc12))/page.aspx", "/page.aspx"),
            (foldings.no_session_ids, "/(S(abc12));jsessionid=1F2/page.aspx", "/page.aspx"),
            (foldings.no_session_ids, "/?PHPSESSID=ab&x=1", "/?x=1"),
            (foldings.no_session_ids, "/?x=1&CFID=12&CFTOKEN=34", "/?x=1"),
            (foldings.no_session_ids, "/?PHPSESSID=ab", "/"),
            (foldings.no_session_ids, "/?sid=0123456789abcdef", "/"),
            (foldings.no_session_ids, "/?sid=12&s=shoes", "/?sid=12&s=shoes"),
            (foldings.no_session_ids, "/?myphpsessid=1", "/?myphpsessid=1"),
        ],
    )
    def test_it_folds_this_much_and_no_more(self, folding, url, folded):
        """Each folding applies one rule, and ignores what only looks similar."""
        assert folding(SITE + url) == SITE + folded

    def test_one_scheme_is_http(self):
        """Only https becomes http; other schemes stay."""
        assert foldings.one_scheme("https://h.example/") == "http://h.example/"
        assert foldings.one_scheme("ftp://h.example/") == "ftp://h.example/"

    def test_no_folding_is_none(self):
        """By default, the comparison form is the URL itself, at no cost."""
        assert compose([]) is None
        assert build_folding(url_settings()) is None

    def test_foldings_apply_in_their_order(self):
        """The second folding gets the result of the first."""
        folding = build_folding(
            url_settings(
                URL_FOLDINGS=[
                    "webcrawl.urls.foldings.no_session_ids",
                    "webcrawl.urls.foldings.no_index",
                ]
            )
        )

        assert folding(f"{SITE}/index.jsp;jsessionid=1") == f"{SITE}/"

    def test_a_missing_folding_is_named(self):
        """A dotted path that does not exist raises one clear error."""
        with pytest.raises(
            ValueError, match=r"^webcrawl\.urls\.foldings\.none: .* has no attribute 'none'$"
        ):
            build_folding(url_settings(URL_FOLDINGS=["webcrawl.urls.foldings.none"]))


class TestHostRules:
    @pytest.fixture(name="rules")
    def _rules(self, tmp_path):
        path = tmp_path / "hosts.rules"
        path.write_text(
            "# LARM's own example\n\nstartsWith(www.)=\nstartsWith(www2.)=\n"
            "endsWith(.somehost.com)=.somhost2.com\nsynonym(daedalus,apache.org) = apache,org\n"
        )
        return read_host_rules(path)

    @pytest.mark.parametrize(
        ("url", "folded"),
        [
            ("http://www.cnn.com/www.x", "http://cnn.com/www.x"),
            ("http://www2.cnn.com:8080/", "http://cnn.com:8080/"),
            ("http://a.somehost.com/", "http://a.somhost2.com/"),
            ("http://www.daedalus.apache.org/", "http://apache.org/"),
            ("http://w3.cnn.com/", "http://w3.cnn.com/"),
        ],
    )
    def test_the_three_kinds_apply_in_their_order(self, rules, url, folded):
        """First startsWith applies, then endsWith, then synonym; commas stand for dots."""
        assert rules(url) == folded

    def test_of_one_kind_the_longest_rule_applies(self):
        """The order of lines does not matter."""
        rules = HostRules({"w": "1.", "www.": "2."}, {".b": ".x", ".a.b": ".y"}, {})

        assert rules.host("www.c.a.b") == "2.c.y"

    def test_a_host_never_becomes_nothing(self):
        """A rule that would leave an empty host is ignored, and the same text outside the host is
        not replaced.
        """
        assert HostRules({"h": ""}, {}, {})("http://h/") == "http://h/"
        assert HostRules({}, {}, {"t": "u"})("http://t/t") == "http://u/t"

    @pytest.mark.parametrize(
        "line",
        ["startswith(www.)=", "startsWith(www.)", "synonym()=a", "rubbish", "synonym(a b)=c"],
    )
    def test_a_bad_line_is_named(self, tmp_path, line):
        """A bad line raises one clear error with the file and the line number, and not with its
        text.
        """
        path = tmp_path / "hosts.rules"
        path.write_text(f"# rules\n{line}\n")

        with pytest.raises(
            RulesError, match=r"hosts\.rules, line 2: expected a rule such as startsWith\(www\.\)=$"
        ):
            read_host_rules(path)

    @pytest.mark.parametrize(
        ("content", "why"),
        [(None, "cannot be read: No such file"), (b"\xff\xfe", "is not UTF-8 text")],
    )
    def test_a_file_that_cannot_be_read_is_named(self, tmp_path, content, why):
        """A file that is missing or not text raises one error that names it."""
        path = tmp_path / "hosts.rules"
        if content is not None:
            path.write_bytes(content)

        with pytest.raises(RulesError, match=rf"hosts\.rules: {why}"):
            read_host_rules(path)

    def test_the_setting_puts_host_rules_first(self, tmp_path):
        """URL_HOST_RULES applies to the comparison form."""
        path = tmp_path / "hosts.rules"
        path.write_text("startsWith(www.)=\n")

        assert (
            build_folding(url_settings(URL_HOST_RULES=str(path)))("http://www.a.example/")
            == "http://a.example/"
        )
