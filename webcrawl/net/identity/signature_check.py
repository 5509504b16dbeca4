"""Checks key directories and signed requests as a server would that has never seen them.

`look` checks a directory wherever it is: published, as a file, or in the folder that `scrapy identity` wrote.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from webcrawl.base.dates import iso
from webcrawl.net.identity import key_directory, request_signing
from webcrawl.net.identity.key_directory import FAR, LONGEST, Published, fetch
from webcrawl.net.identity.signing_key import PUBLISHED, BadKey, public_key, thumbprint
from webcrawl.net.identity.structured_fields import Bare, InnerList, Item, dictionary
from webcrawl.store.disk import regular

MOST_KEYS = 100
DERIVED = ("@authority", "@method", "@path")  # components that are checked, beside fields


@dataclass(frozen=True, slots=True)
class Finding:
    """A line for the user."""

    text: str
    wrong: bool = False


class Unreadable(ValueError):  # noqa: N818 - reads as what it is
    """The input is no directory, key or request that can be checked."""


def keys_of(content: bytes) -> Iterator[tuple[bytes | None, Finding]]:
    """Each key of a directory, and what is to say of it; raises Unreadable."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the directory is not JSON") from error
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list):
        raise Unreadable("the directory is not a JSON object with a list of keys")
    if not keys:
        raise Unreadable("a directory without keys")
    for one in keys[:MOST_KEYS]:
        yield _key(one)
    if len(keys) > MOST_KEYS:
        yield None, Finding(f"{len(keys)} keys: only the first {MOST_KEYS} were checked", wrong=True)


def _key(one: object) -> tuple[bytes | None, Finding]:
    try:
        public = public_key(one)
    except BadKey as error:
        return None, Finding(f"a key: {error}", wrong=True)
    keyid, said = thumbprint(public), dict(one) if isinstance(one, dict) else {}
    if "d" in said:
        return None, Finding(
            f"key {keyid}: ITS PRIVATE PART IS PUBLISHED: make a new key, and drop this one", wrong=True
        )
    if keyid in PUBLISHED:
        return None, Finding(f"key {keyid}: the test key of RFC 9421, which everybody has", wrong=True)
    if said.get("kid", keyid) != keyid:
        return None, Finding(f"key {keyid}: its kid is not its thumbprint", wrong=True)
    return public, Finding(f"key {keyid}: Ed25519")


def check_fields(fields: Mapping[str, str]) -> Iterator[Finding]:
    """The media type and what else the response of a published directory must have; names in lower case."""
    kind = fields.get("content-type", "none").partition(";")[0].strip().lower()
    if kind != key_directory.MEDIA_TYPE:
        yield Finding(f"Content-Type: {kind}, must be {key_directory.MEDIA_TYPE}", wrong=True)


def check_response(
    content: bytes, fields: Mapping[str, str], authority: str, keys: Mapping[str, bytes], now: float
) -> Iterator[Finding]:
    """The signatures of a directory's response: one of each key, which says for how long it holds."""
    if "signature-input" not in fields:
        yield Finding("the response is not signed: anybody could publish these keys as his own")
        return
    signed = set()
    digest = f"sha-256=:{b64encode(sha256(content).digest()).decode('ascii')}:"
    if fields.get("content-digest", digest) != digest:
        yield Finding("Content-Digest is not that of the content: write all files anew, and together", wrong=True)
    for label, member, signature in _signatures(fields):
        if member.parameters.get("tag") != key_directory.TAG:
            continue
        covered = {item.text for item in member.items}
        if not {'"@authority";req', '"content-digest"'} <= covered:
            yield Finding(f"{label}: does not cover what it must: {key_directory.COMPONENTS}", wrong=True)
            continue
        base = _base(member, {'"@authority";req': authority, '"content-digest"': fields.get("content-digest", "")})
        yield from _checked(label, member, signature, base, keys, now)
        signed.add(member.parameters.get("keyid"))
    for keyid in keys.keys() - signed:
        yield Finding(f"key {keyid}: no signature of the response by it", wrong=True)


def check_request(raw: bytes, keys: Mapping[str, bytes], now: float) -> Iterator[Finding]:
    """The Web Bot Auth signatures of a request head; raises Unreadable."""
    request = Request(raw)
    found = [one for one in _signatures(request.fields) if one[1].parameters.get("tag") == request_signing.TAG]
    if not found:
        raise Unreadable(f"no signature has the tag {request_signing.TAG}")
    for label, member, signature in found:
        yield from _agent(label, member, request.fields)
        yield from _checked(label, member, signature, request.base(member), keys, now)


def _agent(label: str, member: InnerList, fields: Mapping[str, str]) -> Iterator[Finding]:
    agent, name = fields.get("signature-agent", ""), None
    if not agent.startswith('"'):  # else it is the string of earlier drafts
        try:
            agent, name = dictionary(agent)[label].text, label
        except (ValueError, KeyError):
            yield Finding(f"{label}: Signature-Agent has no member of this name", wrong=True)
            return
    yield Finding(f"{label}: says that its keys are at {agent}")
    covered = {(item.value, item.parameters.get("key")) for item in member.items}
    if ("signature-agent", name) not in covered:
        yield Finding(f"{label}: does not cover its member of Signature-Agent", wrong=True)
    if not {"@authority", "@target-uri"} & {item.value for item in member.items}:
        yield Finding(f"{label}: does not cover the authority", wrong=True)


