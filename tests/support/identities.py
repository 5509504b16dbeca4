"""Keys of crawlers, and the test vectors that are published for them."""

import ssl
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.support import certificates
from webcrawl.net.identity.key_directory import PATH

# RFC 9421 B.1.4, as a JWK
RFC_9421_JWK = {
    "kty": "OKP",
    "crv": "Ed25519",
    "kid": "test-key-ed25519",
    "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
}
RFC_9421 = Ed25519PrivateKey.from_private_bytes(urlsafe_b64decode(RFC_9421_JWK["d"] + "="))


def pem_of(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def jwk_of(key):
    """Return a key with its private part as a JWK."""
    private = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    written = {"d": private, "x": public}
    return {"kty": "OKP", "crv": "Ed25519"} | {
        name: urlsafe_b64encode(data).rstrip(b"=").decode() for name, data in written.items()
    }


def fields_of(site):
    lines = (site / "_headers").read_text().splitlines()
    return dict(line.strip().split(": ", 1) for line in lines[1:])


@contextmanager
def origin(folder, answer):
    """Serve https on loopback; yield the origin, and the environment that trusts its
    certificate.
    """
    authority, certificate, private = certificates.written(folder, "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, fields, content = answer(self.path)
            self.send_response_only(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", {"SSL_CERT_FILE": authority}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def serving(folder, change=lambda fields, content: (200, fields, content)):
    """Publish the directory of `folder` at an origin; `change` may do it wrong."""

    def answer(path):
        site = folder / "site"
        if path != PATH:
            return 404, {}, b""
        fields = {"Date": formatdate(usegmt=True), **fields_of(site)}
        return change(fields, (site / PATH[1:]).read_bytes())

    return origin(folder, answer)
