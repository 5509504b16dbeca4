"""Outages of the synthetic web: each breaks what it is for, only while it lasts."""

import socket
import threading
import time
from contextlib import closing
from email.utils import parsedate_to_datetime

import pycares
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.simweb_wire import connect, drain, get, logged, request
from webcrawl.lab.simweb import World, running, too_early, wait_until_idle
from webcrawl.lab.simweb.name_server import OUTSIDE
from webcrawl.lab.simweb.outages import OutageSchedule

ALL = [
    *(
        f"{what}_{how}"
        for what in ("host", "robots", "pages")
        for how in ("503", "429", "hang", "reset")
    ),
    *(f"dns_{how}" for how in ("silent", "servfail", "nxdomain", "refused")),
    *(
        "nameserver_silent",
        "nameserver_servfail",
        "nameserver_refused",
        "address_refused",
        "address_lost",
    ),
    *("uplink_refused", "uplink_lost", "uplink_hang"),
]


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self):
        return self.now


def reached(server, address="127.0.0.1", *, seconds=0.3):
    """What happens to a request there."""
    try:
        with closing(
            socket.create_connection((address, server.world.port), timeout=seconds)
        ) as client:
            client.sendall(request(server, "/", "Connection: close"))
            got, reset = drain(client)
    except ConnectionRefusedError:
        return "refused"
    except TimeoutError:
        return "time-out"
    return "reset" if reset else got[9:12].decode()


def requested(servers, name="site0.test", kind=pycares.QUERY_TYPE_A):
    """The addresses that c-ares gets, or its error's name."""
    channel = pycares.Channel(servers=servers.split(","), timeout=0.3, tries=2)
    done, got = threading.Event(), []
    channel.query(name, kind, callback=lambda *result: (got.append(result), done.set()))
    assert done.wait(120)
    channel.close()
    ((result, error),) = got
    return (
        pycares.errno.errorcode[error]
        if error is not None
        else [record.data.addr for record in result.answer]
    )


class TestBoard:
    @pytest.mark.parametrize("kind", ALL)
    def test_an_outage_lasts_from_its_beginning_to_its_end(self, kind):
        """It is under way from the moment it begins until before the one it ends."""
        clock = Clock()
        schedule = OutageSchedule(clock)
        outage = schedule.begin(kind, after=5, seconds=2)

        times = {}
        for clock.now in (104.9, 105.0, 106.9, 107.0):
            times[clock.now] = schedule.active()

        assert times == {104.9: [], 105.0: [outage], 106.9: [outage], 107.0: []}

    def test_the_next_change_is_the_next_beginning_or_end(self):
        """The schedule tells when to look again: at the next beginning or end of any outage."""
        clock = Clock()
        schedule = OutageSchedule(clock)
        schedule.begin("address_lost", after=5, seconds=2)
        schedule.begin("uplink_lost", after=6)

        waits = []
        for clock.now in (100.0, 105.0, 106.0, 107.0):
            waits.append(schedule.next_change())

        assert waits == [5.0, 1.0, 1.0, float("inf")]

    def test_the_later_one_wins(self):
        """Of two outages that concern the same request the one that was named last decides."""
        schedule = OutageSchedule(Clock())
        schedule.begin("host_503")
        schedule.begin("host_429", "site1.test")

        kinds = [schedule.of_request(f"site{host}.test", "127.0.0.1", "/")[1] for host in (0, 1)]

        assert kinds == ["host_503", "host_429"]

    def test_a_plan_counts_from_the_start(self):
        """A plan's seconds count from the start of the server, and its words mean what the
        arguments of begin do.
        """
        clock = Clock()
        schedule = OutageSchedule(clock)
        outage = schedule.plan("10-12.5 robots_503 site1.test *.site2.test retry_date=7")
        forever = schedule.plan("3- uplink_lost")
        clock.now = 150.0
        schedule.restart()

        assert (outage.kind, outage.started, outage.ended) == ("robots_503", 160.0, 162.5)
        assert (outage.targets, outage.retry_after, outage.as_date) == (
            ("site1.test", "*.site2.test"),
            7.0,
            True,
        )
        assert (forever.started, forever.ended, forever.targets) == (153.0, float("inf"), ("*",))

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "",
                "host_503",
                "5 host_503",
                "5-2 host_503",
                "5-6",
                "5-6 host_50",
                "5-6 what",
                "-1-5 host_503",
            ),
            *("5-6 uplink_lost site1.test", "5-6 dns_silent retry_after=3", "5-5 host_503"),
        ],
    )
    def test_an_impossible_plan_is_refused(self, text):
        """A plan that means nothing is a ValueError."""
        with pytest.raises(ValueError, match=r"\S"):
            OutageSchedule().plan(text)

    def test_who_hits_nobody_is_told(self, simweb):
        """A target that does not exist is a ValueError, not an outage of nobody.

        A pattern may match nothing yet.
        """
        server = simweb(3, 30, zoo=["zoo_subdomains"])
        for kind, target in (
            *(
                ("host_503", "site3.test"),
                ("host_503", f"site0.test:{server.world.port}"),
                ("dns_silent", "127.0.0.1"),
            ),
            *(("address_lost", "127.0.0.9"), ("nameserver_silent", "site0.test")),
        ):
            with pytest.raises(ValueError, match=target):
                server.outages.begin(kind, target)
        for target in ("site2.test", "a.b.trap0.test", "*.site9.test"):
            server.outages.begin("host_503", target)

        assert len(server.outages.all) == 3

    @given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50)), max_size=8), st.floats(0, 120))
    def test_the_end_of_all_ends_all(self, spans, moment):
        """After `end` no outage is under way or will be, whenever it had been due."""
        clock = Clock()
        schedule = OutageSchedule(clock)
        for after, seconds in spans:
            schedule.begin("host_503", after=after, seconds=seconds)
        clock.now += moment
        schedule.end()

        assert schedule.active() == []
        assert schedule.next_change() == float("inf")


