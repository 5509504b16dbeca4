"""What is found wrong with a key directory and with a request."""

import json
import time
from unittest.mock import Mock

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tests.support.faults import BreakingDisk
from tests.support.identities import RFC_9421_JWK, jwk_of, serving
from webcrawl.net.identity import key_directory as directory
from webcrawl.net.identity.key_directory import NotPublished
from webcrawl.net.identity.request_signing import RequestSigner
from webcrawl.net.identity.signature_check import (
    Unreadable,
    check_fields,
    check_request,
    check_response,
    keys_of,
    look,
)
from webcrawl.net.identity.signing_key import SigningKey

KEYS = [
    SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))) for number in range(2)
]
FIRST, SECOND = (key.keyid for key in KEYS)
PUBLIC = {key.keyid: key.public for key in KEYS}
NOW = 1_800_000_000
DAY = 86_400
AUTHORITY = "bot.example.org"
CONTENT = directory.body(KEYS)
HEADERS = {n.lower(): v for n, v in directory.headers(CONTENT, KEYS, AUTHORITY, NOW, 30).items()}
SIGNED = b"GET / HTTP/1.1\r\nHost: a.test\r\n%b\r\n" % RequestSigner(
    KEYS[0], "https://b.test", now=lambda: NOW
).fields("a.test")


def wrong(findings):
    return [finding.text for finding in findings if finding.wrong]


def found(*keys):
    return wrong(finding for _, finding in keys_of(json.dumps({"keys": [*keys]}).encode()))


class TestKeys:
    def test_ours(self):
        """Every key of a directory that was written here is read, and nothing is wrong with it."""
        assert [public for public, _ in keys_of(CONTENT)] == [key.public for key in KEYS]
        assert wrong(finding for _, finding in keys_of(CONTENT)) == []
        assert b'"d"' not in CONTENT

    @pytest.mark.parametrize(
        ("key", "why"),
        [
            (jwk_of(Ed25519PrivateKey.generate()), "PRIVATE PART IS PUBLISHED"),
            ({"kty": "OKP", "crv": "Ed25519", "x": RFC_9421_JWK["x"]}, "test key of RFC 9421"),
            (json.loads(CONTENT)["keys"][0] | {"kid": "mine"}, "kid differs from its thumbprint"),
            ({"kty": "RSA"}, "only Ed25519 is supported"),
            ({"kty": "OKP", "crv": "Ed25519", "x": "AA"}, "x is not 32 bytes"),
            ("key", "not a JSON object"),
            (None, "not a JSON object"),
        ],
    )
    def test_what_is_wrong_with_a_key(self, key, why):
        """A key that must not be there, or that nobody can use, is named; it verifies nothing."""
        (said,) = found(key)

        assert why in said
        assert [public for public, _ in keys_of(json.dumps({"keys": [key]}).encode())] == [None]

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b'{"keys": {}}', b'{"keys": []}', b"\xff", b"[" * 100_000]
    )
    def test_no_directory(self, content):
        """What is no set of keys is refused as a whole."""
        with pytest.raises(Unreadable):
            list(keys_of(content))

    def test_too_many(self):
        """Of a very long directory the first hundred keys are read."""
        one = json.loads(CONTENT)["keys"][0]

        assert found(*[one] * 101) == ["101 keys: only the first 100 were checked"]

    @given(st.binary(max_size=60))
    def test_any_bytes_are_read_or_refused(self, content):
        """No bytes do anything but be read or be refused."""
        try:
            list(keys_of(content))
        except Unreadable:
            return


