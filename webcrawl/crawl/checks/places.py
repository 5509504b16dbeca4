"""Kinds of values that name a place: files and folders, addresses and ports, origins and mailboxes."""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
import time
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

from webcrawl.base.loading import MissingLibraryError, missing
from webcrawl.base.program import program
from webcrawl.base.settings.setting_kinds import Choice, Secret, WholeNumber, is_none, text, words
from webcrawl.base.url_text import host_of
from webcrawl.net.identity.request_signing import STRING, form_and_origin
from webcrawl.net.logins import Logins
from webcrawl.net.protocols import local_address
from webcrawl.net.tls import VERSIONS, tls_context
from webcrawl.store.disk import is_there
from webcrawl.urls.canonical import InvalidUrl, canonical

# -- files


class Folder:
    """A folder that exists or can be created, or none."""

    allowed: str = "the path of a folder, existing or not"

    def read(self, value: Any, /) -> str | None:
        if value is None:
            return None
        found = _path(value)
        if "://" in found:
            raise ValueError("it is a URL: OUTPUT_STORE copies finished files to a bucket")
        # The folder, or the nearest one above it that exists, in which it can be created.
        places = (Path(found), *Path(found).absolute().parents)
        there = next(place for place in places if is_there(place))
        if not there.is_dir():
            raise ValueError(f"{there} is not a folder")
        return found


class File:
    """A readable file. A named file that is missing is an error: the name is probably mistyped."""

    allowed: str = "the path of a readable file"

    def read(self, value: Any, /) -> str:
        found = _path(value)
        if not is_there(Path(found)):
            raise ValueError("there is no such file")
        if not Path(found).is_file():
            raise ValueError("it is not a regular file")
        if not os.access(found, os.R_OK):
            raise ValueError("it cannot be read")
        return found


class LoginFile:
    """A file with logins, which only its owner can read; it is read to check it."""

    allowed: str = "the path of a file of mode 0600 with logins in TOML (docs/logins.md)"

    def read(self, value: Any, /) -> str:
        """Return the path of a file of logins.

        Raise ValueError if it is missing or unreadable, or if all cookies of a host have expired;
        Secret, whose message does not quote the value, if this seems to be a login itself.
        """
        found = _path(value)
        if not Path(found).exists() and _LOGIN_ITSELF.search(found):
            raise Secret(
                "there is no such file; if this is a login itself, give the path of its file"
            )
        logins = Logins.read(File().read(found))
        if host := logins.expired(time.time()):
            raise ValueError(f"all cookies for {host} have expired")
        return found


class TokenizerFile:
    """A file that describes a tokenizer; it is read to check it."""

    allowed: str = "the path of a tokenizer.json, as Hugging Face writes it"

    def read(self, value: Any, /) -> str:
        from webcrawl.content.token_count import TokenCounter  # noqa: PLC0415 - only for crawls with one

        found = File().read(value)
        try:
            TokenCounter(found)
        except MissingLibraryError as error:
            raise ValueError(str(error)) from error
        return str(Path(found).absolute())


class MarksFile:
    """Such a file with a table of marks; it is read to check it."""

    allowed: str = "the path of a table of marks (docs/block-pages.md)"

    def read(self, value: Any, /) -> str:
        from webcrawl.content.recognise import recogniser  # noqa: PLC0415 - no other check needs it

        found = File().read(value)
        recogniser(Path(found))
        return found


# characters of a login, rather than of its file's name
_LOGIN_ITSELF = re.compile(r"[:=\[\s]")


