"""Our signatures, checked by a library that others have written: http-message-signatures of PyPI."""

import time

import http_message_signatures as library
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from webcrawl.net.identity import key_directory as directory
from webcrawl.net.identity.request_signing import RequestSigner
from webcrawl.net.identity.signing_key import SigningKey

PRIVATE = Ed25519PrivateKey.generate()
KEY = SigningKey(PRIVATE)
AGENT = "https://bot.example.org"


class Message:
    """A request, as the library wants it."""

    def __init__(self, url, fields):
        self.method, self.url, self.headers = "GET", url, fields


class Response:
    """The answer to one."""

    def __init__(self, request, fields):
        self.request, self.status_code, self.headers = request, 200, fields


def verified(message):
    keys = library.MappingKeyResolver(
        public_keys={KEY.keyid: PRIVATE.public_key()}, private_keys={}
    )
    return library.HTTPMessageVerifier(
        signature_algorithm=library.algorithms.ED25519, key_resolver=keys
    ).verify(message)


def request(url, authority, form="dictionary"):
    lines = RequestSigner(KEY, AGENT, form=form).fields(authority).decode().split("\r\n")[:-1]
    return Message(url, dict(line.split(": ", 1) for line in lines))


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://Example.org/a?b", "example.org"),
        ("https://example.org:443/", "example.org"),
        ("http://example.org:8080/", "example.org:8080"),
        ("http://[::1]:444/", "[::1]:444"),
    ],
)
def test_requests(url, authority):
    """A request for a URL is verified with the authority that the Host field has of it."""
    (result,) = verified(request(url, authority))

    assert result.parameters["tag"] == "web-bot-auth"
    assert list(result.covered_components)[:2] == ['"@authority"', '"signature-agent";key="sig1"']


def test_the_older_form():
    """Signature-Agent as a string is verified, too."""
    (result,) = verified(request("http://example.org/", "example.org", "string"))

    assert list(result.covered_components)[:2] == ['"@authority"', '"signature-agent"']


def test_elsewhere():
    """It refuses them at another server."""
    with pytest.raises(library.InvalidSignature):
        verified(request("http://other.test/", "example.org"))


def test_a_directory():
    """The response of a key directory is verified too."""
    fields = directory.headers(
        directory.body([KEY]), [KEY], "bot.example.org", int(time.time()) - 60, 30
    )
    (result,) = verified(Response(Message(f"{AGENT}{directory.PATH}", {}), fields))

    assert result.label == "binding0"
