"""What each filter says of a URL, with the rule by which it refuses."""

from collections import Counter
from types import SimpleNamespace

import msgpack
import pytest

from webcrawl import settings as defaults
from webcrawl.crawl.checks import check
from webcrawl.crawl.control.sheets import Sheets
from webcrawl.crawl.last_run import terms_of
from webcrawl.tools.why.saved_settings import values_of
from webcrawl.tools.why.url_rules import CrawlFilters, first_refusal
from webcrawl.urls.exclusion_rules import OptOut
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import build_filters

KEY = bytes(16)
MINE = "tests.tools.why.test_settings.Mine"
HERE = Origin("http://a.test/", 1, "L")


def filters(given=(), *, excluded=(), learned=(), trusted=(), sheets=()):
    values = check({**vars(defaults), **dict(given)})
    values = values_of(terms_of("web", {}, values), {}, trusted, [])
    saved = SimpleNamespace(get=lambda _: msgpack.packb(dict(sheets)), join=lambda _: None)
    return CrawlFilters(
        values, KEY, RegisteredDomains(), dict(learned), list(excluded), Sheets(saved), trusted
    )


@pytest.mark.parametrize(
    ("given", "url", "name", "rule"),
    [
        ({"URL_SCHEMES": "http"}, "ftp://a.test/x", "scheme", "URL_SCHEMES = http"),
        (
            {"URL_MAX_LENGTH": 64},
            "http://a.test/" + "x" * 60,
            "length",
            "URL_MAX_LENGTH = 64: it has 74",
        ),
        ({"URL_MAX_DEPTH": 0}, "http://a.test/x", "depth", "URL_MAX_DEPTH = 0: 1 link "),
        ({"URL_SCOPE": "host"}, "http://www.a.test/x", "scope", "(here www.a.test)"),
        ({"URL_SCOPE": "domain"}, "http://b.test/x", "scope", "(here b.test)"),
        ({"URL_SCOPE": "seeds"}, "http://b.test/x", "scope", "no seed"),
        ({}, "http://a.test:25/", "port", "a.test:25"),
        ({}, "http://a.test/x.iso?a=b.c", "extension", "x.iso"),
        (
            {"URL_EXCLUDE": ["/y", "/x[0-9]"]},
            "http://a.test/x1",
            "expression",
            "URL_EXCLUDE: /x[0-9]",
        ),
        ({"URL_INCLUDE": ["/y"]}, "http://a.test/x1", "expression", "none of URL_INCLUDE: /y"),
        ({}, "http://a.test/wp-login.php", "known_path", "wp_login"),
        ({}, "http://a.test/a/b/a/b/a/b/a/b/", "trap_repeats", "repeat"),
        ({}, "http://a.test/?a=1&a=1&a=1&a=1", "trap_growth", "repeat"),
        ({}, "http://a.test/calendar?month=2099-12", "trap_calendar", "calendar"),
    ],
)
def test_rules(given, url, name, rule):
    """The filter that drops the URL in a crawl is the first that refuses it, and its rule says what
    is the matter.
    """
    found = first_refusal(filters(given).verdicts(url, HERE))

    assert found is not None
    assert found.name == name
    assert rule in found.rule


def test_the_order_is_the_crawls():
    """Every filter of the crawl is asked, in its order, the commands last."""
    values = check(
        {**vars(defaults), "URL_EXCLUDE": "x", "URL_SCOPE": "seeds", "URL_SCHEMES": "http"}
    )
    verdicts = filters({"URL_EXCLUDE": "x", "URL_SCOPE": "seeds", "URL_SCHEMES": "http"}).verdicts(
        "http://a.test/", HERE
    )

    names = [one.name for one in build_filters(values, key=KEY).filters]
    assert [one.name for one in verdicts] == [*names, "commanded"]


def test_a_line_of_the_exclusion_file(tmp_path):
    """The line that excludes the URL is quoted with its number."""
    (tmp_path / "x").write_text("# sites\nb.test\na.test/private/ # by mail\n")
    found = first_refusal(
        filters({"URL_EXCLUDE_FILE": tmp_path / "x"}).verdicts("http://a.test/private/x", HERE)
    )

    assert found is not None
    assert found.rule == f"{tmp_path / 'x'}, line 3: a.test/private/ # by mail"


