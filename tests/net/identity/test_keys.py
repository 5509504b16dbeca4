"""The crawler's key: what may be in its file, who may read it, and what is never said of it."""

import json
import pickle
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.support.identities import RFC_9421, RFC_9421_JWK, jwk_of, pem_of
from webcrawl.crawl.checks import SettingError, read
from webcrawl.net.identity.signing_key import BadKey, SigningKey, jwk, thumbprint
from webcrawl.store.disk import Disk


def written(folder, content, mode=0o600):
    path = folder / "key"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


class TestNew:
    def test_a_new_key(self, tmp_path):
        """A new key is PEM in a file of mode 0600, and reads as what was made."""
        made = SigningKey.new(tmp_path / "key.pem")

        assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
        assert (tmp_path / "key.pem").read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
        assert SigningKey.read(tmp_path / "key.pem").keyid == made.keyid

    def test_nothing_is_overwritten(self, tmp_path):
        """A file that is there stays as it is."""
        (tmp_path / "key.pem").write_text("mine")

        with pytest.raises(FileExistsError):
            SigningKey.new(tmp_path / "key.pem")
        assert (tmp_path / "key.pem").read_text() == "mine"

    def test_a_full_disk_leaves_no_half_key(self, tmp_path):
        """A key that could not be written leaves no file, so that the same command can be repeated."""

        class Full(Disk):
            def sync(self, fd):
                raise OSError(28, "No space left on device")

        with pytest.raises(OSError, match="No space"):
            SigningKey.new(tmp_path / "key.pem", Full())
        assert list(tmp_path.iterdir()) == []


class TestForms:
    def test_a_jwk(self, tmp_path):
        """A JWK is the same key as its PEM."""
        key = Ed25519PrivateKey.generate()

        first = SigningKey.read(written(tmp_path, json.dumps(jwk_of(key))))
        second = SigningKey.read(written(tmp_path, b"\n" + pem_of(key)))
        assert first.public == second.public

    def test_the_thumbprint(self):
        """A key's name is its JWK thumbprint, as the drafts print it for RFC 9421's test key (RFC
        8037 A.3).
        """
        public = RFC_9421.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

        assert thumbprint(public) == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
        assert thumbprint(
            bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        ) == ("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        assert jwk(public)["x"] == RFC_9421_JWK["x"]

    @pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
    def test_for_its_owner_alone(self, tmp_path, mode):
        """A file that only its owner can read is taken."""
        SigningKey.read(written(tmp_path, pem_of(Ed25519PrivateKey.generate()), mode))

    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o660])
    def test_for_others_too(self, tmp_path, mode):
        """A file that others can read or write is refused, with its mode."""
        path = written(tmp_path, pem_of(Ed25519PrivateKey.generate()), mode)

        with pytest.raises(BadKey, match=f"mode is {mode:04o}"):
            SigningKey.read(path)


PASSWORD = BestAvailableEncryption(b"secret")
OTHERS = {
    "it is an RSA key, not Ed25519": pem_of(rsa.generate_private_key(65537, 2048)),
    "it is an EC key, not Ed25519": pem_of(ec.generate_private_key(ec.SECP256R1())),
    "the key is encrypted": Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, PASSWORD
    ),
    "no private key that can be read": Ed25519PrivateKey.generate()
    .public_key()
    .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    "neither PEM nor a JWK": Ed25519PrivateKey.generate().private_bytes(
        Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
    ),
    "it is a set of keys": json.dumps({"keys": [jwk_of(Ed25519PrivateKey.generate())]}),
    "it is a public key": json.dumps({"kty": "OKP", "crv": "Ed25519", "x": RFC_9421_JWK["x"]}),
    "does not belong to its private key": json.dumps(
        jwk_of(Ed25519PrivateKey.generate()) | {"x": RFC_9421_JWK["x"]}
    ),
    "d is not 32 bytes": json.dumps(RFC_9421_JWK | {"d": RFC_9421_JWK["d"][:-5]}),
    "only Ed25519 is supported": json.dumps({"kty": "RSA", "n": "AQAB", "e": "AQAB"}),
    "not JSON": b'{"kty": "OKP", "d": ',
    "too long": b"-----BEGIN PRIVATE KEY-----" + b"A" * 20_000,
    "the published test key of RFC 9421": json.dumps(RFC_9421_JWK),
}


class TestRefused:
    @pytest.mark.parametrize("why", OTHERS)
    def test_what_is_no_such_key(self, tmp_path, why):
        """Anything else is refused in a line that says what it is."""
        path = written(tmp_path, OTHERS[why])

        with pytest.raises(BadKey, match=why) as refused:
            SigningKey.read(path)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize("kept", [30, 60, 90, 110])
    def test_a_truncated_key(self, tmp_path, kept):
        """A key file that was truncated is refused."""
        path = written(tmp_path, pem_of(Ed25519PrivateKey.generate())[:kept])

        with pytest.raises(BadKey, match="no private key that can be read"):
            SigningKey.read(path)

    def test_a_setting_that_names_no_file(self, tmp_path):
        """BOT_KEY names a file that is there."""
        with pytest.raises(
            SettingError, match=r"^BOT_KEY = '.*absent': must be .* \(there is no such file"
        ):
            read("BOT_KEY", str(tmp_path / "absent"))


class TestUnsaid:
    def test_nothing_shows_the_key(self):
        """Neither its text form nor a pickle has the private part."""
        key = SigningKey(RFC_9421)

        assert repr(key) == f"<SigningKey {key.keyid}>"
        with pytest.raises(TypeError):
            pickle.dumps(key)

    @pytest.mark.parametrize("form", ["pem", "line", "jwk", "d"])
    def test_a_key_in_place_of_its_file(self, form):
        """Who gives BOT_KEY the key itself does not see it again in the message."""
        key = Ed25519PrivateKey.generate()
        pem = pem_of(key).decode()
        given = {
            "pem": pem,
            "line": pem.split("\n")[1],
            "jwk": json.dumps(jwk_of(key)),
            "d": jwk_of(key)["d"],
        }[form]

        with pytest.raises(SettingError) as refused:
            read("BOT_KEY", given)
        assert given[:12] not in str(refused.value)
        assert "BOT_KEY = (not shown)" in str(refused.value)
        assert refused.value.__cause__ is None

    @pytest.mark.parametrize("why", OTHERS)
    def test_no_error_has_the_files_content(self, tmp_path, why):
        """The exception of a file that cannot be read has no cause that might quote it."""
        with pytest.raises(BadKey) as refused:
            SigningKey.read(written(tmp_path, OTHERS[why]))
        assert refused.value.__cause__ is None
