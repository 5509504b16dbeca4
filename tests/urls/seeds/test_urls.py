"""Seeds that are named in SRC itself, and user and password in a seed, which are refused.

They were dropped without a word: the crawl of a site behind a password got one 401, and its owner
searched for hours.
"""

import pytest

from tests.support.seedlists import write
from webcrawl.urls.seeds import Seeds
from webcrawl.urls.seeds.seed_source import SeedError
from webcrawl.urls.seeds.top1m import provide

CREDENTIALS = (
    "has a user name or password: write it without, and put a login for http or https into "
    "AUTH_FILE (docs/logins.md)"
)


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
        ("http://me:secret@a b/", f"http://a b/: {CREDENTIALS}"),
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


def test_a_url_is_never_downloaded_as_a_list():
    """A URL that ends like the list of a million domains is a seed like any other."""
    provide("http://a.example/seeds/top1m.csv", "http://127.0.0.1:1/")


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    "url", ["http://user:secret@a.test/", "HTTP://user@a.test", "ftp://:secret@a.test/"]
)
def test_a_url_in_src(url):
    """A seed with a user or password is refused; the line has only the address."""
    with pytest.raises(SeedError) as refused:
        Seeds(url)

    assert (
        str(refused.value) == f"{url.partition('://')[0]}://{url.rpartition('@')[2]}: {CREDENTIALS}"
    )


def test_a_list(tmp_path, caplog):
    """In a list such seeds are bad lines, and the others are crawled."""
    path = tmp_path / "seeds.txt"
    path.write_text(
        "http://a.test/\n" + "".join(f"http://u:secret@{at}.test/\n" for at in range(20))
    )
    seeds = Seeds(str(path))

    assert [seed.url for seed in seeds] == ["http://a.test/"]
    assert seeds.bad == 20
    assert lines(caplog)[:5] == [f"{path}: line {at} {CREDENTIALS}" for at in range(2, 7)]


@pytest.mark.parametrize(
    "text", ["http://a.test/@user", "http://a.test/?mail=a@b.test", "a.test", "a.test/b@c"]
)
def test_an_at_sign_elsewhere(tmp_path, text, caplog):
    """A seed without credentials is nothing to talk about."""
    path = tmp_path / "seeds.txt"
    path.write_text(f"{text}\n")

    assert len(list(Seeds(str(path)))) == 1
    assert lines(caplog) == []
