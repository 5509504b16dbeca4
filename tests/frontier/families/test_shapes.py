"""To which families a URL belongs."""

import pytest

from webcrawl.frontier.families.shapes import shape_of

HOST = "http://a.test"


def close(tail):
    return shape_of(HOST + tail).families[0]


class TestShapes:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("/item/1", "/item/2"),
            ("/view?id=1", "/view?id=2"),
            ("/view?id=1&sid=x", "/view?sid=y&id=2"),
            ("/list?f[0]=a", "/list?f[1]=b"),
            ("/list;size=s;colour=red", "/list;colour=blue;size=l"),
            ("/s/8f3a/page", "/s/91bc/other"),
            ("/2024/03/05/some-news", "/2023/11/30/other-news"),
            ("/wiki/Apple", "/wiki/Pear"),
        ],
    )
    def test_urls_that_differ_in_values_are_one_family(self, one, other):
        """Values of parameters, the last segment, and segments that look like one of many are masked."""
        assert close(one) == close(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("/item/1", "/list/1"),
            ("/view?id=1", "/view?page=1"),
            ("/a/b", "/a/b/"),
            ("/a.html", "/a.txt"),
            ("/a", "/a/b"),
            ("/list;size=s/a", "/list;colour=red/a"),
        ],
    )
    def test_urls_of_other_forms_are_another_family(self, one, other):
        """Other names, parameters, endings and depths make other families."""
        assert close(one) != close(other)

    def test_wider_families_are_of_all_hosts(self):
        """Only the closest family is a single host's; the widest has every URL of a domain."""
        one, other = shape_of("http://x.a.test/item/1"), shape_of("http://y.a.test/item/2")

        assert one.families[0] != other.families[0]
        assert one.families[1:] == other.families[1:]

    @pytest.mark.parametrize("tail", ["/", "", "//", "/?", "/?&&", "/?=", "/%", "/a?b?c", "/" + "x/" * 500])
    def test_every_url_has_families(self, tail):
        """Whatever a URL looks like, it has a shape."""
        assert len(shape_of(HOST + tail).families) == 4