class TestAnswers:
    def test_a_host_is_overloaded_for_a_time(self, simweb):
        """The host answers everything with 503 and Retry-After, the others as ever; the log names
        the outage.
        """
        server = simweb(3, 30)
        with server.outages.during("host_503", "site0.test", retry_after=7):
            status, headers, _ = get(server)
            robots = get(server, "/robots.txt")[0]
            other = get(server, Host="site1.test")[0]
        after = get(server)[0]

        assert (status, headers["Retry-After"], robots, other, after) == (503, "7", 503, 200, 200)
        assert [(hit.outage, hit.retry_after) for hit in logged(server)] == [
            ("host_503", 7)
        ] * 2 + [("", 0)] * 2

    def test_without_retry_after(self, simweb):
        """Without a number of seconds there is no Retry-After."""
        server = simweb(1, 10)
        with server.outages.during("host_429"):
            status, headers, _ = get(server)

        assert (status, "Retry-After" in headers) == (429, False)

    def test_retry_after_as_a_date(self, simweb):
        """The date is never earlier than the seconds in the log after the answer."""
        server = simweb(1, 10)
        with server.outages.during("host_429", retry_after=100, as_date=True):
            _, headers, _ = get(server)

        (hit,) = logged(server)
        assert hit.retry_after == 100
        assert 0 <= parsedate_to_datetime(headers["Retry-After"]).timestamp() - hit.wall - 100 < 60

    @pytest.mark.parametrize(
        ("kind", "robots", "page"), [("robots_503", 503, 200), ("pages_503", 200, 503)]
    )
    def test_robots_txt_or_the_rest(self, simweb, kind, robots, page):
        """Some outages hit only robots.txt, some only the pages."""
        server = simweb(1, 10)
        with server.outages.during(kind):
            assert (get(server, "/robots.txt")[0], get(server)[0]) == (robots, page)

    @pytest.mark.parametrize(
        ("kind", "outcome"), [("host_hang", "time-out"), ("host_reset", "reset")]
    )
    def test_no_answer(self, simweb, kind, outcome):
        """A host accepts requests and never answers, or resets the connection; the log has them."""
        server = simweb(1, 10)
        with server.outages.during(kind):
            assert reached(server) == outcome
        assert reached(server) == "200"

        assert [hit.outage for hit in logged(server)] == [kind, ""]


