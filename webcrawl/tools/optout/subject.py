"""The subject of a stranger's wish: a domain or URL prefix, and the places where control of it is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webcrawl.base.hosts import host_of
from webcrawl.net.dns_answer import LONGEST_NAME, known_without_asking
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
    scheme, known, rest = text.partition("://")
    if not known:
        scheme, rest = "http", text
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
