"""Seeds that are named in SRC itself."""

import logging

import pytest

from tests.support.seedlists import write
from webcrawl.urls.seeds import Seeds
from webcrawl.urls.seeds.seed_source import SeedError
from webcrawl.urls.seeds.top1m import provide


def test_a_url_is_a_seed(tmp_path):
    """SRC may hold URLs beside lists, in any order."""
    path = write(tmp_path / "s.txt", b"b.example\n")
    seeds = Seeds(f"http://A.example/x#y, {path},gopher://c.example")

    assert [seed.url for seed in seeds] == ["http://a.example/x", "http://b.example/", "gopher://c.example/"]
    assert (seeds.taken, seeds.bad) == (3, 0)


def test_a_position_among_urls():
    """A crawl is resumed between two of them, and at the end gives none again."""
    seeds = Seeds("http://a.example/,http://b.example/")
    next(seeds)
    again = Seeds("http://a.example/,http://b.example/")
    again.resume(seeds.position)

    assert [seed.url for seed in again] == ["http://b.example/"]
    seeds.resume(again.position)
    assert list(seeds) == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://a b/", "http://a b/: contains a space or a control character"),
        ("tel://1/", "tel://1/: is not a URL that can be fetched (scheme)"),
        ("http://me:secret@a b/", "http://a b/: contains a space or a control character"),
        ("a.example", "a.example: No such file or directory (a host needs its scheme: http://a.example)"),
    ],
)
def test_what_is_no_seed(url, why):
    """A URL that cannot be fetched is an error, as is a host without a scheme; no message has a password."""
    with pytest.raises(SeedError) as error:
        Seeds(url)

    assert str(error.value) == why


def test_messages_have_no_password(caplog):
    """What is logged of a URL leaves out its credentials."""
    with caplog.at_level(logging.INFO):
        assert [seed.url for seed in Seeds("http://me:secret@a.example/")]

    assert caplog.messages == [
        "http://a.example/: user and password are not sent: the seed is crawled without them",
        "http://a.example/: 1 seed, 0 bad lines",
    ]


def test_a_url_is_never_downloaded_as_a_list():
    """A URL that ends like the list of a million domains is a seed like any other."""
    provide("http://a.example/seeds/top1m.csv", "http://127.0.0.1:1/")