class TestResponse:
    def test_ours(self):
        """A response is signed by every key, for its origin and its content, as long as it was
        told.
        """
        assert wrong(check_fields(HEADERS)) == []
        assert wrong(check_response(CONTENT, HEADERS, AUTHORITY, PUBLIC, NOW)) == []
        assert wrong(check_response(CONTENT, HEADERS, AUTHORITY, PUBLIC, NOW + 30 * DAY - 1)) == []

    def test_when_it_has_expired(self):
        """After its days the directory's signatures hold no more."""
        assert wrong(check_response(CONTENT, HEADERS, AUTHORITY, PUBLIC, NOW + 30 * DAY)) == [
            "binding0: has expired, by this machine's clock",
            "binding1: has expired, by this machine's clock",
        ]

    def test_a_copy_under_another_name(self):
        """Who publishes our directory as his own has no signature for it."""
        assert wrong(check_response(CONTENT, HEADERS, "thief.test", PUBLIC, NOW)) == [
            f"binding0: is not a valid signature of this message by key {FIRST}",
            f"binding1: is not a valid signature of this message by key {SECOND}",
        ]

    def test_files_of_two_times(self):
        """A new directory with the fields of the old one does not fit."""
        content = directory.body(KEYS[:1])

        assert wrong(check_response(content, HEADERS, AUTHORITY, {FIRST: PUBLIC[FIRST]}, NOW)) == [
            "Content-Digest does not match the content: write all files again, and publish them together",
            f"binding1: its key {SECOND} is not in the directory",
        ]

    def test_a_key_that_does_not_sign(self):
        """A key whose holder did not sign the response may be anybody's."""
        fields = {
            n.lower(): v
            for n, v in directory.headers(CONTENT, KEYS[:1], AUTHORITY, NOW, 30).items()
        }

        assert wrong(check_response(CONTENT, fields, AUTHORITY, PUBLIC, NOW)) == [
            f"key {SECOND}: has not signed the response"
        ]

    def test_not_signed(self):
        """A directory without signatures serves, and that is said."""
        (finding,) = check_response(CONTENT, {}, AUTHORITY, PUBLIC, NOW)

        assert not finding.wrong
        assert "not signed" in finding.text

    def test_the_media_type(self):
        """Servers refuse a directory of another media type."""
        assert wrong(check_fields({"content-type": "application/json; charset=utf-8"})) == [
            f"Content-Type is application/json, but must be {directory.MEDIA_TYPE}"
        ]
        assert wrong(check_fields({"content-type": f"{directory.MEDIA_TYPE}; charset=utf-8"})) == []


class TestRequest:
    def test_ours(self):
        """A request of ours says where its keys are, by which it was signed, and for how long."""
        findings = [*check_request(SIGNED, PUBLIC, NOW)]

        assert wrong(findings) == []
        assert [one.text for one in findings] == [
            'sig1: says that its keys are at "https://b.test"',
            f"sig1: signed by key {FIRST}, from 2027-01-15T07:59:50.000Z to 2027-01-15T08:04:50.000Z",
        ]

    def test_with_line_feeds_alone(self):
        """An editor may have taken the carriage returns."""
        assert wrong(check_request(SIGNED.replace(b"\r\n", b"\n"), PUBLIC, NOW)) == []

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            (b"a.test", b"b.test", "not a valid signature of this"),
            (
                b"GET / HTTP/1.1\r\nHost: a.test",
                b"GET @a.test/ HTTP/1.1\r\nHost: b.test",
                "not a valid signature of this",
            ),
            (b"https://b.test", b"https://c.test", "not a valid signature of this"),
            (b";expires=1", b";expires=2", "not a valid signature of this"),
            (b"sig1=:", b"sig1=:AAAA", "not a valid signature of this"),
            (b'"@authority" ', b"", "does not cover @authority"),
            (b' "signature-agent";key="sig1"', b"", "does not cover its member of Signature-Agent"),
            (b'"@authority"', b'"@target-uri"', "not a valid signature of this"),
            (b"Signature-Agent: sig1=", b"Signature-Agent: other=", "no member with this name"),
            (FIRST.encode(), b"unknown", "its key unknown is not in the directory"),
        ],
    )
    def test_what_was_changed(self, old, new, why):
        """Any change of what is covered, or of what is said about it, is found."""
        assert why in " ".join(wrong(check_request(SIGNED.replace(old, new, 1), PUBLIC, NOW)))

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"GET /\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            SIGNED.replace(b"web-bot-auth", b"other"),
            SIGNED.replace(b"Signature: ", b"X: "),
            SIGNED.replace(b"sig1=(", b"sig1=)"),
            SIGNED.replace(b"sig1=(", b"sig1=1, x=("),
            SIGNED.replace(b"Host: a.test", b"Host: a.test?"),
            SIGNED.replace(b"Host: a.test", b"Host: b.test@a.test"),
            SIGNED.replace(b"Host: a.test\r\n", b""),
        ],
    )
    def test_not_signed(self, raw):
        """What has no signature of this kind is refused as a whole."""
        with pytest.raises(Unreadable):
            list(check_request(raw, PUBLIC, NOW))

    @given(st.integers(0, len(SIGNED) - 1), st.binary(max_size=3))
    def test_any_change(self, at, new):
        """No change makes the check fail otherwise than by saying what is wrong."""
        try:
            list(check_request(SIGNED[:at] + new + SIGNED[at + 1 :], PUBLIC, NOW))
        except Unreadable:
            return

    def test_impossible_times(self):
        """Times that no calendar has are said as they are."""
        fields = SIGNED.replace(b";expires=1800000290", b";expires=999999999999999")

        assert wrong(check_request(fields, PUBLIC, NOW)) == [
            f"sig1: is not a valid signature of this message by key {FIRST}"
        ]