def _path(value: Any) -> str:
    """Return a path as text. Raise ValueError if the value is none."""
    found = text(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if "\0" in found:
        raise ValueError("a path cannot contain a NUL")
    return found


# -- web hooks

SECRET_VARIABLE = "WEBHOOK_SECRET"  # noqa: S105 - the name of the variable that has it
SECRET_PREFIX = "whsec_"  # noqa: S105 - stands before a key in base 64, as Standard Webhooks write it


def webhook_key(path: str | None) -> bytes:
    """Return the key that signs what goes to WEBHOOK_URL: that of `whsec_…`, or else the bytes of the secret.

    Raise ValueError or OSError if there is no secret.
    """
    secret = Path(path).read_text(encoding="utf-8") if path else os.environ.get(SECRET_VARIABLE, "")
    secret = secret.strip()
    if not secret:
        raise ValueError(f"{path or SECRET_VARIABLE} has no secret")
    if secret.startswith(SECRET_PREFIX):
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    return secret.encode()


# -- metrics

LIBRARY = "prometheus_client"
MISSING = missing(LIBRARY)
ENDING = ".prom"
LOOPBACK = "127.0.0.1"
_PORT = WholeNumber(0, 65_535)
_PLACE = re.compile(r"([0-9.]+|\[[0-9a-fA-F:.]+\]):([0-9]+)")


class MetricsPort:
    """A port on loopback, or on another address."""

    allowed: str = (
        "a port from 1 to 65535, also after an address, as 0.0.0.0:9180 or [::1]:9180; or 0 "
        "for any that is free"
    )

    def read(self, value: Any, /) -> tuple[str, int]:
        """Return the address and the port, of an address with a port or of a port alone."""
        found = _PLACE.fullmatch(value.strip()) if isinstance(value, str) else None
        host, port = found.groups() if found else (LOOPBACK, value)
        place = str(ip_address(host.strip("[]"))), _PORT.read(port)
        _need_library()
        return place


class MetricsFile:
    """A file that can be written."""

    allowed: str = f"the path of a file that ends in {ENDING}, in a folder that can be written to"

    def read(self, value: Any, /) -> str:
        """Return the path at which figures can be written for node_exporter."""
        found = _path(value)
        if Path(found).suffix != ENDING:  # node_exporter reads no others
            raise ValueError
        folder = Path(found).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ValueError(f"{folder} is not writable")
        if Path(found).is_dir():
            raise ValueError("it is a folder")
        _need_library()
        return found


def _need_library() -> None:
    """Raise ValueError if the library that writes metrics is not installed."""
    if find_spec(LIBRARY) is None:
        raise ValueError(MISSING)


# -- the network

DNS_PORT = 53
_BRACKETED = re.compile(r"\[([^]]+)\](?::([0-9]+))?")
_PLAIN = re.compile(r"([^:]+)(?::([0-9]+))?")
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_NAME = re.compile(r"(?!.*\.[0-9]+$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
TLS_VERSION = Choice(tuple(VERSIONS), exact=True)


class Networks:
    """Networks, by address and prefix length."""

    allowed: str = "comma-separated networks in CIDR form, such as 127.0.0.0/8,fd00::/8, or none"

    def read(self, value: Any, /) -> tuple[IPv4Network | IPv6Network, ...]:
        # strict: 10.1.2.3/8 may mean one address or sixteen million, and a wrong guess here opens
        # private networks
        return tuple(ip_network(word) for word in words(value))


class LocalAddress:
    """The address that connections come from."""

    allowed: str = "an IP address of this machine, without a port"

    def read(self, value: Any, /) -> tuple[str, int] | None:
        return local_address(value) if value else None


class PortRanges:
    """Single ports and ranges of ports."""

    allowed: str = (
        "comma-separated ports from 1 to 65535 and ranges of them, such as 7071,8000-8099, or none"
    )

    def read(self, value: Any, /) -> tuple[range, ...]:
        if isinstance(value, list):
            value = [str(one) if type(one) is int else one for one in value]
        return tuple(_range(word) for word in words(value))


class Servers:
    """Name servers, by address or name, and port."""

    allowed: str = "comma-separated host:port, such as 127.0.0.1:5353,[::1]:53, or none"

    def read(self, value: Any, /) -> tuple[tuple[str, int], ...]:
        return tuple(_server(word) for word in words(value))


def _range(word: str) -> range:
    """Return the ports of `8080` or `8000-8099`. Raise ValueError for any other word."""
    found = _PORTS.fullmatch(word)
    # 0, which is no port, for what has another form
    first = int(found[1]) if found else 0
    last = int(found[2] or found[1]) if found else 0
    if not 0 < first <= last < 65_536:
        raise ValueError(f"{word!r} is neither a port nor a range")
    return range(first, last + 1)


def _server(word: str) -> tuple[str, int]:
    """Return host and port of a name server; ValueError if the word is neither address nor name."""
    if found := _BRACKETED.fullmatch(word):
        host = str(IPv6Address(found[1]))
    elif found := _PLAIN.fullmatch(word):
        host = found[1] if _NAME.fullmatch(found[1]) else str(ip_address(found[1]))
    else:  # several colons without brackets: an IPv6 address alone
        return str(ip_address(word)), DNS_PORT
    port = int(found[2] or DNS_PORT)
    if not 0 < port < 65_536:
        raise ValueError(f"{word!r} has a port outside 1 to 65535")
    return host, port


class Ciphers:
    """Cipher suites."""

    allowed: str = "a list of cipher suites as OpenSSL has it"

    def read(self, value: Any, /) -> str:
        found = text(value)
        try:
            _check_ciphers(found)
        except ssl.SSLError as error:
            raise ValueError(", ".join(map(str, error.args))) from error
        return found


# Half of the time that checking all settings takes, and a start checks them a dozen times.
@lru_cache(8)
def _check_ciphers(ciphers: str) -> None:
    """Raise ssl.SSLError if OpenSSL does not know these cipher suites."""
    tls_context(ciphers=ciphers)


OF_ONE = WholeNumber(1, 64)  # connections to one domain or host
MARKS = frozenset("/?#@\\%*:= ")  # none is in a name


class HostConnections:
    """Numbers of connections by domain or host, whose names are brought into canonical form."""

    allowed: str = "a dict, JSON object or list of NAME=NUMBER: domains or hosts, whole numbers from 1 to 64; or none"

    def read(self, value: Any, /) -> dict[str, int]:
        """Return how many connections each host may have, of JSON or of `host=number` words.

        Raise ValueError for what is no name, and for a host that is given two different numbers.
        """
        is_json = isinstance(value, str) and value.lstrip().startswith("{")
        given = json.loads(value) if is_json else value
        pairs = (
            given.items() if isinstance(given, Mapping) else [*map(_name_and_number, words(given))]
        )
        rules: dict[str, int] = {}
        for name, number in pairs:
            connections = OF_ONE.read(number)
            host = _host_of_name(text(name))
            if rules.setdefault(host, connections) != connections:
                raise ValueError(f"{host} is named twice")
        return rules


def _name_and_number(word: str) -> tuple[str, str]:
    """Return both sides of the last `=` of a word; neither is checked."""
    name, equals, number = word.rpartition("=")
    if not equals:
        raise ValueError(f"{word} does not have the form NAME=NUMBER")
    return name, number


def _host_of_name(name: str) -> str:
    """Return a domain or host as URLs have it. Raise ValueError if it is neither."""
    # Within brackets is an IPv6 address, with colons.
    if MARKS.intersection(name) and not name.startswith("["):
        raise ValueError(f"{name} is neither a domain nor a host")
    try:
        host = host_of(canonical(f"http://{name}/"))
    except InvalidUrl as error:
        raise ValueError(f"{name} is neither a domain nor a host") from error
    # URLs hardly ever have the dot of DNS: a rule with it would hold for nobody
    return host.removesuffix(".")


# -- who the crawler is, and where it is reached

LONGEST_ADDRESS = 200  # characters of an origin or address
LONGEST_URL = 1000
_KEY_ITSELF = re.compile(r"-----|[{}\"\n]|PRIVATE KEY")  # of a key, not of its file's name
# perhaps what stands between a key's first line and its last
_KEY_WITHOUT_LINES = re.compile(r"[\w+=-][\w+/=-]{39,}")
_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_ORIGIN = re.compile(r"https://[^/?#@\\\"]+/")


class KeyFile:
    """A file with a private key; it is read to check it."""

    allowed: str = "the path of a file of mode 0600 with an Ed25519 key, PEM (PKCS #8) or JWK"

    def read(self, value: Any, /) -> str:
        """Return the path of the crawler's key, once the key was read.

        Raise ValueError if no key can be read there; Secret if this seems to be the key itself, as
        some operators give it. No message quotes the value.
        """
        found = text(os.fspath(value) if isinstance(value, os.PathLike) else value)
        if _KEY_ITSELF.search(found):
            raise Secret("this looks like the key itself; give the path of its file")
        from webcrawl.net.identity.signing_key import BadKey  # noqa: PLC0415 - its library takes 30 ms

        try:
            _check_key(_path(found))
        except FileNotFoundError as error:
            if _KEY_WITHOUT_LINES.fullmatch(found):
                raise Secret(
                    "there is no such file; if this is the key itself, give the path of its file"
                ) from None
            raise ValueError(
                f"there is no such file; create one with {program()} identity new"
            ) from error
        except BadKey as error:
            raise ValueError(str(error)) from None
        except OSError as error:
            raise ValueError(error.strerror or "it cannot be read") from error
        return found


@cache
def _check_key(path: str) -> None:
    """Raise BadKey or OSError unless the file has a key.

    Settings are checked at any time of a crawl, which has read its key at the start: a file that
    held one is not looked at again, so that it may be moved or exchanged.
    """
    from webcrawl.net.identity.signing_key import SigningKey  # noqa: PLC0415 - as above

    SigningKey.read(path)


class AgentOrigin:
    """Scheme, host and port of a key directory; perhaps after the form of Signature-Agent."""

    allowed: str = (
        "an https origin, without a path, such as https://bot.example.org, also after `string:`"
    )

    def read(self, value: Any, /) -> str:
        """Return the origin of the key directory, after the header's form if that is old."""
        if not isinstance(value, str) or len(value) > LONGEST_ADDRESS:
            raise ValueError
        form, origin = form_and_origin(value.strip())
        found = canonical(origin)
        # The canonical form has no fragment, so the value itself is looked at.
        has_more_than_origin = bool(set(value) & set("?#@"))
        if has_more_than_origin or not _ORIGIN.fullmatch(found):
            raise ValueError
        origin = found.rstrip("/")
        return f"{form}:{origin}" if form == STRING else origin


class MailAddress:
    """One mailbox, without a name."""

    allowed: str = "an e-mail address, or none"

    def read(self, value: Any, /) -> str:
        if is_none(value):
            return ""
        found = text(value)
        if len(found) > LONGEST_ADDRESS or not _MAIL.fullmatch(found):
            raise ValueError
        return found


class CallbackAddress:
    """The URL at which others reach this program."""

    allowed: str = "an http or https URL without query, fragment and credentials, such as https://crawl.example/websub"

    def read(self, value: Any, /) -> str | None:
        """Return the address at which hubs call the crawl, with no final slash, or None."""
        if value is None or value == "":
            return None
        if not isinstance(value, str) or len(value) > LONGEST_URL:
            raise ValueError
        has_more_than_path = bool(set(value) & set("?#@"))
        if has_more_than_path:
            raise ValueError
        found = canonical(value.strip())
        if not found.startswith(("http:", "https:")):
            raise ValueError
        return found.rstrip("/")
