"""Which pages were fetched just now."""

from webcrawl.crawl.revisit import announced as module
from webcrawl.crawl.revisit.announced import Recent

NOW = 1.8e9


def test_a_page_is_known_for_its_rest():
    """At least for the span, whatever else is fetched; at most for two."""
    recent = Recent(60.0)
    for second in range(300):
        recent.note(f"http://h/{second}", NOW + second)
        if second >= 59:
            assert recent.of(f"http://h/{second - 59}") == NOW + second - 59
    assert recent.of("http://h/100") == recent.of("http://h/never") == 0.0


def test_many_pages_fill_no_memory(monkeypatch):
    """However many pages are fetched."""
    monkeypatch.setattr(module, "MOST", 100)
    recent = Recent(60.0)
    for number in range(10_000):
        recent.note(f"http://h/{number}", NOW)
        assert len(recent._young) + len(recent._old) <= 200
    assert recent.of("http://h/9999") == NOW


def test_a_clock_that_is_set_back():
    """It goes on with the times as they are now."""
    recent = Recent(60.0)
    recent.note("http://h/1", NOW)
    recent.note("http://h/1", NOW - 1000)
    assert recent.of("http://h/1") == NOW - 1000
