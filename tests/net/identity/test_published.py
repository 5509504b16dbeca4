"""Key directories as they are published, on an https server on loopback."""

import time
from unittest.mock import Mock

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.faults import BreakingDisk
from tests.support.identities import serving
from webcrawl.net.identity import key_directory as directory
from webcrawl.net.identity.key_directory import NotPublished
from webcrawl.net.identity.signature_check import Unreadable, look
from webcrawl.net.identity.signing_key import SigningKey

KEY = SigningKey(Ed25519PrivateKey.generate())


def as_written(fields, content):
    return 200, fields, content


def said(folder, monkeypatch, change, *, trusted=True):
    """What is wrong with a directory of one key that is published in this way."""
    with serving(folder, change) as (at, trust):
        if trusted:
            monkeypatch.setenv(*next(iter(trust.items())))
        content = directory.body([KEY])
        fields = directory.headers(content, [KEY], directory.authority_of(at), int(time.time()) - 60, 30)
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
            "Content-Type: text/plain, must",
        ),
        (lambda fields, content: (302, {"Location": "/x"}, b""), "status 302, must be 200"),
        (lambda fields, content: (404, {}, b""), "status 404, must be 200"),
        (lambda fields, content: (200, fields, b"<html>"), "the directory is not JSON"),
        (lambda fields, content: (200, fields, content + b"\n"), "Content-Digest is not that of the content"),
        (lambda fields, content: (200, fields, b"[" * 70_000), "more than 65536 bytes"),
        (
            lambda fields, content: (200, fields | {"Date": "Thu, 01 Jan 2015 00:00:00 GMT"}, content),
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
    "url", ["http://127.0.0.1:1", "https://127.0.0.1:1/keys", "https://u@127.0.0.1:1", "https://", "x"]
)
def test_no_origin(url):
    """Only an https origin can have a directory; whatever cannot be fetched is one line."""
    with pytest.raises((NotPublished, FileNotFoundError), match=r"^[^\n]*$"):
        look(url, "", time.time())
