"""A host that was given up is no damage."""

from collections import Counter

from tests.support.crawling import Crawl
from webcrawl.tools.verify.verify_crawl import verify


def test_a_crawl_that_gave_a_host_up_is_sound(tmp_path, simweb):
    """A crawl in which a host was given up has no damaged place."""
    server = simweb(1, 3)
    (tmp_path / "seeds.txt").write_text("\n".join([*server.world.seeds(), "http://127.0.0.99:8081/"]))
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver})

    assert crawl.run(HOST_MAX_FAILURES=1, HOST_PATIENCE=0, ROBOTSTXT_OBEY=False) == 0
    assert crawl.stats["frontier/hosts given up"] == 1
    assert list(verify(tmp_path / "job", Counter())) == []
