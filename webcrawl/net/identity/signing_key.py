"""The crawler's key: Ed25519, in a file that no other user can read.

No message here shows anything of its content.
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from webcrawl.base.program import program
from webcrawl.store.disk import Disk, private_bytes

LONGEST_KEY_FILE = 16_384  # bytes of a key file
KEY_BYTES = 32
# RFC 9421 B.1.4 prints this key for everybody to test with; who signs with it proves nothing
PUBLISHED = frozenset({"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"})


class BadKey(ValueError):  # noqa: N818 - reads as what it is
    """A key file that cannot be used, with the reason in a line."""


class SigningKey:
    """A private key and the name by which verifiers find the public one."""

    __slots__ = ("_private", "keyid", "public")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.keyid = thumbprint(self.public)

    def __repr__(self) -> str:
        return f"<SigningKey {self.keyid}>"

    def __reduce__(self) -> str:
        raise TypeError("a key does not leave its process")

    def sign(self, data: bytes) -> bytes:
        return self._private.sign(data)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SigningKey:
        """Return the key in a file, PEM (PKCS #8) or a JWK; raises BadKey or OSError."""
        key = cls(_parsed(_private_bytes(path)))
        if key.keyid in PUBLISHED:
            raise BadKey(
                f"it is the published test key of RFC 9421: make your own with {program()} identity new"
            )
        return key

    @classmethod
    def new(cls, path: Path, disk: Disk | None = None) -> SigningKey:
        """Return a new key, written to a new file of mode 0600.

        Raise FileExistsError or another OSError.
        """
        disk = disk or Disk()
        private = Ed25519PrivateKey.generate()
        # Its mode from the start: between two calls others could open it
        descriptor = disk.create(path, 0o600)
        try:
            disk.write(
                descriptor, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            )
            disk.sync(descriptor)
        except OSError:
            disk.unlink(path)
            raise
        finally:
            os.close(descriptor)
        disk.sync_folder(path.absolute().parent)
        return cls(private)


def thumbprint(public: bytes) -> str:
    """Return the name of a public key: its JWK thumbprint (RFC 7638, RFC 8037 A.3)."""
    # RFC 7638 3: these members alone, in this order, without white space
    members = json.dumps(
        {"crv": "Ed25519", "kty": "OKP", "x": encoded(public)}, separators=(",", ":")
    )
    return encoded(sha256(members.encode()).digest())


def jwk(public: bytes) -> dict[str, str]:
    """Return a public key as a key directory has it."""
    return {
        "kty": "OKP",
        "crv": "Ed25519",
        "kid": thumbprint(public),
        "x": encoded(public),
        "use": "sig",
    }


def public_key(found: Any) -> bytes:
    """Return the bytes of a JWK's public key; raises BadKey."""
    if not isinstance(found, dict):
        raise BadKey("not a JSON object")
    if (found.get("kty"), found.get("crv")) != ("OKP", "Ed25519"):
        raise BadKey("its kty is not OKP, or its crv not Ed25519: only Ed25519 is supported")
    public = _decoded(found, "x")
    try:
        Ed25519PublicKey.from_public_bytes(public)
    except ValueError:
        raise BadKey("x is not a public key") from None
    return public


def encoded(data: bytes) -> str:
    """Return the data as base64url, without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _private_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return private_bytes(path, LONGEST_KEY_FILE).strip()
    except ValueError as error:
        raise BadKey(str(error)) from None


def _parsed(data: bytes) -> Ed25519PrivateKey:
    """Return the private key in a PEM or JWK. Raise BadKey, which quotes nothing of it."""
    # the original exceptions are left out (from None): they might quote what they could not read
    if data.startswith(b"{"):
        return _from_jwk(data)
    if not data.startswith(b"-----BEGIN "):
        raise BadKey("it is neither PEM nor a JWK")
    try:
        private = load_pem_private_key(data, None)
    except TypeError:
        # A crawl restarts by itself, and has no operator there to type a password.
        raise BadKey(
            "the key is encrypted; the crawl cannot ask for a password. Use a key without one"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadKey("it holds no private key that can be read: PKCS #8 in PEM, or a JWK") from None
    if not isinstance(private, Ed25519PrivateKey):
        kind = type(private).__name__.lstrip("_").removesuffix("PrivateKey")
        raise BadKey(f"it is an {kind.replace('EllipticCurve', 'EC')} key, not Ed25519")
    return private


def _from_jwk(data: bytes) -> Ed25519PrivateKey:
    """Return the private key of a JWK. Raise BadKey, also if its public part is another key's."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise BadKey("it is not JSON that can be read") from None
    if "keys" in found:
        raise BadKey("it is a set of keys, but must be a single JWK")
    public = public_key(found)
    if "d" not in found:
        raise BadKey("it is a public key, but must be the private one")
    private = Ed25519PrivateKey.from_private_bytes(_decoded(found, "d"))
    if private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) != public:
        raise BadKey("its public key (x) does not belong to its private key (d)")
    return private


def _decoded(found: dict[str, Any], name: str) -> bytes:
    """Return the bytes of a JWK's member, such as d or x. Raise BadKey."""
    value = found.get(name)
    data = b""
    if isinstance(value, str):
        padding = "=" * (-len(value) % 4)
        with suppress(ValueError):
            data = urlsafe_b64decode(f"{value}{padding}")
    if len(data) != KEY_BYTES:
        raise BadKey(f"{name} is not {KEY_BYTES} bytes of base64url")
    return data
