"""Checks key directories and signed requests as a server would that has never seen them.

`look` checks a directory wherever it is: published, as a file, or in the folder that `scrapy
identity` wrote.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import http_sf
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    MappingKeyResolver,
    algorithms,
)

from webcrawl.base.dates import iso
from webcrawl.net.identity import key_directory, request_signing
from webcrawl.net.identity.key_directory import (
    LONGEST_DIRECTORY,
    NOTABLE_CLOCK_DIFFERENCE,
    Published,
    fetch,
)
from webcrawl.net.identity.signing_key import PUBLISHED, BadKey, public_key, thumbprint
from webcrawl.store.disk import regular

MOST_KEYS = 100  # of a directory that are checked
NO_HOST = frozenset("/?#@\\")


@dataclass(frozen=True, slots=True)
class Finding:
    """A line for the user."""

    text: str
    wrong: bool = False


class Unreadable(ValueError):  # noqa: N818 - reads as what it is
    """The input is no directory, key or request that can be checked."""


def keys_of(content: bytes) -> Iterator[tuple[bytes | None, Finding]]:
    """Yield each key of a directory, and what is to say of it; raises Unreadable."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the directory is not JSON") from error
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list):
        raise Unreadable("the directory is not a JSON object with a list of keys")
    if not keys:
        raise Unreadable("the directory contains no keys")
    for one in keys[:MOST_KEYS]:
        yield _key(one)
    if len(keys) > MOST_KEYS:
        yield (
            None,
            Finding(f"{len(keys)} keys: only the first {MOST_KEYS} were checked", wrong=True),
        )


def _key(one: object) -> tuple[bytes | None, Finding]:
    """Return the public key of a JWK, or None if it must not be used, and what to say of it."""
    try:
        public = public_key(one)
    except BadKey as error:
        return None, Finding(f"a key: {error}", wrong=True)
    keyid = thumbprint(public)
    members = dict(one) if isinstance(one, dict) else {}
    if "d" in members:  # RFC 8037 2: the private key
        return None, Finding(
            f"key {keyid}: ITS PRIVATE PART IS PUBLISHED: make a new key, and drop this one",
            wrong=True,
        )
    if keyid in PUBLISHED:
        return None, Finding(
            f"key {keyid}: is the published test key of RFC 9421, so anyone can sign with it",
            wrong=True,
        )
    # Verifiers look for the thumbprint (RFC 7638), whatever the directory calls the key
    if members.get("kid", keyid) != keyid:
        return None, Finding(f"key {keyid}: its kid differs from its thumbprint", wrong=True)
    return public, Finding(f"key {keyid}: Ed25519")


def check_fields(fields: Mapping[str, str]) -> Iterator[Finding]:
    """Check the media type and what else the response of a published directory must have.

    The names of its fields are in lower case.
    """
    kind = fields.get("content-type", "none").partition(";")[0].strip().lower()
    if kind != key_directory.MEDIA_TYPE:
        yield Finding(f"Content-Type is {kind}, but must be {key_directory.MEDIA_TYPE}", wrong=True)


def check_response(
    content: bytes, fields: Mapping[str, str], authority: str, keys: Mapping[str, bytes], now: float
) -> Iterator[Finding]:
    """Yield the signatures of a directory's response.

    There must be one of each key, which says for how long it holds.
    """
    if "signature-input" not in fields:
        yield Finding("the response is not signed, so anyone could publish these keys as their own")
        return
    signed = set()
    digest = f"sha-256=:{b64encode(sha256(content).digest()).decode('ascii')}:"
    if fields.get("content-digest", digest) != digest:
        yield Finding(
            "Content-Digest does not match the content: write all files again, and publish them together",
            wrong=True,
        )
    response = _Response(fields, _Request("GET", f"https://{authority}{key_directory.PATH}", {}))
    for one in _signatures(fields, key_directory.TAG):
        if not one.covers("@authority", req=True) or not one.covers("content-digest"):
            yield Finding(
                f"{one.label}: does not cover the required components: {key_directory.COMPONENTS}",
                wrong=True,
            )
            continue
        yield from _checked(one, response, keys, now)
        signed.add(one.parameters.get("keyid"))
    for keyid in keys.keys() - signed:
        yield Finding(f"key {keyid}: has not signed the response", wrong=True)


