"""What a crawl regards as one URL is part of the crawl, and stays so."""

# Seen on 2026-11-21, before this was fixed: the second run began, and ended with status 0. In a
# chain of 20 pages that link back it fetched 10 pages twice, with `lower_path` added to its
# foldings after the ninth page.

import pytest

from tests.support.crawling import Crawl
from tests.support.hostile_site import page, site

FOLDINGS = "webcrawl.urls.foldings"
HOSTS = ("a.test", "www.a.test")
PATHS = (
    "/",
    "/index.html",
    "/Index.html",
    "/list?b=1&a=2",
    "/list?a=2&b=1",
    "/p?sid=0123456789abcdef",
    "/p",
)
SETTINGS = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}


@pytest.fixture(name="web")
def _web():
    """Two names of one server, and links between pages that foldings and host rules make one."""
    with site({}) as server:
        links = "".join(
            f'<a href="http://{host}:{server.port}{path}">x</a>' for host in HOSTS for path in PATHS
        )
        server.answers |= {
            (host, path): page(f"{host}{path}{links}".encode()) for host in HOSTS for path in PATHS
        }
        yield server


@pytest.fixture(name="crawl")
def _crawl(tmp_path, web):
    (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {host}\n" for host in HOSTS))
    (tmp_path / "seeds.txt").write_text("".join(f"http://{host}:{web.port}/\n" for host in HOSTS))
    return Crawl(
        tmp_path / "job",
        {"seeds": tmp_path / "seeds.txt"},
        {"HOSTS_FILE": tmp_path / "hosts", **SETTINGS},
    )


def assert_refused(web, crawl, *words, **settings):
    """The crawl does not begin, in one line that has these words, and asks for nothing."""
    requested = len(web.requested)

    status = crawl.run(**settings)

    lines = crawl.output.read_text().splitlines()
    assert (status, len(lines), len(web.requested) - requested) == (1, 1, 0), lines[-1]
    assert [word for word in words if word.lower() not in lines[0].lower()] == []


def folded(*names):
    return ",".join(f"{FOLDINGS}.{name}" for name in names)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], ["no_index"], id="one more"),
        pytest.param(["no_index", "sorted_query"], ["no_index"], id="one less"),
        pytest.param(["no_index"], ["no_session_ids"], id="another"),
    ],
)
def test_other_foldings(web, crawl, before, after):
    """A crawl is not resumed with other URL_FOLDINGS than it was begun with."""
    assert crawl.run(URL_FOLDINGS=folded(*before), CLOSESPIDER_PAGECOUNT=5) == 0

    names = [f"{FOLDINGS}.{name}" for name in (*before, *after)]
    assert_refused(web, crawl, "URL_FOLDINGS", *names, URL_FOLDINGS=folded(*after))


def test_other_host_rules(tmp_path, web, crawl):
    """A crawl is not resumed with a file of host rules if it was begun without one."""
    (tmp_path / "rules").write_text("startsWith(www.)=\n")
    assert crawl.run(CLOSESPIDER_PAGECOUNT=5) == 0

    assert_refused(
        web,
        crawl,
        "URL_HOST_RULES",
        "none",
        str(tmp_path / "rules"),
        URL_HOST_RULES=tmp_path / "rules",
    )


def test_other_rules_in_the_file_of_host_rules(tmp_path, web, crawl):
    """A crawl is not resumed when the file that URL_HOST_RULES names has other rules than before."""
    (tmp_path / "rules").write_text("synonym(www.a.test)=a.test\n")
    assert crawl.run(CLOSESPIDER_PAGECOUNT=5, URL_HOST_RULES=tmp_path / "rules") == 0
    (tmp_path / "rules").write_text("synonym(www.b.test)=b.test\n")

    assert_refused(
        web, crawl, "URL_HOST_RULES", str(tmp_path / "rules"), URL_HOST_RULES=tmp_path / "rules"
    )


def test_the_same_foldings_and_rules(tmp_path, web, crawl):
    """A crawl is resumed with the foldings and the host rules that it was begun with."""
    (tmp_path / "rules").write_text("startsWith(www.)=\n")
    settings = {
        "URL_FOLDINGS": folded("no_index", "no_session_ids"),
        "URL_HOST_RULES": tmp_path / "rules",
    }
    assert crawl.run(CLOSESPIDER_PAGECOUNT=2, **settings) == 0

    assert crawl.run(**settings) == 0
    assert len(web.requested) == len(set(web.requested))
