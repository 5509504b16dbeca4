"""The subject of a stranger's wish, and the tokens that prove control of it, signed with a key that lies in JOBDIR."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from webcrawl.base.url_text import has_scheme, host_of
from webcrawl.net.dns_answer import LONGEST_NAME, known_without_asking
from webcrawl.store.disk import Disk
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.host_names import RegisteredDomains, is_public_suffix

PATH = "/.well-known/webcrawl-optout.txt"  # RFC 8615
LABEL = "_webcrawl-optout"  # RFC 8552: a name that no host has
LONGEST = 500  # characters that are looked at
WEB = ("https", "http")
MANY = "names below {} have owners of their own: each of them asks by itself"


class CannotName(ValueError):  # noqa: N818 - reads as what it is
    """Neither a domain nor a URL prefix, with the reason in a line."""


@dataclass(frozen=True, slots=True)
class Subject:
    """`rule` is in its one spelling, by the rules of the exclusion file. A token is for it alone."""

    rule: str
    url: str  # one that it names
    files: Sequence[str]  # URLs, at its own authority; none if the web does not reach it
    record: str  # the name of a TXT record; empty for an address
    site: str  # its registered domain, by which checks are counted


def subject_of(text: str, domains: RegisteredDomains) -> Subject:
    """The subject that these words name. Raises CannotName."""
    text = text.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise CannotName("name a domain, such as example.org, or a prefix, such as example.org/private/")
    if "#" in text:  # a comment, in a rule
        raise CannotName("a # has no meaning here")
    try:
        subject = _prefix(text, domains) if "/" in text else _domain(text, domains)
    except InvalidUrl as error:
        raise CannotName(f"this is neither a domain nor a URL prefix ({error.reason})") from error
    if len(subject.rule) > LONGEST:  # percent-encoded
        raise CannotName("this is too long")
    # Looked at in the end, for IDNA makes these of other characters, too: *. is the domain itself in a rule, and what
    # begins with - is an option in a command.
    if "*" in host_of(subject.url) or subject.rule.startswith("-"):
        raise CannotName("a name has no * in it, and does not begin with -")
    return subject


def _domain(text: str, domains: RegisteredDomains) -> Subject:
    url = canonical(f"http://{text}/")
    host = host_of(url)
    if "@" in text or url != f"http://{host}/":
        raise CannotName("name a domain without user or port; a prefix has a / after its host")
    host = host.removesuffix(".")
    if is_public_suffix(host):
        raise CannotName(MANY.format(host))
    return Subject(host, f"http://{host}/", _files(WEB, host), _record(host), domains(host))


def _prefix(text: str, domains: RegisteredDomains) -> Subject:
    known = has_scheme(text)
    scheme, _, rest = text.partition("://") if known else ("http", "", text)
    if "@" in rest.partition("/")[0]:
        raise CannotName("a prefix has no user")
    url = canonical(f"{scheme}://{rest}")
    scheme = url.partition(":")[0]
    authority, _, path = url.partition("://")[2].partition("/")
    host = host_of(url)
    bare = host.removesuffix(".")
    authority = bare + authority.removeprefix(host)
    rule = f"{authority}/{path}"
    schemes = [one for one in WEB if one == scheme] if known else WEB
    whole = f"{scheme}://{rule}"
    return Subject(whole if known else rule, whole, _files(schemes, authority), _record(bare), domains(bare))


def _files(schemes: Sequence[str], authority: str) -> list[str]:
    return [f"{scheme}://{authority}{PATH}" for scheme in schemes]


def _record(host: str) -> str:
    """Addresses have none, nor have names that leave no room for the label."""
    name = f"{LABEL}.{host}"
    return name if known_without_asking(host) is None and len(name) <= LONGEST_NAME else ""


LIFE = 7 * 86_400  # seconds for which a token counts
_TOKEN = re.compile(r"webcrawl-(leave|forget|return)-(\d{1,12})-([0-9a-f]{32})", re.ASCII)


class Wish(StrEnum):
    """The wish that a token stands for. One that asks to leave does not bring back."""

    LEAVE = "leave"
    FORGET = "forget"  # leave, and what is stored is not shown any more
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Proof:
    """A token of ours that was found, and where."""

    wish: Wish
    issued: int
    place: str

    @property
    def ends(self) -> int:
        return self.issued + LIFE


class Tokens:
    """Issues and recognises them, each for one rule and one wish."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        """Without the key."""
        return "<Tokens>"

    def issue(self, rule: str, wish: Wish, now: float) -> str:
        return f"webcrawl-{wish}-{int(now)}-{self._mac(rule, wish, int(now))}"

    def found(self, rule: str, lines: Iterable[str], place: str) -> list[Proof]:
        """Those among these lines that were issued for this rule, expired or not."""
        parts = (match.groups() for line in lines if (match := _TOKEN.fullmatch(line.strip())))
        return [
            Proof(Wish(wish), int(issued), place)
            for wish, issued, mac in parts
            if hmac.compare_digest(mac, self._mac(rule, wish, int(issued)))
        ]

    def _mac(self, rule: str, wish: str, issued: int) -> str:
        return hmac.new(self._key, f"{wish}\n{issued}\n{rule}".encode(), sha256).hexdigest()[:32]


def counts(proofs: Iterable[Proof], now: float) -> Proof | None:
    """Of several, the one issued last: who leaves and comes back need not find the older token. None if it is over."""
    last = max(proofs, key=lambda one: one.issued, default=None)
    return last if last is not None and now < last.ends else None


NAME = "optout.key"
SIZE = 32
OTHERS = 0o077  # mode bits by which others than the owner reach a file


class BadSecret(ValueError):  # noqa: N818 - reads as what it is
    """A file that cannot be used, with the reason in a line."""


def secret_of(jobdir: Path, disk: Disk | None = None) -> bytes:
    """The key of this crawl or hive, made if there is none. Raises BadSecret or OSError.

    It has its name when it is whole and on disk: whoever is killed before leaves none.
    """
    disk, path = disk or Disk(), jobdir / NAME
    if not os.path.lexists(path):
        _make(path, disk)
    return _read(path)


def _make(path: Path, disk: Disk) -> None:
    new = path.with_name(f"{NAME}.{secrets.token_hex(4)}")
    descriptor = disk.create(new, 0o600)
    try:
        disk.write(descriptor, secrets.token_bytes(SIZE))
        disk.sync(descriptor)
        with suppress(FileExistsError):  # somebody else's is there by now
            os.link(new, path)
    finally:
        os.close(descriptor)
        disk.unlink(new)
    disk.sync_folder(path.absolute().parent)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO would wait
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) or mode & OTHERS:
            raise BadSecret(f"{path}: must be a file of mode 600, which nobody else may read")
        key = os.read(descriptor, SIZE + 1)
    finally:
        os.close(descriptor)
    if len(key) != SIZE:
        raise BadSecret(f"{path}: has not {SIZE} bytes: remove it, and tokens issued before count no more")
    return key