def check_request(raw: bytes, keys: Mapping[str, bytes], now: float) -> Iterator[Finding]:
    """Yield the Web Bot Auth signatures of a request head; raises Unreadable."""
    request = _request(raw)
    if "signature-input" not in request.headers:
        raise Unreadable("the request is not signed")
    found = [*_signatures(request.headers, request_signing.TAG)]
    if not found:
        raise Unreadable(f"no signature has the tag {request_signing.TAG}")
    for one in found:
        yield from _agent(one, request.headers.get("signature-agent", ""))
        yield from _checked(one, request, keys, now)


@dataclass(frozen=True, slots=True)
class _Request:
    """A request as the library wants it."""

    method: str
    url: str
    headers: Mapping[str, str]  # names in lower case, repeated ones joined


@dataclass(frozen=True, slots=True)
class _Response:
    """A response as the library wants it."""

    headers: Mapping[str, str]
    request: _Request
    status_code: int = 200


@dataclass(frozen=True, slots=True)
class _Signature:
    """A member of Signature-Input: what it covers, and its parameters."""

    label: str
    tag: str
    covered: list[tuple[Any, Mapping[str, Any]]]
    parameters: Mapping[str, Any]

    def covers(self, name: str, **parameters: object) -> bool:
        return (name, parameters) in self.covered


def _signatures(fields: Mapping[str, str], tag: str) -> Iterator[_Signature]:
    """Return the signatures with this tag. Raise Unreadable."""
    try:
        inputs, values = (
            _dictionary(fields.get(name, "")) for name in ("signature-input", "signature")
        )
    except ValueError as error:
        raise Unreadable(f"Signature-Input or Signature: {error}") from error
    for label, (covered, parameters) in inputs.items():
        if not isinstance(covered, list) or not isinstance(values.get(label, ("", {}))[0], bytes):
            raise Unreadable(f"{label}: the list of components or the signature is missing")
        if parameters.get("tag") == tag:
            yield _Signature(label, tag, covered, parameters)