KEY = SigningKey(Ed25519PrivateKey.generate())


def as_written(fields, content):
    return 200, fields, content


def said(folder, monkeypatch, change, *, trusted=True):
    """What is wrong with a directory of one key that is published in this way."""
    with serving(folder, change) as (at, trust):
        if trusted:
            monkeypatch.setenv(*next(iter(trust.items())))
        content = directory.body([KEY])
        fields = directory.headers(
            content, [KEY], directory.authority_of(at), int(time.time()) - 60, 30
        )
        directory.write(folder / "site", content, fields)
        try:
            keys, findings = look(at, "", time.time())
        except (NotPublished, Unreadable) as error:
            return str(error)
    assert keys == {KEY.keyid: KEY.public}
    return " ".join(finding.text for finding in findings if finding.wrong)


def test_a_full_disk(tmp_path):
    """Of a directory that cannot be written to the end no half of a file is left to be published."""
    disk = BreakingDisk()
    directory.write(tmp_path, b"{}", {}, disk)
    for fail_at in range(1, disk.operations + 1):
        with pytest.raises(OSError, match="injected"):
            directory.write(tmp_path, b"{}", {}, BreakingDisk(fail_at))
        assert [*tmp_path.rglob("*.new")] == []


def test_as_it_should_be(tmp_path, monkeypatch):
    """Nothing is wrong with a directory that is published as it was written."""
    assert said(tmp_path, monkeypatch, as_written) == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda fields, content: (200, fields | {"Content-Type": "text/plain"}, content),
            "Content-Type is text/plain, but must",
        ),
        (lambda fields, content: (302, {"Location": "/x"}, b""), "status 302, but it must be 200"),
        (lambda fields, content: (404, {}, b""), "status 404, but it must be 200"),
        (lambda fields, content: (200, fields, b"<html>"), "the directory is not JSON"),
        (
            lambda fields, content: (200, fields, content + b"\n"),
            "Content-Digest does not match the content",
        ),
        (
            lambda fields, content: (200, fields, b"[" * 70_000),
            "more than 65536 bytes",
        ),
        (
            lambda fields, content: (
                200,
                fields | {"Date": "Thu, 01 Jan 2015 00:00:00 GMT"},
                content,
            ),
            "seconds ahead of the server's",
        ),
    ],
    ids=["media type", "redirect", "missing", "HTML", "changed", "too long", "clock"],
)
def test_what_is_wrong_with_it(tmp_path, monkeypatch, change, why):
    """A directory that servers would not take is refused, with the reason in a line."""
    assert why in said(tmp_path, monkeypatch, change)


def test_a_certificate_that_nobody_trusts(tmp_path, monkeypatch):
    """The directory's server must have a certificate that the system trusts."""
    assert "certificate verify failed" in said(tmp_path, monkeypatch, as_written, trusted=False)


def test_a_failure_without_words(monkeypatch):
    """It is called by its name."""
    monkeypatch.setattr(directory.HTTPSConnection, "request", Mock(side_effect=TimeoutError))
    with pytest.raises(NotPublished, match=r"directory: TimeoutError$"):
        look("https://a.test", "", time.time())


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1", "https://127.0.0.1:1/keys", "https://u@127.0.0.1:1", "https://", "x"],
)
def test_no_origin(url):
    """Only an https origin can have a directory; whatever cannot be fetched is one line."""
    with pytest.raises((NotPublished, FileNotFoundError), match=r"^[^\n]*$"):
        look(url, "", time.time())
