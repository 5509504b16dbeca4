"""The synthetic web over HTTP/2: the answers, times and log of HTTP/1.1."""

import pytest

from tests.support.net_http import Names, client, run
from tests.support.simweb_wire import logged
from webcrawl.lab.simweb.random_content import path
from webcrawl.net.connection_open import NEEDED, OFF, PREFER, Http2Offers
from webcrawl.net.errors import EmptyAnswer, FetchError

NAMES = Names(site0=["127.0.0.1"])


def fetched(server, *paths, way=NEEDED, method="GET", **options):
    """What the crawl's own client gets of site0.test on one connection, if that is kept."""

    async def go():
        async with client(
            NAMES, http2=Http2Offers(way), **{"truncate": 1 << 23, **options}
        ) as http:
            url = f"https://site0.test:{server.world.tls_port}"
            return [await http.fetch(url + path, keep=5.0, method=method) for path in paths]

    return run(go())


@pytest.mark.parametrize(
    ("kind", "way", "protocol"),
    [
        ("https_h2", NEEDED, "h2"),
        ("https_h2", PREFER, "h2"),
        ("https_both", NEEDED, ""),
        ("https_both", PREFER, "h2"),
    ],
)
def test_what_hosts_speak(simweb, kind, way, protocol):
    """One kind speaks only HTTP/2, another one both; each request is in the log once, with its
    client.
    """
    server = simweb(1, 10, mix={kind: 1.0})
    pages = fetched(server, *map(path, range(3)), way=way)

    assert [(page.status, page.protocol) for page in pages] == [(200, protocol)] * 3
    assert [hit.path for hit in logged(server)] == [*map(path, range(3))]
    assert len({hit.client for hit in logged(server)}) == 1
    assert {hit.outcome for hit in logged(server)} == {"sent"}


def test_who_offers_http11_only_is_turned_away(simweb):
    """A host that speaks only HTTP/2 closes the connection."""
    server = simweb(1, 10, mix={"https_h2": 1.0})

    with pytest.raises(EmptyAnswer):
        fetched(server, "/", way=OFF)
    assert logged(server) == []


def test_hosts_of_one_address_differ(simweb):
    """The name in the handshake tells them apart."""
    mix = {"https": 0.2, "https_h2": 0.4, "https_both": 0.4}
    server = simweb(10, 20, mix=mix, addresses=1)
    world, spoken = server.world, {"https": "", "https_h2": "h2", "https_both": "h2"}
    names = Names(**{f"site{host}": ["127.0.0.1"] for host in range(10)})

    async def go():
        async with client(names, http2=Http2Offers(PREFER)) as http:
            return [(await http.fetch(f"{world.origin(host)}/")).protocol for host in range(10)]

    assert run(go()) == [spoken[world.kind("scheme", host)] for host in range(10)]


@pytest.mark.parametrize(
    "target",
    ["/", "/x/big/1", "/x/chunked/1", "/x/no_length/1", "/x/trickle/1", "/x/coding_gzip/1"],
)
def test_the_same_answers(simweb, target):
    """Status, body and types are those of HTTP/1.1, however long the body and whatever its framing."""
    server = simweb(1, 10, mix={"https_both": 1.0}, slow=0.05)
    (plain,), (other,) = (fetched(server, target, way=way) for way in (NEEDED, PREFER))

    assert (plain.protocol, other.protocol) == ("", "h2")
    assert (other.status, other.body, other.content_type) == (
        plain.status,
        plain.body,
        plain.content_type,
    )
    assert other.truncated == plain.truncated == ""
    assert [hit.outcome for hit in logged(server)] == ["sent", "sent"]


def test_head_has_no_body(simweb):
    """And the connection serves the next request."""
    server = simweb(1, 10, mix={"https_h2": 1.0})
    heads = fetched(server, "/", path(1), method="HEAD")

    assert [(head.status, head.body) for head in heads] == [(200, b"")] * 2
    assert len({hit.client for hit in logged(server)}) == 1


BROKEN = (
    *(
        "short",
        "closed",
        "chunk_size",
        "chunk_missing",
        "lengths",
        "no_head",
        "noise",
        "header_flood",
        "header_long",
    ),
    *(
        "early_hints",
        "switching",
        "surplus",
        "nul",
        "reset",
        "reset_midway",
        "answer_unasked",
        "status_letters",
    ),
    *(
        "endless_head",
        "endless_line",
        "endless_interim",
        "endless_empty",
        "endless_extension",
        "endless_trailer",
    ),
)


@pytest.mark.parametrize("kind", BROKEN)
def test_what_http2_has_no_form_for_breaks_off(simweb, kind):
    """At once: no client has to end it by its patience."""
    server = simweb(1, 10, mix={"https_h2": 1.0})
    try:
        (got,) = fetched(server, f"/x/{kind}/1", timeout=30.0, truncate=1 << 16)
    except FetchError as error:
        ended = error.name
    else:
        ended = got.truncated

    (hit,) = logged(server)
    assert hit.outcome in ("sent", "left", "reset")
    assert ended not in ("time", "timeout")
