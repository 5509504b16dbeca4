"""Whoever writes user and password into a seed hears that they are not sent.

They were dropped without a word: the crawl of a site behind a password got one 401, and its owner searched for hours.
"""

import pytest

from webcrawl.urls.seeds import Seeds

UNSENT = "user and password are not sent: the seed is crawled without them"


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("url", ["http://user:secret@a.test/", "HTTP://user@a.test", "ftp://:secret@a.test/"])
def test_a_url_in_src(url, caplog):
    """The line has the address, and not what stood before it."""
    (seed,) = Seeds(url)

    host = url.rpartition("@")[2]
    assert seed.url.rstrip("/").endswith("://a.test")
    assert lines(caplog) == [f"{url.partition('://')[0]}://{host}: {UNSENT}"]


def test_a_list(tmp_path, caplog):
    """The first five lines are named, and a last line says that others are not."""
    path = tmp_path / "seeds.txt"
    path.write_text("http://a.test/\n" + "".join(f"http://u:secret@{at}.test/\n" for at in range(20)))
    seeds = list(Seeds(str(path)))

    assert len(seeds) == 21
    assert lines(caplog) == [
        *(f"{path}: line {at}: {UNSENT}" for at in range(2, 7)),
        f"{path}: further seeds with user and password are not logged",
    ]


@pytest.mark.parametrize("text", ["http://a.test/@user", "http://a.test/?mail=a@b.test", "a.test", "a.test/b@c"])
def test_an_at_sign_elsewhere(tmp_path, text, caplog):
    """A seed without credentials is nothing to talk about."""
    path = tmp_path / "seeds.txt"
    path.write_text(f"{text}\n")

    assert len(list(Seeds(str(path)))) == 1
    assert lines(caplog) == []
