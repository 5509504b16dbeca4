"""Downloads that somebody awaits, while nothing is fetched."""

from collections import Counter
from types import SimpleNamespace

import pytest

from webcrawl.base.model import Link
from webcrawl.crawl.inline import LOOK_INTERVAL, InlineDownloads
from webcrawl.crawl.uplink import LONGEST_PAUSE, Uplink
from webcrawl.net.errors import ConnectFailed

NOW = 100.0
LINK = Link("http://a.test/")
CONNECTED = SimpleNamespace(may_await=lambda _: True, awaited=lambda _: None)


def made(uplink=CONNECTED, now=(NOW,), rests=bool):
    """Of a crawl whose hosts are all free."""
    lending = SimpleNamespace(lend=lambda *_: None)
    more = {"uplink": uplink, "rests": rests, "excludes": lambda _: False}
    none = {"log": None, "counters": Counter(), "halfway": None}
    return InlineDownloads(lending, None, lambda: now[0], **none, **more)


@pytest.mark.parametrize(("rests", "decision"), [(True, NOW + LOOK_INTERVAL), (False, None)])
def test_no_host_is_lent_while_the_crawl_rests(rests, decision):
    """Whoever awaits is in line, and looked at again a little later."""
    inline = made(rests=lambda: rests)

    assert inline.lend(LINK, lambda _: None) == decision
    assert inline.may_repeat() is not rests


def test_one_goes_out_as_a_probe_without_a_network():
    """In twenty seconds, and at once after an answer: nothing else may find out that the network is
    back.
    """
    now, detector = (
        [NOW],
        SimpleNamespace(out=True, since=NOW, failures=9, answers=0, answered_at=0.0, stirred=True),
    )
    detector.record_answer = lambda *_: False
    detector.failed = lambda *_: True
    clock = SimpleNamespace(at=lambda ended: ended, wall=lambda at: at)
    frontier = SimpleNamespace(
        outage=SimpleNamespace(pardon=lambda _: 0),
        look=SimpleNamespace(record=lambda _: (0, 0, "")),
    )
    uplink = Uplink(detector, frontier, None, clock, Counter())
    uplink.failed("http://h/", ConnectFailed("refused"), NOW - 1.0, NOW)
    inline = made(uplink, now)

    def goes(after):
        now[0] += after
        return inline.lend(LINK, lambda _: None) is None, inline.may_repeat()

    assert goes(0) == (False, False)
    assert goes(LONGEST_PAUSE) == (True, False)
    assert goes(LONGEST_PAUSE - 1) == (False, False)
    uplink.record_answer(LINK.url, now[0])
    assert goes(0) == (True, False)
    detector.out = False
    assert goes(0) == (True, True)
