"""Direct queries to name servers: record types, aliases, truncation, failures, silence."""

import asyncio
import socket

import pytest

from tests.support.lookups import ask, asking
from tests.support.nameserver import AAAA, CNAME, REFUSED, SERVFAIL, A, NameServer
from webcrawl.net import dns_cares
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answers import DnsAnswer, DnsFailure
from webcrawl.net.dns_cares import Channel, NameServers
from webcrawl.net.errors import DnsFailed


@pytest.fixture(name="channels")
def _channels(monkeypatch):
    """The channels that are made from now on."""
    made = []

    class Noted(Channel):
        def __init__(self, *options):
            super().__init__(*options)
            made.append(self)

    monkeypatch.setattr(dns_cares, "Channel", Noted)
    return made


class TestNameServers:
    def test_ipv6_is_asked_for_only_without_ipv4(self):
        """A name with an A record costs one query, one without it two."""
        server = NameServer()
        server.add("four.test", "192.0.2.4")
        server.add("four.test", "2001:db8::4", kind=AAAA)
        server.add("six.test", "2001:db8::6", 99, AAAA)

        answers = ask(server, "four.test", "six.test")

        assert answers == [DnsAnswer(("192.0.2.4",), 300.0), DnsAnswer(("2001:db8::6",), 99.0)]
        assert [answer.half for answer in answers] == [True, False]
        assert [question[:2] for question in server.questions] == [
            ("four.test", A),
            ("six.test", A),
            ("six.test", AAAA),
        ]

    def test_several_addresses_keep_their_order_and_the_shortest_ttl(self):
        """All addresses share the smallest TTL; of very many the first eight are kept."""
        server = NameServer()
        for number in range(20):
            server.add("many.test", f"192.0.2.{number}", 400 - number)

        assert ask(server, "many.test") == [
            DnsAnswer(tuple(f"192.0.2.{n}" for n in range(8)), 393.0)
        ]

    def test_failures_differ(self):
        """No such name and no address are permanent; a server failure or refusal is not."""
        server = NameServer({"empty.test": []}, {"broken.test": SERVFAIL, "refused.test": REFUSED})

        answers = ask(server, "missing.test", "empty.test", "broken.test", "refused.test")

        assert [answer.failure for answer in answers] == [
            DnsFailure.NO_NAME,
            DnsFailure.NO_ADDRESS,
            DnsFailure.SERVER_FAILED,
            DnsFailure.REFUSED,
        ]
        assert [question[1] for question in server.questions[:3]] == [A, A, AAAA]

    def test_silence_is_a_time_out_after_the_last_try(self):
        """A query without an answer is repeated, then times out."""
        server = NameServer({"quiet.test": []})
        server.silent.add("quiet.test")

        assert ask(server, "quiet.test", timeout=0.1, tries=2) == [
            DnsAnswer(failure=DnsFailure.TIMEOUT)
        ]
        assert len(server.questions) == 2

    def test_a_truncated_answer_is_fetched_by_tcp(self):
        """An answer too large for a datagram is fetched by TCP."""
        server = NameServer()
        server.add("long.test", "192.0.2.1")
        server.truncated.add("long.test")

        assert ask(server, "long.test")[0].addresses == ("192.0.2.1",)
        assert [question[2] for question in server.questions] == ["udp", "tcp"]

    def test_a_chain_of_aliases_is_followed_to_its_addresses(self):
        """The addresses are those of the last name, with the smallest TTL of the chain."""
        server = NameServer(
            {
                "www.test": [
                    ("www.test", CNAME, 100, "cdn.test"),
                    ("cdn.test", CNAME, 50, "edge.test"),
                    ("edge.test", A, 300, "192.0.2.7"),
                    ("other.test", A, 300, "192.0.2.8"),
                ]
            }
        )

        assert ask(server, "www.test") == [DnsAnswer(("192.0.2.7",), 50.0)]

    def test_an_alias_without_its_addresses_is_asked_for(self):
        """A server that does not follow aliases itself is queried for each of them."""
        server = NameServer()
        server.add("www.test", "cdn.test", 70, CNAME)
        server.add("cdn.test", "192.0.2.7")

        assert ask(server, "www.test") == [DnsAnswer(("192.0.2.7",), 70.0)]
        assert [question[0] for question in server.questions] == ["www.test", "cdn.test"]

    def test_rings_and_endless_chains_of_aliases_end(self):
        """Aliases in a loop or an endless chain are a failure after a bounded number of queries."""
        server = NameServer()
        server.add("ring.test", "gnir.test", kind=CNAME)
        server.add("gnir.test", "ring.test", kind=CNAME)
        for number in range(100):
            server.add(f"c{number}.test", f"c{number + 1}.test", kind=CNAME)
        server.zone["self.test"] = [
            ("self.test", CNAME, 9, "b.test"),
            ("b.test", CNAME, 9, "self.test"),
        ]

        answers = ask(server, "ring.test", "c0.test", "self.test")

        assert all(answer.failure for answer in answers)
        assert len(server.questions) <= 2 * 8 + 2

    @pytest.mark.parametrize("reply", [b"", b"\0\0", b"\xff" * 600])
    def test_an_answer_that_is_none_is_not_believed(self, reply):
        """Garbage on the wire is a failure, never an address and never an exception."""
        server = NameServer()
        server.answer = lambda question, transport: question[:2] + reply

        assert ask(server, "a.test", timeout=0.1)[0].failure in (
            DnsFailure.TIMEOUT,
            DnsFailure.BAD_ANSWER,
        )

    def test_an_unreadable_answer_fails_its_own_name_alone(self):
        """Names that are asked for at the same time get their addresses."""
        server = NameServer()
        server.add("odd.test", "192.0.2.1")
        server.add("a.test", "192.0.2.2")
        server.add("b.test", "192.0.2.3")
        honest = server.answer

        def answer(question, transport):
            reply = honest(question, transport)
            return reply[:-3] if b"\3odd" in question else reply

        async def run():
            async with asking(server) as lookup:
                names = ("odd.test", "a.test", "b.test")
                return await asyncio.gather(*map(lookup.ask, names))

        server.answer = answer
        odd, *others = asyncio.run(run())

        assert odd.failure is DnsFailure.BAD_ANSWER
        assert [answer.addresses for answer in others] == [("192.0.2.2",), ("192.0.2.3",)]

    def test_an_answer_from_a_stranger_is_not_believed(self):
        """An answer with another id than the query's is dropped."""
        server = NameServer()
        server.add("a.test", "192.0.2.1")
        honest = server.answer
        server.answer = lambda question, transport: bytes(
            byte ^ 0xFF if place < 2 else byte
            for place, byte in enumerate(honest(question, transport))
        )

        assert ask(server, "a.test", timeout=0.1)[0].failure is DnsFailure.TIMEOUT

    def test_very_many_names(self, monkeypatch, channels):
        """Each of 900 names gets its own address, over several channels, and nothing stays open."""
        monkeypatch.setattr(dns_cares, "QUESTIONS", 409)
        count = 900
        server = NameServer()
        for number in range(count):
            server.add(f"h{number}.test", f"198.18.{number // 250}.{number % 250}")

        async def run():
            async with asking(server, tries=3) as lookup:
                resolver = CachingResolver(lookup, in_flight=100)
                found = await asyncio.gather(
                    *(resolver.resolve(f"h{number}.test") for number in range(count))
                )
                await resolver.close()
                return found

        found = asyncio.run(run())

        assert found == [[f"198.18.{number // 250}.{number % 250}"] for number in range(count)]
        assert [channel.closed for channel in channels] == [True] * len(channels)
        assert len(channels) > 1

    def test_a_hundred_waiters_send_one_question(self):
        """Concurrent callers for a name send one query on the wire too."""
        server = NameServer()
        server.add("a.test", "192.0.2.1")

        async def run():
            async with asking(server) as lookup:
                server.gate = asyncio.Event()
                resolver = CachingResolver(lookup)
                waiters = [asyncio.create_task(resolver.resolve("a.test")) for _ in range(100)]
                await server.requested.wait()
                server.gate.set()
                return await asyncio.gather(*waiters)

        assert asyncio.run(run()) == [["192.0.2.1"]] * 100
        assert len(server.questions) == 1

    def test_closing_ends_what_is_open(self):
        """A query in flight when the lookup closes ends as closed, and so does a later one."""
        server = NameServer({"quiet.test": []})
        server.silent.add("quiet.test")

        async def run():
            async with asking(server) as lookup:
                question = asyncio.create_task(lookup.ask("quiet.test"))
                await server.requested.wait()
                await lookup.close()
                return await question, await lookup.ask("later.test")

        assert asyncio.run(run()) == (
            DnsAnswer(failure=DnsFailure.CLOSED),
            DnsAnswer(failure=DnsFailure.CLOSED),
        )

    def test_a_channel_gives_way_to_a_new_one(self, monkeypatch):
        """After a number of queries c-ares' own unbounded cache is dropped with its channel."""
        monkeypatch.setattr(dns_cares, "QUESTIONS", 2)
        server = NameServer()
        server.add("a.test", "192.0.2.1")

        assert len(ask(server, *["a.test"] * 6)) == 6
        assert len(server.questions) == 3

    def test_a_channel_is_replaced_after_its_time(self, monkeypatch):
        """What c-ares keeps is never older than half a minute, whatever its TTL: name servers may
        have lied.
        """
        monkeypatch.setattr(dns_cares, "LIFE", 0.0)
        server = NameServer()
        server.add("a.test", "10.0.0.1", ttl=86_400)

        assert len(ask(server, "a.test", "a.test")) == 2
        assert len(server.questions) == 2

    def test_an_old_channel_without_a_descriptor_for_a_new_one(self, monkeypatch):
        """It is used for longer: it has a socket."""
        monkeypatch.setattr(dns_cares, "LIFE", 0.0)
        server = NameServer()
        server.add("a.test", "192.0.2.1")
        server.add("b.test", "192.0.2.2")

        async def run():
            async with asking(server) as lookup:
                first = await lookup.ask("a.test")
                monkeypatch.setattr(dns_cares, "missing_socket", lambda: True)
                return first, await lookup.ask("b.test")

        assert [answer.addresses for answer in asyncio.run(run())] == [
            ("192.0.2.1",),
            ("192.0.2.2",),
        ]

    def test_a_check_says_where_a_name_leads(self):
        """Past any cache, to IPv6 too if there is no other address, and why if it leads nowhere."""
        server = NameServer({"empty.test": []})
        server.add("a.test", "192.0.2.1")
        server.add("six.test", "2001:db8::6", 99, AAAA)

        async def run():
            async with asking(server) as lookup:
                return [
                    await lookup.check(name)
                    for name in ("a.test", "six.test", "empty.test", "missing.test")
                ]

        found = asyncio.run(run())

        assert found[:2] == [DnsAnswer(("192.0.2.1",), 300.0), DnsAnswer(("2001:db8::6",), 99.0)]
        assert [answer.failure for answer in found[2:]] == [
            DnsFailure.NO_ADDRESS,
            DnsFailure.NO_NAME,
        ]

    def test_an_old_channel_closes_after_its_last_answer(self, monkeypatch, channels):
        """A replaced channel still delivers its pending answers, then closes."""
        monkeypatch.setattr(dns_cares, "QUESTIONS", 1)
        server = NameServer()
        for name in ("one.test", "two.test"):
            server.add(name, "192.0.2.1")

        async def run():
            async with asking(server) as lookup:
                server.gate = asyncio.Event()
                questions = [
                    asyncio.create_task(lookup.ask(name)) for name in ("one.test", "two.test")
                ]
                await server.requested.wait()
                before = [channel.closed for channel in channels]
                server.gate.set()
                answers = await asyncio.gather(*questions)
                await asyncio.sleep(0)
                return before, [channel.closed for channel in channels], answers

        before, after, answers = asyncio.run(run())

        assert (before, after) == ([False, False], [True, False])
        assert [answer.addresses for answer in answers] == [("192.0.2.1",)] * 2

    def test_closing_ends_what_old_channels_have_open(self, monkeypatch):
        """A channel that waits for its last answers is closed like the others."""
        monkeypatch.setattr(dns_cares, "QUESTIONS", 1)
        server = NameServer()
        server.silent.update(("one.test", "two.test"))

        async def run():
            async with asking(server) as lookup:
                questions = [
                    asyncio.create_task(lookup.ask(name)) for name in ("one.test", "two.test")
                ]
                await server.requested.wait()
                await lookup.close()
                return await asyncio.gather(*questions)

        assert asyncio.run(run()) == [DnsAnswer(failure=DnsFailure.CLOSED)] * 2

    def test_a_server_may_be_given_by_name(self):
        """The system looks up a name server's own name; all its addresses are asked, IPv6 in
        brackets.
        """
        lookup = NameServers([("localhost", 5353), ("127.0.0.2", 53), ("::1", 54)])

        places = repr(lookup).removeprefix("<NameServers ").removesuffix(">").split(", ")
        assert "127.0.0.1:5353" in places
        assert places[-2:] == ["127.0.0.2:53", "[::1]:54"]

    def test_a_server_whose_name_is_not_known_is_one_clear_line(self, monkeypatch):
        """A name server that the system cannot look up is refused at once, with the setting's name."""

        def unknown(*_, **__):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        with pytest.raises(
            DnsFailed, match=r"^DNS_NAMESERVERS = dns\.test:53: Name or service not known$"
        ):
            NameServers([("dns.test", 53)])

    def test_closing_twice_does_nothing(self):
        """Closing again does nothing."""

        async def run():
            async with asking(NameServer()) as lookup:
                await lookup.probe()
                await lookup.close()

        asyncio.run(run())


