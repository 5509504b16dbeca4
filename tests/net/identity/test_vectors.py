"""The vectors of RFC 9421 and of draft-ietf-webbotauth-httpsig-protocol-00: what is signed, and by
which bytes.
"""

import json

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.identities import RFC_9421, RFC_9421_JWK
from webcrawl.net.identity.key_directory import headers
from webcrawl.net.identity.signature_check import Unreadable, check_request, check_response, keys_of
from webcrawl.net.identity.signing_key import SigningKey

KEYID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
PUBLIC = RFC_9421.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
NOW = 1735689600 + 60

# RFC 9421 B.2 (test-request) and B.2.6
B_2_6 = (
    b"POST /foo?param=Value&Pet=dog HTTP/1.1\r\nHost: example.com\r\nDate: Tue, 20 Apr 2021 02:07:55 GMT\r\n"
    b"Content-Type: application/json\r\n"
    b"Content-Digest: sha-512="
    b":WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
    b'\r\nContent-Length: 18\r\nSignature-Input: sig-b26=("date" "@method" "@path" "@authority" "content-type" '
    b'"content-length");created=1618884473;keyid="test-key-ed25519"\r\n'
    b"Signature: sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
    b'\r\n\r\n{"hello": "world"}'
)
# the draft, E.2.1: its label and its member of Signature-Agent have two names
AGENT2 = (
    b'GET /path/to/resource HTTP/1.1\r\nHost: Example.com\r\nSignature-Agent: agent2="https://signature-agent.test"\r\n'
    b'Signature-Input: sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="%b";alg="ed25519"'
    b';expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA'
    b'==";tag="web-bot-auth"\r\n'
    b"Signature: sig2="
    b":RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:\r\n\r\n"
) % KEYID.encode()
# the draft, E.2.2: the form of earlier drafts
LEGACY = (
    b'GET /path/to/resource HTTP/1.1\r\nHost: example.com\r\nSignature-Agent: "https://signature-agent.test"\r\n'
    b'Signature-Input: sig2=("@authority" "signature-agent");created=1735689600;keyid="%b";alg="ed25519"'
    b';expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg'
    b'==";tag="web-bot-auth"\r\n'
    b"Signature: sig2="
    b":jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:\r\n\r\n"
) % KEYID.encode()
# the draft, E.2.3
DIRECTORY = b'{"keys":[%b]}' % (
    b'{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",'
    b'"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}'
)
RESPONSE = {
    "content-digest": "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:",
    "signature-input": (
        'binding=("@authority";req "content-digest");created=1735689600;expires=4889289600'
        f';keyid="{KEYID}";tag="http-message-signatures-directory"'
    ),
    "signature": (
        "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:"
    ),
}
AGENT = "signature-agent.test"


def wrong(findings):
    return [finding.text for finding in findings if finding.wrong]


class TestChecked:
    def test_a_request_of_the_draft(self):
        """The signature is right; the draft's older label is what today's text does not allow any
        more.
        """
        findings = list(check_request(AGENT2, {KEYID: PUBLIC}, NOW))

        assert wrong(findings) == ["sig2: Signature-Agent has no member with this name"]
        assert findings[-1].text == (
            f"sig2: signed by key {KEYID}, from 2025-01-01T00:00:00.000Z to 2124-12-08T00:00:00.000Z"
        )

    def test_the_form_of_earlier_drafts(self):
        """Signature-Agent as a string is right, too."""
        assert wrong(check_request(LEGACY, {KEYID: PUBLIC}, NOW)) == []

    def test_what_is_not_web_bot_auth(self):
        """A signature for another use is none."""
        with pytest.raises(Unreadable, match="no signature has the tag web-bot-auth"):
            list(check_request(B_2_6, {KEYID: PUBLIC}, NOW))

    def test_a_response_of_the_draft(self):
        """The directory's own signature is right, under its name and with its content alone."""
        keys = {KEYID: PUBLIC}

        assert wrong(check_response(DIRECTORY, RESPONSE, AGENT, keys, NOW)) == []
        assert wrong(check_response(DIRECTORY, RESPONSE, "other.test", keys, NOW)) == [
            f"binding: is not a valid signature of this message by key {KEYID}"
        ]
        assert wrong(check_response(DIRECTORY + b" ", RESPONSE, AGENT, keys, NOW))[0].startswith(
            "Content-Digest does not match"
        )

    def test_the_draft_signs_with_a_test_key(self):
        """A directory with the key that everybody has is no identity."""
        ((public, finding),) = keys_of(DIRECTORY)

        assert public is None
        assert finding.wrong

    def test_ours_signs_the_same(self):
        """Our fields for the draft's directory have its digest, and are right by the same check."""
        fields = headers(DIRECTORY, [SigningKey(RFC_9421)], AGENT, 1735689600, 30)
        lower = {name.lower(): value for name, value in fields.items()}

        assert fields["Content-Digest"] == RESPONSE["content-digest"]
        assert wrong(check_response(DIRECTORY, lower, AGENT, {KEYID: PUBLIC}, NOW)) == []
        assert json.loads(DIRECTORY)["keys"][0]["x"] == RFC_9421_JWK["x"]
