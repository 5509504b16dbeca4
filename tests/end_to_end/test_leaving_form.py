"""Owners who leave a crawl by proof of control: a real crawl, the form, and a real zone."""

import stat

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.owners_form import form, zone
from webcrawl.crawl.control.client import Client
from webcrawl.tools.optout.token import NAME

OUT, OTHER = "site1.test", "site2.test"
FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CONCURRENT_REQUESTS": 8, "CHECKPOINT_INTERVAL": 30}


@pytest.fixture(name="made")
def _made(tmp_path, simweb):
    """A web, and a crawl of it that has begun."""
    server = simweb(4, 4000, latency=0.05)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **FAST}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
    running = crawl.start()
    wait_until(lambda: asked(server) > 5 and (crawl.jobdir / "control.sock").is_socket())
    yield server, crawl, running
    running.kill()


def asked(server):
    return sum(hit.host == OUT for hit in server.log.hits)


def excluded(jobdir):
    return [(one["rule"], one["by"], one["why"], one["holds"]) for one in Client(jobdir).ask("excluded")["excluded"]]


def test_who_proves_control_is_asked_no_more(made):
    """With a token in its zone a site is left alone at once, and after kill -9 in the next run; without it, it is not.

    Tokens given before the form was started again count.
    """
    server, crawl, running = made
    with zone() as published:
        with form(crawl.jobdir, published) as page:
            token = page.token(OUT)
            assert page.check(OUT) == (403, "No proof was found.")
            published.publish(OTHER, page.token(OTHER))
            published.publish(OUT, page.token(OTHER), "v=spf1 -all")
            assert page.check(OUT) == (403, "No proof was found.")
            assert excluded(crawl.jobdir) == []
        with form(crawl.jobdir, published) as page:
            published.publish(OUT, token)
            status, said = page.check(OUT)
            running.kill()
            assert (status, said.startswith(f"{OUT} is left alone, since 20")) == (200, True)
            assert f"{OUT}: leave, proven by TXT _webcrawl-optout.{OUT}: " in page.said()
            assert page.check(OUT)[0] == 503

    before, begun = asked(server), len(server.log.hits)
    again = crawl.start()
    try:
        wait_until(lambda: len(server.log.hits) > begun + 100)
        assert excluded(crawl.jobdir) == [(OUT, "proof of control (TXT)", f"_webcrawl-optout.{OUT}", True)]
        assert asked(server) == before
    finally:
        again.kill()
    assert stat.S_IMODE((crawl.jobdir / NAME).stat().st_mode) == 0o600
    done = command("scrapy", "why", crawl.jobdir, f"http://{OUT}/new")
    assert "by proof of control (TXT)" in done.stdout


def test_the_way_back(made):
    """A later token takes back what a proof has done, and nothing that the operator has ordered."""
    _, crawl, _ = made
    with zone() as published, form(crawl.jobdir, published) as page:
        published.publish(OUT, first := page.token(OUT, "forget"))
        assert page.check(OUT)[0] == 200
        assert Client(crawl.jobdir).ask("excluded", OUT)["excluded"][0]["forget"]
        wait_until(lambda: page.token(OUT).split("-")[2] > first.split("-")[2])  # in a later second
        published.publish(OUT, first, page.token(OUT, "return"))
        assert page.check(OUT) == (200, f"{OUT} may be crawled again.")
        assert excluded(crawl.jobdir) == []

        Client(crawl.jobdir).ask("exclude", OTHER, "--by", "joe")
        published.publish(OTHER, page.token(OTHER, "return"))
        assert page.check(OTHER)[0] == 409
        assert excluded(crawl.jobdir) == [(OTHER, "joe", "", True)]
