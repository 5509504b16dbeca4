"""Seeds that are named in SRC itself, and user and password in a seed, which are not sent.

They were dropped without a word: the crawl of a site behind a password got one 401, and its owner
searched for hours.
"""

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

    assert [seed.url for seed in seeds] == [
        "http://a.example/x",
        "http://b.example/",
        "gopher://c.example/",
    ]
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
        (
            "a.example",
            "a.example: No such file or directory (a host needs its scheme: http://a.example)",
        ),
    ],
)
def test_what_is_no_seed(url, why):
    """A URL that cannot be fetched is an error, as is a host without a scheme; no message has a
    password.
    """
    with pytest.raises(SeedError) as error:
        Seeds(url)

    assert str(error.value) == why


def test_messages_have_no_password(caplog):
    """What is logged of a URL leaves out its credentials."""
    with caplog.at_level(logging.INFO):
        assert [seed.url for seed in Seeds("http://me:secret@a.example/")]

    assert caplog.messages == [
        "http://a.example/: user and password were removed from the seed, which is crawled without them",
        "http://a.example/: 1 seed, 0 bad lines",
    ]


def test_a_url_is_never_downloaded_as_a_list():
    """A URL that ends like the list of a million domains is a seed like any other."""
    provide("http://a.example/seeds/top1m.csv", "http://127.0.0.1:1/")


UNSENT = "user and password were removed from the seed, which is crawled without them"


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    "url", ["http://user:secret@a.test/", "HTTP://user@a.test", "ftp://:secret@a.test/"]
)
def test_a_url_in_src(url, caplog):
    """The line has the address, and not what stood before it."""
    (seed,) = Seeds(url)

    host = url.rpartition("@")[2]
    assert seed.url.rstrip("/").endswith("://a.test")
    assert lines(caplog) == [f"{url.partition('://')[0]}://{host}: {UNSENT}"]


def test_a_list(tmp_path, caplog):
    """The first five lines are named, and a last line says that others are not."""
    path = tmp_path / "seeds.txt"
    path.write_text(
        "http://a.test/\n" + "".join(f"http://u:secret@{at}.test/\n" for at in range(20))
    )
    seeds = list(Seeds(str(path)))

    assert len(seeds) == 21
    assert lines(caplog) == [
        *(f"{path}: line {at}: {UNSENT}" for at in range(2, 7)),
        f"{path}: further seeds with user and password are not logged",
    ]


@pytest.mark.parametrize(
    "text", ["http://a.test/@user", "http://a.test/?mail=a@b.test", "a.test", "a.test/b@c"]
)
def test_an_at_sign_elsewhere(tmp_path, text, caplog):
    """A seed without credentials is nothing to talk about."""
    path = tmp_path / "seeds.txt"
    path.write_text(f"{text}\n")

    assert len(list(Seeds(str(path)))) == 1
    assert lines(caplog) == []
