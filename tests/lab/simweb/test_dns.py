"""The synthetic web's name server, queried by c-ares and by hand."""

import socket
import struct
import threading

import pycares
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.mix import even
from webcrawl.lab.simweb.name_server import (
    DEAD,
    OUTSIDE,
    DnsReply,
    NameServer,
    Question,
    parse_query,
    reply,
)

A, AAAA, CNAME = pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_AAAA, pycares.QUERY_TYPE_CNAME


def ask(server, name, kind=A):
    """The answer of c-ares: the records as (type, value), or the error's name."""
    channel = pycares.Channel(servers=[server.nameserver], timeout=0.3, tries=2)
    done, got = threading.Event(), []
    channel.query(
        name, kind, callback=lambda result, error: (got.append((result, error)), done.set())
    )
    assert done.wait(120)
    channel.close()
    result, error = got[0]
    if error is not None:
        return pycares.errno.errorcode[error]
    return [
        (record.type, getattr(record.data, "addr", None) or record.data.cname)
        for record in result.answer
    ]


def query(name=b"\x05site0\x04test\x00", kind=A, number=7):
    return struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + name + struct.pack(">HH", kind, 1)


def test_names_have_the_address_of_their_host(simweb):
    """Each host's name resolves to its address in upper and lower case; other names do not exist."""
    server = simweb(10, 10)

    assert ask(server, "SITE3.Test") == [(A, server.world.address(3))]
    assert ask(server, "site3.test", AAAA) in ([], "ARES_ENODATA")
    assert ask(server, "site10.test") == "ARES_ENOTFOUND"


EXPECTED = {
    "dns_nxdomain": "ARES_ENOTFOUND",
    "dns_servfail": "ARES_ESERVFAIL",
    "dns_refused": "ARES_EREFUSED",
    "dns_silent": "ARES_ETIMEOUT",
    "dns_truncated": [(A, "127.0.0.1")],
    "dns_short": [(A, "127.0.0.1")],
    "dns_many": [(A, f"127.0.0.{n}") for n in range(1, 5)],
    "dns_first_dead": [(A, DEAD), (A, "127.0.0.1")],
    "dns_dead": [(A, DEAD)],
    "dns_outside": [(A, OUTSIDE)],
    "dns_mixed": [(A, OUTSIDE), (A, "127.0.0.1")],
    "dns_aaaa": [(A, "127.0.0.1")],
    "dns_cname": [(CNAME, "a.via.site0.test"), (CNAME, "b.via.site0.test"), (A, "127.0.0.1")],
    "dns_cname_loop": [(CNAME, "a.via.site0.test"), (CNAME, "site0.test")],
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_kinds_of_names(simweb, kind):
    """A name of each kind is answered in the way of its kind."""
    assert ask(simweb(1, 1, mix={kind: 1.0}), "site0.test") == EXPECTED[kind]


def test_an_answer_too_long_for_udp_comes_by_tcp(simweb):
    """A truncated answer makes the resolver retry over TCP; both questions are counted."""
    server = simweb(1, 1, mix={"dns_truncated": 1.0})

    ask(server, "site0.test")

    assert server.names.question_counts == {
        ("site0.test", A, "udp"): 1,
        ("site0.test", A, "tcp"): 1,
    }


def test_a_server_that_recovers():
    """The first question of a kind fails, the next one is answered."""
    world = World(1, 1, mix={"dns_recovers": 1.0})

    answers = [reply(world, Question("site0.test", A, attempt=attempt)) for attempt in (1, 2)]

    assert [(answer.rcode, len(answer.records)) for answer in answers] == [(2, 0), (0, 1)]


def test_an_ipv6_form_of_the_address():
    """The AAAA record of a host is its mapped IPv4 address."""
    world = World(1, 1, mix={"dns_aaaa": 1.0})

    assert [record.data for record in reply(world, Question("site0.test", AAAA)).records] == [
        "::ffff:127.0.0.1"
    ]


def test_two_questions_in_one_segment_are_both_answered(simweb):
    """Over TCP several questions may arrive together or in pieces."""
    server = simweb(1, 1)
    host, _, port = server.nameserver.partition(":")
    data = b"".join(struct.pack(">H", len(one)) + one for one in (query(number=1), query(number=2)))

    with socket.create_connection((host, int(port)), timeout=120) as client:
        client.sendall(data[:20])
        client.sendall(data[20:])
        got = b""
        while len(got) < 2 * (2 + 54):
            got += client.recv(1000)

    assert struct.unpack_from(">HH", got) == (54, 1)
    assert struct.unpack_from(">HH", got, 56) == (54, 2)


@given(st.binary(max_size=60), st.booleans())
def test_no_message_upsets_the_server(data, framed):
    """Any bytes are either a question, which is answered, or ignored."""
    server = NameServer(lambda _: DnsReply())
    message = query()[:12] + data if framed else data

    response = server.respond(message, tcp=False)

    assert (response is None) == (parse_query(message, tcp=False) is None)


@given(st.lists(st.from_regex(rb"[a-z0-9-]{1,63}", fullmatch=True), min_size=1, max_size=3))
def test_the_question_comes_back_as_it_was(labels):
    """An answer repeats the question letter by letter, which resolvers check against forgeries."""
    name = b"".join(bytes([len(label)]) + label.upper() for label in labels) + b"\0"
    server = NameServer(lambda _: DnsReply())

    response = server.respond(query(name), tcp=False)

    assert response is not None
    assert response[12:].startswith(name)
    assert [*server.question_counts] == [(b".".join(labels).decode(), A, "udp")]


def test_every_kind_can_be_packed():
    """Every answer of every kind can be packed, for UDP and for TCP."""
    from webcrawl.lab.simweb.mix import GROUPS

    for kind in GROUPS["dns"]:
        world = World(3, 3, mix=even([kind]))
        server = NameServer(lambda question, world=world: reply(world, question))
        for tcp in (False, True):
            assert kind == "dns_silent" or server.respond(query(kind=AAAA), tcp=tcp)
