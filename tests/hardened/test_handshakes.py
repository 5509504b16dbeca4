"""A server that ends a connection before the TLS handshake has failed, and nothing else has."""

# Seen on 2026-11-21, before this was fixed: "AttributeError: 'NoneType' object has no attribute
# 'cipher'", with its traceback in errors.log, for most of 40 hosts; ERROR_BREAKER stopped the
# crawl, with status 1.

from tests.support.crawling import Crawl
from tests.support.doors import doors


def test_servers_that_hang_up_before_the_handshake_are_no_unexpected_errors(tmp_path):
    """However many https servers close what they have just accepted, each URL ends with its
    outcome, and no error.
    """
    with doors([8443]) as found:
        names = [f"name{number}.test" for number in range(40)]
        (tmp_path / "hosts").write_text("".join(f"{found.address} {name}\n" for name in names))
        (tmp_path / "seeds.txt").write_text("".join(f"https://{name}:8443/\n" for name in names))
        patience = {"HOST_MAX_FAILURES": 1, "HOST_PATIENCE": 0}
        settings = {"HOSTS_FILE": tmp_path / "hosts", "ROBOTSTXT_OBEY": False, **patience}
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
        status = crawl.run()

    assert found.visits[8443] >= 40
    assert (status, crawl.stats["reason"], crawl.stats["errors"]) == (1, "finished", 0)
    assert not (tmp_path / "job/logs/errors.log").exists()
