"""What is said of a host that is dropped by command is what becomes of its URLs."""

from tests.support.steered import steered


def ended(crawl, host):
    """How many URLs of a host have a line in crawl.log."""
    return sum(f"//{host}/" in url for _, url in crawl.log())


def test_its_queue_ends_at_once(tmp_path):
    """The URLs in the queue of a host that is being crawled are counted, and end now."""
    with steered(tmp_path) as crawl:
        crawl.add("a.org", 5)
        crawl.run(0.5)
        said = crawl.order("host a.org drop")
        crawl.run(0)

        assert "4 URLs" in said
        assert "end now" in said
        assert ended(crawl, "a.org") == 5
