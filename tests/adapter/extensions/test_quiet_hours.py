"""Times of the day at which nothing is fetched."""

from types import SimpleNamespace

import pytest

from webcrawl.adapter.engine_pause import hold
from webcrawl.adapter.extensions import quiet_hours
from webcrawl.adapter.extensions.quiet_hours import QuietHours, quiet_until
from webcrawl.crawl.checks.table import Hours

NIGHT, NOON = (22 * 60, 6 * 60), (12 * 60, 13 * 60 + 30)


def at(hour, minute=0, day=20_000):
    return day * 86_400.0 + hour * 3600 + minute * 60


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (at(21, 59), None),
        (at(22), 6 * 60),
        (at(0), 6 * 60),
        (at(5, 59), 6 * 60),
        (at(6), None),
        (at(13, 29), NOON[1]),
        (at(13, 30), None),
    ],
)
def test_spans(now, until):
    """From their first minute to the one before their last, over midnight too."""
    assert quiet_until(now, [NIGHT, NOON]) == until


def test_spans_that_overlap():
    """The one that lasts longer counts."""
    assert quiet_until(at(23), [(23 * 60, 1), NIGHT]) == NIGHT[1]


def test_spans_that_follow_each_other():
    """They are one: a night written as what is before midnight and what is after it ends in the morning."""
    assert quiet_until(at(23), [(22 * 60, 0), (0, 6 * 60)]) == quiet_until(at(23), [(0, 6 * 60), (22 * 60, 0)]) == 360


@pytest.mark.parametrize(
    "text", ["22:00", "24:00-06:00", "22:00-22:00", "22-6", "22:00-06:00;", "9:00-10:00", "00:00-12:00,11:00-00:00", 7]
)
def test_what_is_no_span(text):
    """It is refused before the crawl starts."""
    with pytest.raises(ValueError):  # noqa: PT011 - the check names setting and value
        Hours().read(text)


def test_how_they_are_written():
    """Several with commas between; none at all by default."""
    assert Hours().read("22:00-06:00, 12:00-13:30") == [NIGHT, NOON]
    assert Hours().read("") == Hours().read("none") == Hours().read(None) == []


class Crawler:
    """As far as extensions that pause it need it."""

    def __init__(self):
        self.paused = []
        self.engine = SimpleNamespace(pause=lambda: self.paused.append(True), unpause=lambda: self.paused.append(False))
        self.spider = None


def crawl(stopped_by=""):
    """Notes why it is held."""
    said = []
    parts, outlook = SimpleNamespace(hold=said.append), SimpleNamespace(stopped_by=stopped_by)
    return SimpleNamespace(said=said, parts=parts, outlook=outlook)


def test_it_goes_on_afterwards(monkeypatch):
    """The engine is paused once, and goes on once."""
    crawler, now = Crawler(), [at(21)]
    monkeypatch.setattr(quiet_hours, "time", SimpleNamespace(time=lambda: now[0]))
    monkeypatch.setattr(
        "webcrawl.adapter.engine_pause.scheduler_of",
        lambda _: SimpleNamespace(wake=lambda: None, crawl=crawl()),
    )
    extension = QuietHours(crawler, [NIGHT])
    for hour in (21, 22, 23, 24, 29, 30, 31):
        now[0] = at(hour)
        extension.look()

    assert crawler.paused == [True, False]


def test_it_is_said_why_nothing_is_fetched(monkeypatch):
    """In the words of the first who holds the crawl, until nobody does."""
    held_crawl = crawl()
    monkeypatch.setattr(
        "webcrawl.adapter.engine_pause.scheduler_of", lambda _: SimpleNamespace(wake=lambda: None, crawl=held_crawl)
    )
    crawler = Crawler()
    for holder, held in (("disk", True), ("night", True), ("disk", False), ("night", False)):
        hold(crawler, holder, f"the {holder}", held=held)

    assert held_crawl.said == ["the disk", "the disk", "the night", ""]


@pytest.mark.parametrize(
    ("trouble", "line"),
    [("", "fetching resumes"), ("paused", "nothing is fetched (paused)")],
)
def test_it_resumes_only_if_nothing_else_is_in_the_way(monkeypatch, caplog, trouble, line):
    """When the night is over, a crawl that is paused, has no network or a full disk is not said to go on."""
    crawler, now = Crawler(), [at(22)]
    monkeypatch.setattr(quiet_hours, "time", SimpleNamespace(time=lambda: now[0]))
    monkeypatch.setattr(
        "webcrawl.adapter.engine_pause.scheduler_of", lambda _: SimpleNamespace(wake=lambda: None, crawl=crawl(trouble))
    )
    extension = QuietHours(crawler, [NIGHT])
    with caplog.at_level("INFO"):
        extension.look()
        now[0] = at(30)
        extension.look()

    assert caplog.messages[-1] == f"QUIET_HOURS are over: {line}"


def test_from_one_span_into_another(monkeypatch, caplog):
    """A machine that sleeps from the night to noon says until when it is quiet then."""
    crawler, now = Crawler(), [at(23)]
    monkeypatch.setattr(quiet_hours, "time", SimpleNamespace(time=lambda: now[0]))
    monkeypatch.setattr(
        "webcrawl.adapter.engine_pause.scheduler_of",
        lambda _: SimpleNamespace(wake=lambda: None, crawl=crawl()),
    )
    extension = QuietHours(crawler, [NIGHT, NOON])
    with caplog.at_level("INFO"):
        for hour in (23, 24, 36, 38):
            now[0] = at(hour)
            extension.look()

    assert caplog.messages == [
        "QUIET_HOURS: nothing is fetched until 06:00 UTC",
        "QUIET_HOURS: nothing is fetched until 13:30 UTC",
        "QUIET_HOURS are over: fetching resumes",
    ]
    assert crawler.paused == [True, False]


def test_who_else_holds_the_crawl_is_waited_for(monkeypatch):
    """A full disk in a quiet night: fetching resumes when both are over."""
    monkeypatch.setattr(
        "webcrawl.adapter.engine_pause.scheduler_of",
        lambda _: SimpleNamespace(wake=lambda: None, crawl=crawl()),
    )
    crawler = Crawler()
    for holder, held in (("disk", True), ("night", True), ("disk", False), ("night", False)):
        hold(crawler, holder, holder, held=held)
        assert crawler.paused == ([True] if holder == "disk" or held else [True, False])
