"""Where a discovery path entered its site, and how far it is from there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.host_names import RegisteredDomains, entered, sites, steps

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
        """The last letter becomes small if page and link have different registered domains; a mark stays."""
        assert entered(path, via, url, site_of) == expected

    @pytest.mark.parametrize("path", ["R", "lR", "LrR", "RRR"])
    def test_a_redirect_alone_enters_no_site(self, path):
        """A redirect into another site is none to be counted if no link was followed since the last."""
        assert entered(path, HERE, THERE, site_of) == path

    def test_the_depth_stays(self):
        """A mark changes neither the depth that prioritizers and pages have, nor the letters in logs."""
        assert [(Link("", path).depth, Link("", path).hops) for path in ("LERP", "LerP", "LeR")] == [
            (2, "LERP"),
            (2, "LERP"),
            (2, "LER"),
        ]


class TestNoWalkIsEndless:
    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=60), st.integers(0, 4))
    def test_every_walk_ends(self, moves, deepest):
        """However links and redirects lead from site to site and back, a path ends: k links deep, k sites away."""
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
            assert max(sites(path), steps(path)) <= links == Link("", path).depth  # the filter's short way relies on it

        assert links <= deepest * (deepest + 2)

    @pytest.mark.parametrize("deepest", [0, 1, 50])
    def test_two_sites_that_link_to_each_other(self, deepest):
        """Two sites with a new page behind each link to the other are left after as many links as the limit."""
        one, path, page = DepthFilter(deepest, DOMAINS), "", HERE
        for number in range(1000):
            url = f"{HERE if number % 2 else THERE}{number}"
            if not one.keep([url], Origin(page, number + 1, f"{path}L")):
                break
            path, page = entered(f"{path}L", page, url, site_of), url

        assert number == deepest
