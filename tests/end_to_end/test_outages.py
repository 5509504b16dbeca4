"""Crawls during which hosts or names fail for a time: nothing is lost, nobody is pressed."""

from tests.support.crawling import wait_until
from tests.support.outages import crawl_of, crawl_through, pages
from webcrawl.lab.simweb import too_early

SIZE = (2000, 3000)


def test_a_host_that_asks_for_time_gets_it(simweb, tmp_path):
    """Hosts that answer 503 or 429 with Retry-After are left alone for that long, and give all their pages later."""
    server = simweb(6, 60, size=SIZE)
    crawl = crawl_of(server, tmp_path, RETRY_AFTER_MAX=2)

    def happenings():
        wait_until(lambda: len(server.log.hits) > 15)
        with (
            server.outages.during("host_503", "site0.test", retry_after=1),
            server.outages.during("host_429", "site1.test", retry_after=1, as_date=True),
        ):
            wait_until(lambda: {hit.outage for hit in server.log.hits} >= {"host_503", "host_429"})

    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost, after.complaints) == (0, set(), [])
    assert too_early(after.hits, maximum=2) == []
    assert len(pages(after.hits)) == 60


def test_a_name_server_that_is_dead_delays_nobody_for_ever(simweb, tmp_path):
    """With one dead name server among several every host is found."""
    server = simweb(6, 60, size=SIZE)
    server.outages.begin("nameserver_silent", "127.0.0.1")

    after = crawl_through(server, crawl_of(server, tmp_path, DNS_TIMEOUT=4))

    assert (after.status, after.lost, after.complaints) == (0, set(), [])
