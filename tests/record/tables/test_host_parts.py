"""What the public suffix list says of hosts, for the tables."""

from pathlib import Path

from webcrawl.record.tables.rows import host_parts
from webcrawl.urls.host_names import RegisteredDomains


def test_is_asked_of_the_list_that_the_crawl_has(monkeypatch):
    """The list takes 10 ms to load, and some megabytes: once for a process."""
    RegisteredDomains()("a.example.co.uk")
    host_parts.cache_clear()
    monkeypatch.delattr(Path, "read_text")

    assert host_parts("a.example.co.uk") == ("uk", "example.co.uk", "example.co.uk")
