"""A real gopher server, pygopherd, in its own process: it keeps its configuration in its modules."""

import subprocess
import sys
from contextlib import contextmanager

SERVE = """
import sys
from pygopherd import initialization
server = initialization.initialize(sys.argv[1])
print(server.server_address[1], flush=True)
server.serve_forever()
"""
SETTINGS = """
[pygopherd]
port = 0
interface = {address}
servername = {name}
root = {root}
mimetypes = {types}
servertype = ThreadingTCPServer
encoding = []
detach = no
usechroot = no
tracebacks = yes
abstract_headers = no
abstract_entries = never
[logger]
logmethod = none
[GopherEntry]
defaultmimetype = application/octet-stream
mapping = [["text/html", "h"], ["text/.*", "0"], ["application/gopher-menu", "1"], ["image/gif", "g"], [".*", "9"]]
eaexts = {{}}
[protocols.ProtocolMultiplexer]
protocols = [rfc1436.GopherProtocol]
[handlers.HandlerMultiplexer]
handlers = [url.HTMLURLHandler, UMN.UMNDirHandler, html.HTMLFileTitleHandler, file.FileHandler]
[handlers.UMN.UMNDirHandler]
extstrip = none
[handlers.dir.DirHandler]
cachetime = 0
cachefile = .cache
ignorepatt = ^$
"""


@contextmanager
def real(root, scratch, name="127.0.0.1", address="127.0.0.1"):
    """Serve the folder as `name`; yields the port."""
    (scratch / "types").write_text("text/plain txt\ntext/html html\nimage/gif gif\n")
    (scratch / "settings").write_text(
        SETTINGS.format(address=address, name=name, root=root, types=scratch / "types")
    )
    command = [sys.executable, "-W", "error", "-c", SERVE, str(scratch / "settings")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            port = server.stdout.readline()
            assert port, server.stderr.read()
            yield int(port)
        finally:
            server.terminate()
