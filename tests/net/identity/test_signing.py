"""The fields of requests: what they say, how long they are sent again, what is remembered."""

import http_sf
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net.identity.request_signing import (
    CREATED_BEFORE_NOW,
    REUSE,
    SIGNATURE_LIFETIME,
    RequestSigner,
    form_and_origin,
)
from webcrawl.net.identity.signature_check import check_request
from webcrawl.net.identity.signing_key import SigningKey

KEY = SigningKey(Ed25519PrivateKey.generate())
AGENT = "https://bot.example.org"


class Wall:
    """A machine's clock, which anybody may set."""

    def __init__(self):
        self.now = 1_800_000_000.9

    def __call__(self):
        return self.now


@pytest.fixture
def wall():
    return Wall()


def request(fields, authority="example.org"):
    return b"GET / HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (authority.encode(), fields)


def wrong(fields, now, authority="example.org"):
    return [
        one.text
        for one in check_request(request(fields, authority), {KEY.keyid: KEY.public}, now)
        if one.wrong
    ]


def created(fields):
    members = http_sf.parse(fields.split(b"\r\n")[1].partition(b": ")[2], tltype="dictionary")
    return members["sig1"][1]["created"]


class TestFields:
    def test_what_they_say(self, wall):
        """Three fields, whose label is also the name of the member of Signature-Agent that is
        covered.
        """
        agent, given, signature, end = (
            RequestSigner(KEY, AGENT, now=wall).fields("example.org").decode().split("\r\n")
        )
        at = int(wall.now) - CREATED_BEFORE_NOW
        expires = at + SIGNATURE_LIFETIME

        assert agent == f'Signature-Agent: sig1="{AGENT}"'
        assert given == (
            f'Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created={at};expires={expires};'
            f'keyid="{KEY.keyid}";alg="ed25519";tag="web-bot-auth"'
        )
        assert signature.startswith("Signature: sig1=:")
        assert end == ""

    @pytest.mark.parametrize(
        "authority",
        ["example.org", "example.org:8080", "[::1]:444", "127.0.0.1", "xn--nxasmq6b.test"],
    )
    def test_they_are_right_for_their_authority_alone(self, wall, authority):
        """A server checks them by its own name, and no other server's check passes."""
        fields = RequestSigner(KEY, AGENT, now=wall).fields(authority)

        assert wrong(fields, wall.now, authority) == []
        assert wrong(fields, wall.now, "other.test") == [
            f"sig1: is not a valid signature of this message by key {KEY.keyid}"
        ]

    def test_as_a_string(self, wall):
        """Servers of earlier drafts get Signature-Agent as a string, which is covered as a whole."""
        fields = RequestSigner(KEY, AGENT, form="string", now=wall).fields("example.org")

        assert fields.startswith(b'Signature-Agent: "https://bot.example.org"\r\n')
        assert b'\r\nSignature-Input: sig1=("@authority" "signature-agent");created=' in fields
        assert wrong(fields, wall.now) == []

    @pytest.mark.parametrize(
        ("agent", "found"), [(AGENT, ("dictionary", AGENT)), (f"string:{AGENT}", ("string", AGENT))]
    )
    def test_the_form_stands_before_the_origin(self, agent, found):
        """As BOT_AGENT has it; the dictionary needs no word."""
        assert form_and_origin(agent) == found

    def test_no_nonce(self, wall):
        """Fields that are sent again have no nonce: a nonce sent twice is a replay."""
        assert b"nonce" not in RequestSigner(KEY, AGENT, now=wall).fields("example.org")

    def test_a_server_whose_clock_is_behind(self, wall):
        """A server whose clock is behind by less than CREATED_BEFORE_NOW seconds does not find them to begin in
        the future.
        """
        fields = RequestSigner(KEY, AGENT, now=wall).fields("example.org")

        assert wrong(fields, wall.now - CREATED_BEFORE_NOW + 1) == []
        assert wrong(fields, wall.now - CREATED_BEFORE_NOW - 1) == [
            "sig1: is not valid yet, by this machine's clock"
        ]


class TestTime:
    def test_they_are_sent_again(self, wall):
        """For REUSE seconds an authority gets the same fields; then others."""
        signing = RequestSigner(KEY, AGENT, now=wall)
        first = signing.fields("example.org")
        wall.now += REUSE - 0.1
        again = signing.fields("example.org")
        wall.now += 0.1

        assert again is first
        assert signing.fields("example.org") != first

    def test_whatever_is_sent_holds(self, wall):
        """The last request with the same fields is right for two minutes and a half more."""
        signing = RequestSigner(KEY, AGENT, now=wall)
        signing.fields("example.org")
        wall.now += REUSE - 0.1

        assert wrong(signing.fields("example.org"), wall.now + 150) == []

    @pytest.mark.parametrize("step", [1, 60, 3600, 86_400 * 365])
    def test_the_clock_is_set_back(self, wall, step):
        """What was signed before the clock was set back is not sent any more: servers would find it
        in the future.
        """
        signing = RequestSigner(KEY, AGENT, now=wall)
        signing.fields("example.org")
        wall.now -= step

        assert created(signing.fields("example.org")) == int(wall.now) - CREATED_BEFORE_NOW

    @pytest.mark.parametrize("step", [REUSE, 3600, 86_400 * 365])
    def test_the_clock_is_set_forward(self, wall, step):
        """After a step forward everything is signed anew."""
        signing = RequestSigner(KEY, AGENT, now=wall)
        signing.fields("example.org")
        wall.now += step

        assert created(signing.fields("example.org")) == int(wall.now) - CREATED_BEFORE_NOW

    @given(st.lists(st.tuples(st.floats(-4000, 4000), st.sampled_from("abc")), max_size=30))
    def test_never_expired_nor_from_the_future(self, steps):
        """However the clock is set, what is sent has begun and holds, by that clock."""
        wall = Wall()
        signing = RequestSigner(KEY, AGENT, now=wall, most=2)
        for step, name in steps:
            wall.now += step
            assert wrong(signing.fields(name), wall.now, name) == []


class TestMemory:
    def test_at_most_twice_so_many_authorities_are_remembered(self, wall):
        """Twice `most` authorities are remembered, however many are asked for."""
        signing = RequestSigner(KEY, AGENT, now=wall, most=10)
        for number in range(100):
            signing.fields(f"{number}.test")

        assert len(signing) <= 20

    def test_those_of_late_are_remembered(self, wall):
        """The last `most` authorities are signed once."""
        signing = RequestSigner(KEY, AGENT, now=wall, most=10)
        first = [signing.fields(f"{number}.test") for number in range(25)]

        assert all(signing.fields(f"{number}.test") is first[number] for number in range(15, 25))

    def test_its_text_has_no_secret(self):
        """A traceback or log that shows it shows public names only."""
        assert repr(RequestSigner(KEY, AGENT)) == f"<RequestSigner {KEY.keyid} for {AGENT}>"
