"""The words for statuses, counters and filters: what the numbers and names of logs mean."""

from __future__ import annotations

from http import HTTPStatus

STATUSES = {
    -1: "no address (DNS)",
    -2: "no connection (TCP, TLS)",
    -3: "connection lost, or no valid answer",
    -4: "no answer in time",
    -5: "unexpected error",
    -7: "cannot be requested",
    -61: "robots.txt unreachable",
    -5000: "out of scope",
    -5001: "excluded, or an address that is forbidden",
    -5002: "dropped with its host by command",
    -5003: "host's page budget used up",
    -5004: "host given up",
    -5005: "the spider no longer has the method that the request names",
    -5006: "refused by a class of FEATURES",
    -9998: "forbidden by robots.txt",
}

CUTS = {
    "truncated/length": "longer than DOWNLOAD_TRUNCATE",
    "truncated/time": "not complete in time",
    "truncated/disconnect": "connection ended early",
    "truncated/unspecified": "unreadable from some point on",
}

# By counter, once per attempt; docs/hostile.md has all of them.
WRONG = {
    "Names (DNS)": {"outcome/dns": "the host's name has no address"},
    "Connections (TCP)": {
        "outcome/connect": "refused, or no route",
        "outcome/connect_timeout": "no connection in time",
        "outcome/lost": "lost within the answer's head",
        "outcome/empty_answer": "closed before the first byte",
        "outcome/timeout": "no answer in time",
    },
    "Encryption (TLS)": {
        "outcome/tls": "handshake failed",
        "outcome/tls_timeout": "handshake stalled",
        "outcome/certificate": "certificate not accepted",
        "flaw/certificate_date": "certificate expired, or not valid yet; read all the same",
        "flaw/certificate_name": "another host's certificate; read all the same",
        "flaw/certificate_self_issued": "certificate issued by itself; read all the same",
        "flaw/certificate_unreadable": "certificate that cannot be parsed; read all the same",
    },
    "Answers": {
        "outcome/bad_answer": "not an answer of its protocol",
        "outcome/not_http": "no status line",
        "outcome/bad_head": "a head that cannot be parsed",
        "outcome/head_too_long": "a head that is too long",
        "outcome/too_many_interim": "too many answers of status 1xx",
        "outcome/upgraded": "another protocol than asked for",
        "outcome/not_ftp": "not an FTP reply",
        "outcome/reply_too_long": "an FTP reply that is too long",
        "outcome/too_large": "larger than allowed",
        "outcome/cancelled": "larger than allowed",
        "flaw/chunking": "broken chunks; read as far as possible",
        "flaw/coding": "broken or mislabelled compression; read as far as possible",
        "flaw/unknown_coding": "a compression that was not asked for",
        "flaw/rendered_early": "a page in a browser that was still loading",
        "flaw/rendered_empty": "a page in a browser whose document has no text",
        "flaw/unrendered": "a page that the browser gave no document of",
    },
    "Bodies cut": CUTS,
    "Refused by us": {
        "outcome/bad_url": "a URL that cannot be sent",
        "outcome/bad_option": "a request for something that there is not",
        "outcome/address_refused": "an address that the guard forbids",
        "outcome/port_refused": "a port of another service",
        "outcome/tunnel_refused": "forbidden by the proxy",
    },
    "Our own lacks, charged to no host": {
        "outcome/untried": "not tried",
        "outcome/no_socket": "no descriptor, port or memory for a socket",
        "outcome/no_name_server": "no name server answered",
        "outcome/no_family": "only addresses of a family that does not work here",
        "outcome/no_network": "our network was out",
        "outcome/proxy": "the proxy failed",
    },
    "Bugs": {"outcome/unexpected": "unexpected errors: see logs/errors.log"},
}
KINDS = ("outcome/", "flaw/", "truncated/")


def status(code: int) -> str:
    """The meaning of a status."""
    if code in STATUSES:
        return STATUSES[code]
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "not a registered status"