class TestAddresses:
    @pytest.mark.parametrize(
        ("kind", "outcome"), [("address_refused", "refused"), ("address_lost", "time-out")]
    )
    def test_an_address_is_out_of_reach_for_a_time(self, simweb, kind, outcome):
        """Nothing listens there, or nothing comes back; other addresses answer, and afterwards this
        one does too.
        """
        server = simweb(4, 40)
        for _ in range(2):
            with server.outages.during(kind, "127.0.0.1"):
                assert (reached(server), reached(server, "127.0.0.2")) == (outcome, "200")
            assert reached(server) == "200"

    def test_a_host_is_out_of_reach_with_its_neighbours(self, simweb):
        """A host's name stands for its address, and so for the other hosts there."""
        server = simweb(8, 40)
        with server.outages.during("address_refused", "site6.test"):
            states = [reached(server, server.world.address(host)) for host in range(4)]

        assert states == ["200", "200", "refused", "200"]

    def test_open_connections_are_reset(self, simweb):
        """Where nothing listens any more, open connections are reset, and so is what was under way."""
        server = simweb(1, 10, slow=0.1)
        with connect(server) as idle, connect(server) as busy:
            idle.sendall(request(server, "/"))
            idle.recv(100)
            busy.sendall(request(server, "/x/hang/1"))
            while not server.busy:
                time.sleep(0.002)
            with server.outages.during("address_refused"):
                assert [drain(idle)[1], drain(busy)[1]] == [True, True]

        assert [(hit.outcome, hit.outage) for hit in logged(server)] == [
            ("sent", ""),
            ("reset", "address_refused"),
        ]

    def test_nothing_comes_on_open_connections(self, simweb):
        """Where everything is lost, requests on open connections and those under way are never
        answered.
        """
        server = simweb(1, 10, latency=0.2)
        with connect(server) as idle, connect(server) as busy:
            busy.sendall(request(server, "/"))
            while not server.busy:
                time.sleep(0.002)
            with server.outages.during("address_lost"):
                idle.sendall(request(server, "/"))
                for client in (idle, busy):
                    client.settimeout(0.3)
                    with pytest.raises(TimeoutError):
                        client.recv(1)

        wait_until_idle(server)
        assert [(hit.outcome, hit.outage) for hit in server.log.hits] == [
            ("left", "address_lost")
        ] * 2

    def test_a_plan_is_carried_out_by_itself(self):
        """A planned outage begins and ends without anybody's help."""
        world = World(1, 10, port=0, addresses=1)
        with running(world, outages=["0-0.4 address_refused"]) as server:
            first = reached(server)
            while server.outages.active():
                time.sleep(0.01)
            for _ in range(500):  # the door opens a moment later
                if (last := reached(server)) != "refused":
                    break
                time.sleep(0.01)

        assert (first, last) == ("refused", "200")

    def test_the_uplink_is_gone(self, simweb):
        """Every address is lost and every name server silent, all at once; then everything is back."""
        server = simweb(4, 40)
        addresses = [server.world.address(host) for host in range(4)]
        with server.outages.during("uplink_lost"):
            states = {reached(server, address, seconds=0.1) for address in addresses}
            answer = requested(server.nameservers)

        assert (states, answer) == ({"time-out"}, "ARES_ETIMEOUT")
        assert {reached(server, address) for address in addresses} == {"200"}
        assert requested(server.nameservers) == ["127.0.0.1"]

    def test_hosts_of_both_worlds(self, simweb):
        """A host of the kind dns_dual has an IPv4 address and an IPv6 address, each of which can
        fail alone.
        """
        server = simweb(1, 10, mix={"dns_dual": 1.0})
        answers = [
            requested(server.nameserver, kind=kind)
            for kind in (pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_AAAA)
        ]
        with server.outages.during("address_refused", "::1"):
            states = [reached(server), reached(server, "::1")]

        assert answers == [["127.0.0.1"], ["::1"]]
        assert states == ["200", "refused"]
        assert reached(server, "::1") == "200"

    def test_ipv6_fails_and_ipv4_does_not(self, simweb):
        """Hosts with only an IPv6 address are at [::1], which can be out of reach alone."""
        server = simweb(4, 40, mix={"dns_ipv6": 0.5})
        world = server.world
        found = {world.address(host) for host in range(4)}
        name = next(world.name(host) for host in range(4) if world.address(host) == "::1")
        with server.outages.during("address_refused", "::1"):
            states = [reached(server, "::1"), reached(server)]

        assert "::1" in found
        assert len(found) > 1
        assert requested(server.nameserver, name, pycares.QUERY_TYPE_AAAA) == ["::1"]
        assert requested(server.nameserver, name) in ([], "ARES_ENODATA")
        assert states == ["refused", "200"]
        assert reached(server, "::1") == "200"


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "answer"),
        [
            ("dns_servfail", "ARES_ESERVFAIL"),
            ("dns_nxdomain", "ARES_ENOTFOUND"),
            ("dns_refused", "ARES_EREFUSED"),
            ("dns_silent", "ARES_ETIMEOUT"),
        ],
    )
    def test_a_name_fails_for_a_time(self, simweb, kind, answer):
        """One name fails, the others do not; afterwards it is there again."""
        server = simweb(3, 30)
        with server.outages.during(kind, "site0.test"):
            during = requested(server.nameservers), requested(server.nameservers, "site1.test")

        assert during == (answer, ["127.0.0.2"])
        assert requested(server.nameservers) == ["127.0.0.1"]

    def test_a_name_leads_inside_for_a_time(self, simweb):
        """It has the address that no crawl may reach; afterwards its own."""
        server = simweb(3, 30)
        with server.outages.during("dns_outside", "site0.test"):
            during = requested(server.nameservers)

        assert (during, requested(server.nameservers)) == ([OUTSIDE], ["127.0.0.1"])

    @pytest.mark.parametrize(
        "kind", ["nameserver_silent", "nameserver_servfail", "nameserver_refused"]
    )
    def test_one_name_server_of_several_is_dead(self, simweb, kind):
        """One name server fails alone: whoever knows the others gets answers.

        Afterwards it answers again.
        """
        server = simweb(1, 1)
        with server.outages.during(kind, "127.0.0.1"):
            alone, together = requested(server.nameserver), requested(server.nameservers)

        assert alone in ("ARES_ETIMEOUT", "ARES_ESERVFAIL", "ARES_ECONNREFUSED")
        assert together == ["127.0.0.1"]
        assert requested(server.nameserver) == ["127.0.0.1"]

    def test_questions_are_heard(self, simweb):
        """The name server knows when each question came, and at which address, in an outage too."""
        server = simweb(1, 1)
        with server.outages.during("dns_servfail") as outage:
            requested(server.nameserver)

        (moment, question), *_ = server.names.recent_questions
        assert outage.started <= moment < outage.ended
        assert (question.name, question.server) == ("site0.test", "127.0.0.1")


class TestTooEarly:
    def test_who_comes_earlier_than_asked_is_found(self, simweb):
        """A request before the time that Retry-After asked for is found, whatever came between."""
        server = simweb(2, 20)
        with server.outages.during("host_503", "site0.test", retry_after=60):
            get(server)
        get(server, "/robots.txt")
        get(server)
        get(server, Host="site1.test")

        found = too_early(logged(server))

        assert [(gap.first.status, gap.second.path) for gap in found] == [
            (503, "/robots.txt"),
            (503, "/"),
        ]
        assert [gap.wanted for gap in found] == pytest.approx([60, 60])
        assert too_early(logged(server), maximum=0.0) == []
