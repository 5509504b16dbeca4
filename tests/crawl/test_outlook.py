"""How a crawl is going, for those who look."""

import re
import time
from types import SimpleNamespace

import pytest

from webcrawl.crawl.bound import FENCED
from webcrawl.crawl.outlook import Outlook
from webcrawl.crawl.seeding import Absence, AwayServers
from webcrawl.frontier.wait_words import CRAWL_DELAY, Waits

LONG = Waits(host="a.test", seconds=58.0, rule=CRAWL_DELAY)
SAID = "waits 58 s between requests to a.test (Crawl-delay)"


def outlook(*, waits=LONG, in_flight=0, ready=0, paused=False, fenced=False):
    look = SimpleNamespace(waits=lambda _: waits, ready=lambda _: ready, levels=list)
    return Outlook(
        SimpleNamespace(
            frontier=SimpleNamespace(look=look, in_flight=in_flight),
            in_force=SimpleNamespace(paused=paused, held="", is_fenced=lambda: fenced),
            uplink=SimpleNamespace(out=False, trouble=""),
            clock=lambda: 0.0,
            statistics=SimpleNamespace(outcomes={}, times=[]),
        ),
        dict,
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({}, SAID),
        ({"paused": True}, "paused"),
        ({"fenced": True}, FENCED),
        ({"in_flight": 1}, ""),
        ({"ready": 1}, ""),
        ({"waits": Waits()}, ""),
        ({"waits": Waits(host="a.test", seconds=1.0, rule=CRAWL_DELAY)}, ""),
    ],
)
def test_why_nothing_is_fetched(state, said):
    """What stops a crawl, or else the host whose turn is next where all are left alone, for more
    than a moment.
    """
    assert outlook(**state).stands_still == said


@pytest.mark.parametrize(
    ("state", "said"), [({}, SAID), ({"paused": True}, ""), ({"in_flight": 1}, "")]
)
def test_for_whom_a_crawl_waits(state, said):
    """A crawl waits for no host while something stops it, or while a request is under way."""
    assert outlook(**state).glance()["waits"] == said


@pytest.mark.parametrize("state", [{}, {"paused": True}, {"in_flight": 1}])
def test_a_server_that_has_gone_is_named_in_every_state(state):
    """With a server of its URLs away a crawl waits for that, too, whatever else it does."""
    one = outlook(**state)
    one.servers.watch(lambda: Absence("the hive's server", time.time()))

    waits = one.glance()["waits"]
    assert re.match(
        r"waits for the hive's server, which has not answered since \d\d:\d\d:\d\d", waits
    )
    assert (SAID in waits) == (state == {})


@pytest.mark.parametrize(
    ("state", "is_lost"),
    [({"fenced": True}, True), ({}, False), ({"fenced": True, "paused": True}, False)],
)
def test_a_drone_that_has_lost_its_server(state, is_lost):
    """A drone that is cut off says since when its hive's server has been away; a pause by command
    counts more.
    """
    one = outlook(**state)
    one.servers.watch(lambda: Absence("the hive's server", time.time()))

    assert one.has_lost_server == is_lost
    assert one.stands_still.startswith(
        "waits for the hive's server, which has not answered since"
    ) == (not state.get("paused"))


def test_a_drone_whose_lease_is_not_confirmed():
    """A drone that is cut off while its hive's server answers has lost none."""
    assert not outlook(fenced=True).has_lost_server


def test_servers_that_answer_are_not_named():
    """Each is asked anew at every look; a longer absence has its date."""
    absences = [None, Absence("the seed server", 10.0)]
    servers = AwayServers(clock=lambda: 200_000.0)
    servers.watch(lambda: absences[0])

    assert (str(servers), servers.names) == ("", "")
    absences.reverse()
    assert servers.names == "the seed server"
    assert re.search(r"has not answered since 19(69|70)-\d\d-\d\d \d\d:\d\d:10$", str(servers))
