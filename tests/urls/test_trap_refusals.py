"""What the trap filters refuse of all real URLs."""

import pytest

from tests.support.real_urls import real_urls
from tests.support.url_settings import url_settings
from webcrawl.urls.filters.filter_protocol import Lines, Origin
from webcrawl.urls.filters.traps import DATE, DEEP, MONTHLY, QUERY, SESSION
from webcrawl.urls.link_pipeline import build_filters

NOW = 1_747_000_000  # May 2025, when the later of the crawl logs was written
PAGE = Origin("http://h.example/", 1)
# What each row of the table is about: a filter, and the URLs that it may refuse.
ROWS = {
    "trap_repeats": "^",
    "trap_growth": "^",
    "trap_calendar": DATE,
    "trap_family, calendar pages": MONTHLY,
    "trap_family, session ids": SESSION,
    "trap_family, queries": QUERY,
    "trap_family, deep paths": DEEP,
}
# The refused URLs that are traps: a page of a Trac's timeline for every second with a change.
TRAPS = Lines(r"^https://grape\.ics\.uci\.edu/wiki/public/timeline\?from=[^&]+&precision=second$")


# URLs of each kind among the real ones, those refused, and how many of these are traps or not.
REFUSED = {
    "trap_repeats": (74_080, 0, 0, 0),
    "trap_growth": (74_080, 0, 0, 0),
    "trap_calendar": (1_434, 0, 0, 0),
    "trap_family, calendar pages": (1_333, 636, 636, 0),
    "trap_family, session ids": (15, 0, 0, 0),
    "trap_family, queries": (348, 0, 0, 0),
    "trap_family, deep paths": (22, 0, 0, 0),
}


class TestRefusals:
    @pytest.mark.campaign
    def test_what_is_refused_is_a_trap(self):
        """No filter refuses a URL that is not a trap, and each refuses as many as it did."""
        urls = list(real_urls())
        filters = {
            one.name: one for one in build_filters(url_settings(), clock=lambda: NOW).filters
        }
        names = {row.partition(",")[0] for row in ROWS}
        refused = {name: set(urls).difference(filters[name].keep(urls, PAGE)) for name in names}
        found = {}
        for row, kind in ROWS.items():
            of_kind = Lines(kind).among(urls)
            lost = [url for url in of_kind if url in refused[row.partition(",")[0]]]
            traps = len(TRAPS.among(lost))
            found[row] = (len(of_kind), len(lost), traps, len(lost) - traps)

        assert found == REFUSED
        assert sum(wrong for *_, wrong in found.values()) == 0
