"""Small clients of a synthetic web's server."""

import http.client
import socket
import ssl
from contextlib import closing

from webcrawl.lab.simweb import wait_until_idle


def connect(server, address="127.0.0.1", scheme="http"):
    if scheme == "http":
        return closing(socket.create_connection((address, server.world.port), timeout=60))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection((address, server.world.tls_port), timeout=60)
    return closing(context.wrap_socket(plain))


def request(server, target="/", *headers, host=0, method="GET"):
    lines = [
        f"{method} {target} HTTP/1.1",
        f"Host: {server.world.origin(host).partition('//')[2]}",
        *headers,
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


def get(server, target="/", **headers):
    """Status, headers and body as Python's own client reads them."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.world.port, timeout=60)) as client:
        client.request("GET", target, headers={"Host": server.world.name(0), **headers})
        response = client.getresponse()
        return response.status, response.headers, response.read()


def logged(server):
    wait_until_idle(server)
    return server.log.hits


def drain(client):
    """All bytes until the server closes, and whether it reset the connection."""
    got = b""
    try:
        while data := client.recv(2**16):
            got += data
    except ConnectionResetError:
        return got, True
    return got, False
