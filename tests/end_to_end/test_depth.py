"""A crawl from site to site: each is crawled to its depth, and sites that link to each other for
ever are left.
"""

import pytest

from tests.support.crawling import Crawl
from tests.support.crawling_sites import serving

DEEP, LIMIT = 8, 10  # pages of each site, one behind the other; URL_MAX_DEPTH
CHAIN = [f"site{number}.test" for number in range(4)]
ENDLESS = ["ping.test", "pong.test"]
SETTINGS = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "URL_MAX_DEPTH": LIMIT,
    "ROBOTSTXT_OBEY": False,
}
pytestmark = pytest.mark.xdist_group("depth")  # one crawl for all tests


def answer(url):
    """A page with one link: to the next of its site, from the last to the next site; or to the
    other endless site.
    """
    host, _, number = url.removeprefix("http://").partition("/")
    if host in ENDLESS:
        link = f"http://{ENDLESS[1 - ENDLESS.index(host)]}/{int(number) + 1}"
    else:
        page = int(number) + 1
        at = CHAIN.index(host) + page // DEEP
        link = f"http://{CHAIN[at]}/{page % DEEP}" if at < len(CHAIN) else "#end"
    return 200, "text/html", f"<title>{url}</title><a href='{link}'>on</a>".encode()


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """The URLs requested, and crawl.log, of a crawl from the first page of the chain and of the
    endless sites.
    """
    folder = tmp_path_factory.mktemp("depth")
    with serving(answer, folder, CHAIN + ENDLESS) as sites:
        seeds = folder / "seeds.txt"
        seeds.write_text(f"http://{CHAIN[0]}/0\nhttp://{ENDLESS[0]}/0\n")
        crawl = Crawl(folder / "job", {"seeds": seeds}, SETTINGS)
        assert crawl.run(HOSTS_FILE=sites.hosts_file(folder / "hosts", CHAIN + ENDLESS)) == 0
    return sites.requested, (crawl.jobdir / "logs/crawl.log").read_text()


def test_sites_are_crawled_to_the_end_however_far_the_seed_is(crawled):
    """All pages of all sites are fetched, though the last is three times as many links from the
    seed as the limit.
    """
    requested, _ = crawled

    assert [url for url in requested if "site" in url] == [
        f"http://{site}/{page}" for site in CHAIN for page in range(DEEP)
    ]


def test_sites_that_link_to_each_other_for_ever_are_left(crawled):
    """Two sites with a new page behind each link are left after as many links as the limit."""
    requested, _ = crawled

    assert len([url for url in requested if "site" not in url]) == 1 + LIMIT


def test_the_log_has_heritrixs_letters(crawled):
    """The discovery path in the log has a capital letter for every hop."""
    _, log = crawled

    paths = {line.split()[4] for line in log.splitlines() if "http://site" in line.split()[3]}
    assert paths == {"-"} | {"L" * links for links in range(1, len(CHAIN) * DEEP)}
