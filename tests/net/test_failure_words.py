"""What is said of a seed that gives nothing."""

import ssl

import pytest

from webcrawl.net.errors import (
    CertificateRefused,
    ConnectFailed,
    ConnectTimeout,
    DnsFailed,
    EmptyAnswer,
    NotHttp,
    PortRefused,
    TimedOut,
    TlsFailed,
    TlsTimeout,
)
from webcrawl.net.failure_words import guess, in_words
from webcrawl.net.guard import AddressGuard, special_network


def refused(address, port=80):
    """The guard's error."""
    with pytest.raises(Exception, match=r"port \d+: ") as error:
        AddressGuard().check(address, port)
    return error.value


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("127.0.0.1", "127.0.0.0/8"),
        ("10.1.2.3", "10.0.0.0/8"),
        ("192.168.1.1", "192.168.0.0/16"),
        ("::1", "::1/128"),
        ("fd00::1", "fc00::/7"),
        ("64:ff9b::a00:1", "64:ff9b::a00:1/128"),
    ],
)
def test_the_network_that_would_let_it_in(address, network):
    """The guard's refusal names the setting, with a network in which the address is and that the
    guard accepts.
    """
    said = in_words(
        refused(address), f"http://[{address}]/" if ":" in address else f"http://{address}/"
    )

    assert special_network(address) == network
    assert said.startswith(f"{address} is ")
    assert said.endswith(f": -s PRIVATE_NETWORKS_ALLOWED={network} lets the crawl in")
    AddressGuard([network]).check(address, 80)


def test_the_networks_that_are_allowed_stay_allowed():
    """The value that is advised has all that is set: a value on the command line takes the place of
    the one before.

    `PRIVATE_NETWORKS_ALLOWED=::1/128` was advised to an operator whose crawl was of 127.0.0.0/8.
    """
    guard = AddressGuard(["127.0.0.0/8", "10.1.0.0/16"])
    with pytest.raises(Exception, match="loopback") as error:
        guard.check("::1", 80)

    said = in_words(error.value, "http://[::1]/")
    assert said.endswith(
        ": -s PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8,10.1.0.0/16,::1/128 lets the crawl in"
    )


def test_a_name_that_leads_inside():
    """The name is said, and the address that it leads to."""
    assert in_words(refused("10.0.0.1"), "http://intra.test/x").startswith(
        "intra.test resolves to 10.0.0.1, which is private"
    )


@pytest.mark.parametrize(
    ("host", "others", "meant"),
    [
        ("exmaple.com", ["example.com", "other.org"], "example.com"),
        ("example.ogr", [], "example.org"),
        ("example.con", [], "example.com"),
        ("example.com", ["example.com"], ""),
        ("shop.test", [], ""),
        ("nodots", [], ""),
    ],
)
def test_a_guess_at_what_was_meant(host, others, meant):
    """Another seed's name that is nearly the same, or a well-known end in place of one that nobody
    has.
    """
    assert guess(host, others) == meant


def because(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            DnsFailed("h.ogr: no host of that name", permanent=True),
            "h.ogr: no host of that name; did you mean h.org?",
        ),
        (DnsFailed("h.ogr: the name server failed"), "h.ogr: the name server failed"),
        (
            PortRefused("port 25 is not allowed for http"),
            "h.ogr:81: port 25 is not allowed for http; add it to PORTS_ALLOWED",
        ),
        (
            because(ConnectFailed("x"), ConnectionRefusedError()),
            "h.ogr:81: connection refused: no server is listening",
        ),
        (ConnectFailed("no route"), "h.ogr:81: no route"),
        (
            ConnectTimeout("x"),
            "h.ogr:81: the server did not answer in time when the crawl tried to connect",
        ),
        (
            TlsTimeout("x"),
            "h.ogr:81: the server did not complete the TLS handshake in time",
        ),
        (
            TlsFailed("wrong version"),
            "h.ogr:81: the server does not speak TLS (wrong version); did you mean http://?",
        ),
        (
            TlsFailed("[SSL: SSLV3_ALERT_HANDSHAKE_FAILURE]"),
            "h.ogr:81: the server refused the TLS handshake ([SSL: SSL",
        ),
        (
            CertificateRefused("expired"),
            "h.ogr:81: expired; -s DOWNLOAD_VERIFY_CERTIFICATES=0 accepts any certificate",
        ),
        (NotHttp("x"), "h.ogr:81: the server does not speak HTTP"),
        (EmptyAnswer("x"), "h.ogr:81: the server closed the connection without an answer"),
        (
            because(EmptyAnswer("x"), ssl.SSLError(1, "alert")),
            "h.ogr:81: the TLS connection broke off after the handshake (",
        ),
        (TimedOut("x"), "h.ogr:81: no answer in time"),
    ],
)
def test_each_failure_has_its_words(error, words):
    """The line begins with the server, and says what is wrong."""
    assert in_words(error, "http://h.ogr:81/page").startswith(words)