def _checked(
    label: str, member: InnerList, signature: bytes, base: bytes | str, keys: Mapping[str, bytes], now: float
) -> Iterator[Finding]:
    keyid = str(member.parameters.get("keyid"))
    created, expires = member.parameters.get("created"), member.parameters.get("expires")
    if isinstance(base, str):
        yield Finding(f"{label}: {base}", wrong=True)
        return
    if keyid not in keys:
        yield Finding(f"{label}: its key {keyid} is not in the directory", wrong=True)
        return
    try:
        Ed25519PublicKey.from_public_bytes(keys[keyid]).verify(signature, base)
    except InvalidSignature:
        yield Finding(f"{label}: not a signature of this by key {keyid}", wrong=True)
        return
    if type(created) is not int or type(expires) is not int:
        yield Finding(f"{label}: does not say from when to when it holds", wrong=True)
        return
    yield Finding(f"{label}: signed by key {keyid}, from {_when(created)} to {_when(expires)}")
    if created > now:
        yield Finding(f"{label}: begins in the future, by this machine's clock", wrong=True)
    if expires <= now:
        yield Finding(f"{label}: has expired, by this machine's clock", wrong=True)


class Request:
    """A request head as bytes, read; raises Unreadable."""

    def __init__(self, raw: bytes) -> None:
        self.method, self._target, self.fields = _head(raw)
        if "signature-input" not in self.fields:
            raise Unreadable("the request is not signed")

    def base(self, member: InnerList) -> bytes | str:
        """The text that a member of Signature-Input says was signed (RFC 9421 2.5), or why it is not known."""
        authority, path = self.fields.get("host", "").lower(), self._target.partition("?")[0]
        derived = dict(zip(DERIVED, (authority, self.method, path), strict=True))
        known = {f'"{name}"': value for name, value in derived.items()}
        return _base(member, known | _components(member, self.fields))


def _signatures(fields: Mapping[str, str]) -> Iterator[tuple[str, InnerList, bytes]]:
    try:
        inputs, values = dictionary(fields["signature-input"]), dictionary(fields.get("signature", ""))
    except ValueError as error:
        raise Unreadable(f"Signature-Input or Signature: {error}") from error
    for label, member in inputs.items():
        value = values.get(label)
        if not isinstance(member, InnerList) or not isinstance(value, Item) or not isinstance(value.value, bytes):
            raise Unreadable(f"{label}: no list of components, or no signature")
        yield label, member, value.value


def _components(member: InnerList, fields: Mapping[str, str]) -> dict[str, str]:
    """The covered fields by the component's text; those that are missing are left out."""
    found = {}
    for item in member.items:
        name, key = str(item.value), item.parameters.get("key")
        if name.startswith("@") or name not in fields:
            continue
        if not item.parameters:
            found[item.text] = fields[name]
        elif item.parameters.keys() == {"key"}:
            try:
                found[item.text] = dictionary(fields[name])[str(key)].text
            except (ValueError, KeyError):
                continue
    return found


def _base(member: InnerList, components: Mapping[str, str]) -> bytes | str:
    texts = [item.text for item in member.items]
    if missing := [text for text in texts if text not in components]:
        return f"covers {missing[0]}, which is not there, or not among what is checked: {', '.join(DERIVED)} and fields"
    if len(set(texts)) < len(texts):
        return "covers a component twice"
    lines = [*(f"{text}: {components[text]}" for text in texts), f'"@signature-params": {member.text}']
    return "\n".join(lines).encode("latin-1")


def _head(raw: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, target and the fields, repeated ones joined, of a request as bytes."""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("latin-1")
    first, *lines = head.split("\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise Unreadable("it does not begin with the first line of a request")
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            name, value = name.strip().lower(), value.strip()
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return words[0], words[1], fields


def _when(seconds: Bare) -> str:
    try:
        return iso(float(seconds))
    except (ValueError, OverflowError, OSError):
        return f"the impossible time {seconds!r}"


def look(place: str, agent: str, now: float) -> tuple[dict[str, bytes], list[Finding]]:
    """The keys of the directory at a URL or path, and what is to say of it; NotPublished, Unreadable or OSError.

    `agent`: the origin at which files are to be published; without it their signatures are not checked.
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
        findings.append(Finding("its signatures are not checked without --agent, the origin they are for"))
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
        return file.read(LONGEST)


def _clock(ahead: float | None) -> Iterator[Finding]:
    if ahead is not None and abs(ahead) > FAR:
        which = "ahead of" if ahead > 0 else "behind"
        text = (
            f"this machine's clock is {abs(ahead):.0f} seconds {which} the server's: its signatures may not be accepted"
        )
        yield Finding(text, wrong=True)