def _dictionary(text: str) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the members of a structured field (RFC 9651) with their parameters.

    Raise ValueError if it is no dictionary.
    """
    # http_sf takes 0.3 s for half a megabyte of `a;`.
    if len(text) > LONGEST_DIRECTORY:
        raise ValueError("the field is too long")
    try:
        return dict(http_sf.parse(text.encode(), tltype="dictionary"))  # type: ignore[arg-type]
    except http_sf.StructuredFieldError as error:
        raise ValueError(str(error)) from error


def _agent(one: _Signature, field: str) -> Iterator[Finding]:
    """Yield what is to be said of Signature-Agent and of what the signature covers."""
    if field.startswith('"'):  # the string of earlier drafts
        agent = field
        parameters = dict[str, object]()
    else:
        try:
            agent = f'"{_dictionary(field)[one.label][0]}"'
            parameters = {"key": one.label}
        except (ValueError, KeyError):
            yield Finding(f"{one.label}: Signature-Agent has no member with this name", wrong=True)
            return
    yield Finding(f"{one.label}: says that its keys are at {agent}")
    if not one.covers("signature-agent", **parameters):
        yield Finding(f"{one.label}: does not cover its member of Signature-Agent", wrong=True)
    if not one.covers("@authority") and not one.covers("@target-uri"):
        yield Finding(f"{one.label}: does not cover @authority", wrong=True)


# The library takes 400 µs for a signature, against 34 here when requests are signed: what an
# operator has checked may cost that, and the check shares no code with the signer.
class _Verifier(HTTPMessageVerifier):
    """Verifies who signed a message, without its times: an archived request has expired.

    The times are reported apart.
    """

    def validate_created_and_expires(self, sig_input: object, max_age: object = None) -> None:
        del sig_input, max_age


def _checked(
    one: _Signature, message: _Request | _Response, keys: Mapping[str, bytes], now: float
) -> Iterator[Finding]:
    """Yield whether the signature is valid by one of these keys, and for what time."""
    keyid = str(one.parameters.get("keyid"))
    if keyid not in keys:
        yield Finding(f"{one.label}: its key {keyid} is not in the directory", wrong=True)
        return
    public = {keyid: Ed25519PublicKey.from_public_bytes(keys[keyid])}
    verifier = _Verifier(
        signature_algorithm=algorithms.ED25519,
        key_resolver=MappingKeyResolver(public_keys=public, private_keys={}),
    )
    try:
        verifier.verify(message, max_age=None, expect_tag=one.tag, expect_label=one.label)
    except HTTPMessageSignaturesException as error:
        yield Finding(
            f"{one.label}: {str(error) or f'is not a valid signature of this message by key {keyid}'}",
            wrong=True,
        )
        return
    created = one.parameters.get("created")
    expires = one.parameters.get("expires")
    if type(created) is not int or type(expires) is not int:
        yield Finding(f"{one.label}: does not say when it begins and expires", wrong=True)
        return
    yield Finding(f"{one.label}: signed by key {keyid}, from {_when(created)} to {_when(expires)}")
    if created > now:
        yield Finding(f"{one.label}: is not valid yet, by this machine's clock", wrong=True)
    if expires <= now:
        yield Finding(f"{one.label}: has expired, by this machine's clock", wrong=True)


def _request(raw: bytes) -> _Request:
    """Return the head of a request as bytes; raises Unreadable."""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("latin-1")
    first, *lines = head.split("\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise Unreadable("it does not begin with a request line")
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            name = name.strip().lower()
            value = value.strip()
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
    host = fields.get("host", "")
    # With one of these signs, another part of the URL would say whose request it is.
    if not host or NO_HOST.intersection(host):
        raise Unreadable("it has no valid Host header")
    path = words[1] if words[1].startswith("/") else f"/{words[1]}"
    return _Request(words[0], f"http://{host}{path}", fields)


def _when(seconds: int) -> str:
    try:
        return iso(float(seconds))
    except (ValueError, OverflowError, OSError):
        return f"the impossible time {seconds!r}"


def look(place: str, agent: str, now: float) -> tuple[dict[str, bytes], list[Finding]]:
    """Return the keys of the directory at a URL or path, and what is to say of it.

    Raise NotPublished, Unreadable or OSError.

    `agent`: the origin at which files are to be published; without it their signatures are not
    checked.
    """
    published = fetch(place) if "://" in place else _of_files(Path(place))
    keys: dict[str, bytes] = {}
    findings: list[Finding] = []
    if published.fields:
        findings += check_fields(published.fields)
    for public, finding in keys_of(published.content):
        findings.append(finding)
        if public is not None:
            keys[thumbprint(public)] = public
    if authority := published.authority or key_directory.authority_of(agent):
        findings += check_response(published.content, published.fields, authority, keys, now)
    elif published.fields:
        findings.append(
            Finding(
                "its signatures were not checked: give --agent with the origin that they are for"
            )
        )
    findings += _clock(published.ahead)
    return keys, findings


def _of_files(path: Path) -> Published:
    if not path.is_dir():
        return Published(_read(path))
    content = _read(path / key_directory.PATH[1:])
    lines = _read(path / key_directory.HEADERS).decode().splitlines()
    parts = (line.strip().partition(": ") for line in lines if line.startswith(" "))
    return Published(content, {name.lower(): value for name, _, value in parts})


def _read(path: Path) -> bytes:
    with regular(path) as file:
        return file.read(LONGEST_DIRECTORY)


def _clock(ahead: float | None) -> Iterator[Finding]:
    if ahead is not None and abs(ahead) > NOTABLE_CLOCK_DIFFERENCE:
        which = "ahead of" if ahead > 0 else "behind"
        text = (
            f"this machine's clock is {abs(ahead):.0f} seconds {which} the server's: servers may "
            "reject its signatures"
        )
        yield Finding(text, wrong=True)