def test_a_file_that_is_no_exclusion_list(tmp_path):
    """Nothing is quoted from a file that is no list of rules, though one of its lines may look like
    a rule.
    """
    (tmp_path / "x").write_text("a.test\n")
    asked = filters({"URL_EXCLUDE_FILE": tmp_path / "x"})
    (tmp_path / "x").write_text("a.test # the secret\nno rule\n")
    found = first_refusal(asked.verdicts("http://a.test/", HERE))

    assert found is not None
    assert found.rule == f"URL_EXCLUDE_FILE = {tmp_path / 'x'}"


def test_what_was_excluded_by_command():
    """The command is quoted."""
    found = first_refusal(
        filters(
            excluded=[OptOut("b.test"), OptOut("a.test", by="the owner", why="a letter")]
        ).verdicts("http://a.test/", HERE)
    )

    assert found is not None
    assert found.rule == "excluded by command: exclude a.test (by the owner, a letter)"


def test_asking_teaches_nothing():
    """A filter that learns from what passes gives the same answers however often it is asked."""
    values = {"TRAP_MAX_PAGES": 2}
    crawl = build_filters(check({**vars(defaults), **values}), key=KEY)
    crawl.keep(["http://a.test/archive/2019/05/"], HERE, Counter())
    asked = filters(values, learned=crawl.state())

    for number in range(9):
        assert (
            first_refusal(asked.verdicts(f"http://a.test/archive/2020/0{number + 1}/", HERE))
            is None
        )
    crawl.keep(
        [f"http://a.test/archive/2020/0{number}/" for number in range(1, 9)], HERE, Counter()
    )
    full = first_refusal(
        filters(values, learned=crawl.state()).verdicts("http://a.test/archive/2021/01/", HERE)
    )
    assert full is not None
    assert full.name == "trap_family"


def test_a_filter_of_ones_own():
    """It is asked if this project names it; otherwise the answer says that it was not."""
    given = {"URL_FILTERS": {**defaults.URL_FILTERS, MINE: 50}}
    asked = filters(given, trusted={MINE}).verdicts("http://a.test/mine", HERE)
    unasked = filters(given).verdicts("http://a.test/mine", HERE)

    assert next(one for one in asked if one.name == "mine").verdict == "refuses"
    assert next(one for one in unasked if one.name == MINE).verdict == "not asked"


def test_requisites_pass_bounds():
    """What a page needs to be shown is asked for by other filters."""
    verdicts = filters({"URL_SCOPE": "host", "REQUISITES": True}).verdicts(
        "http://b.test/x.css", HERE, needed=True
    )

    assert "scope" not in [one.name for one in verdicts]


@pytest.mark.parametrize(
    ("given", "sheets", "url", "name", "rule"),
    [
        ({}, {"a.test": {"URL_SCOPE": "host"}}, "http://www.a.test/x", "scope", "URL_SCOPE = host"),
        (
            {"URL_SCOPE": "domain"},
            {"a.test": {"URL_SCOPE": "host"}},
            "http://www.a.test/x",
            "scope",
            "URL_SCOPE = host",
        ),
        ({}, {"=a.test": {"URL_MAX_DEPTH": 0}}, "http://a.test/x", "depth", "URL_MAX_DEPTH = 0"),
        ({"URL_MAX_DEPTH": 0}, {"a.test": {"URL_MAX_DEPTH": 3}}, "http://a.test/x", None, ""),
        ({"URL_SCOPE": "host"}, {"a.test": {"URL_SCOPE": "any"}}, "http://b.test/x", None, ""),
        ({}, {"b.test": {"URL_SCOPE": "host", "URL_MAX_DEPTH": 0}}, "http://a.test/x", None, ""),
    ],
)
def test_settings_of_single_hosts(given, sheets, url, name, rule):
    """They go before those of the whole crawl, for their hosts only."""
    found = first_refusal(filters(given, sheets=sheets).verdicts(url, HERE))

    assert (found and found.name) == name
    assert rule in (found.rule if found else "")