class TestProbe:
    def test_any_answer_is_a_sign_of_life(self):
        """Any answer, even an error, proves that the server is there."""

        async def run():
            async with asking(NameServer()) as lookup:
                await lookup.probe()

        asyncio.run(run())

    def test_silence_is_one_clear_line(self):
        """A silent server is named in one line."""
        server = NameServer()
        server.silent.add("")

        async def run():
            async with asking(server, timeout=0.1) as lookup:
                with pytest.raises(
                    DnsFailed, match=rf"^no name server answers: 127\.0\.0\.1:{server.port}$"
                ):
                    await CachingResolver(lookup).probe()

        asyncio.run(run())

    def test_a_closed_port_is_one_clear_line(self):
        """A closed port is named in one line."""

        async def run():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
                place.bind(("127.0.0.1", 0))
                port = place.getsockname()[1]
            lookup = NameServers([("127.0.0.1", port)], timeout=0.1, tries=1)
            with pytest.raises(DnsFailed, match=f"no name server answers: 127.0.0.1:{port}"):
                await lookup.probe()
            await lookup.close()

        asyncio.run(run())


class TestSeveralServers:
    def test_a_dead_one_is_asked_last(self):
        """Of two name servers the one that does not answer is asked for the first names only, and
        then now and then.
        """

        async def scenario():
            dead, alive = NameServer(), NameServer()
            for number in range(100):
                dead.silent.add(f"site{number}.test")
                alive.add(f"site{number}.test", "192.0.2.4")
            async with dead.running(), alive.running():
                servers = NameServers(
                    [("127.0.0.1", dead.port), ("127.0.0.1", alive.port)], timeout=0.3
                )
                failures = {
                    (await servers.ask(f"site{number}.test")).failure for number in range(100)
                }
                await servers.close()
            return failures, len(dead.questions)

        failures, requested = asyncio.run(scenario())

        assert failures == {None}
        assert requested < 50

    def test_a_check_goes_past_every_cache(self):
        """Whether a server answers is seen by asking it, although c-ares remembers what it said."""

        async def scenario():
            server = NameServer()
            server.add("site.test", "192.0.2.4")
            async with server.running():
                servers = NameServers([("127.0.0.1", server.port)], timeout=0.3)
                found = [
                    (await servers.ask("site.test")).failure,
                    (await servers.check("site.test")).failure,
                ]
                server.codes["site.test"] = SERVFAIL
                found.append((await servers.check("site.test")).failure)
                await servers.close()
            return found

        assert asyncio.run(scenario()) == [None, None, DnsFailure.SERVER_FAILED]
