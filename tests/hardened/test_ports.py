"""No link leads a crawl to the ports of services that are not for it."""

# Seen on 2026-11-21, before this was fixed: http and https connected to each of the 82 ports, FTP
# to each but 21. Gopher connected to none of these, but to all seven ports of other services; FTP
# to 6667, by EPSV and by PASV.

import socketserver
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from tests.support.crawling import Crawl
from tests.support.doors import doors

# The Fetch Standard's bad ports, 2.9: mail, shells, chat, printers, file servers, telephones,
# displays.
BAD = [
    *(
        1,
        7,
        9,
        11,
        13,
        15,
        17,
        19,
        20,
        21,
        22,
        23,
        25,
        37,
        42,
        43,
        53,
        69,
        77,
        79,
        87,
        95,
        101,
        102,
        103,
        104,
        109,
    ),
    *(
        110,
        111,
        113,
        115,
        117,
        119,
        123,
        135,
        137,
        139,
        143,
        161,
        179,
        389,
        427,
        465,
        512,
        513,
        514,
        515,
        526,
        530,
    ),
    *(
        531,
        532,
        540,
        548,
        554,
        556,
        563,
        587,
        601,
        636,
        989,
        990,
        993,
        995,
        1719,
        1720,
        1723,
        2049,
        3659,
        4045,
    ),
    *(4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
]
FTP = 21
GOPHER = [70, 1070, 7070]
# of them none is a gopher server's, and none is in that list
OTHERS = [1025, 3306, 5432, 8080, 9200, 11434, 27017]
SETTINGS = {"ROBOTSTXT_OBEY": False, "HOST_MAX_FAILURES": 1, "HOST_PATIENCE": 0}


def crawl(folder, address, urls):
    """Asks for these URLs, each with a name of this address in it; the exit status."""
    names = [f"name{number}.test" for number in range(len(urls))]
    (folder / "hosts").write_text("".join(f"{address} {name}\n" for name in names))
    (folder / "seeds.txt").write_text(
        "".join(f"{url.format(name)}\n" for url, name in zip(urls, names, strict=True))
    )
    return Crawl(
        folder / "job",
        {"seeds": folder / "seeds.txt"},
        {"HOSTS_FILE": folder / "hosts", **SETTINGS},
    ).run()


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "gopher"])
def test_no_connection_is_opened_to_a_bad_port(tmp_path, scheme):
    """A URL with one of the Fetch Standard's bad ports ends without a connection; FTP has its own
    port.
    """
    ports = [port for port in BAD if scheme != "ftp" or port != FTP]
    with doors(ports) as found:
        status = crawl(tmp_path, found.address, [f"{scheme}://{{}}:{port}/x" for port in ports])

    assert (sorted(found.visits), status) == ([], 1)


def test_gopher_speaks_to_gopher_servers_only(tmp_path):
    """A gopher URL, whose writer chooses the line that is sent, is requested only on the ports of
    gopher servers.
    """
    with doors([*GOPHER, *OTHERS]) as found:
        status = crawl(
            tmp_path, found.address, [f"gopher://{{}}:{port}/0QUIT" for port in (*GOPHER, *OTHERS)]
        )

    assert {1070, 7070} <= found.visits.keys() <= {*GOPHER}
    assert status == 0


class Ftp(socketserver.StreamRequestHandler):
    """An FTP server whose files are to be fetched from whatever port it says."""

    def handle(self):
        with suppress(ConnectionError):
            self.wfile.write(b"220 welcome\r\n")
            for line in self.rfile:
                self.wfile.write(self.server.replies.get(line[:4], b"200 fine") + b"\r\n")


@contextmanager
def ftp(address, replies):
    with socketserver.ThreadingTCPServer((address, 0), Ftp) as server:
        server.replies, server.daemon_threads = replies, True
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param({b"EPSV": b"229 here (|||6667|)"}, id="EPSV"),
        pytest.param({b"EPSV": b"500 what", b"PASV": b"227 here (127,0,88,1,26,11)"}, id="PASV"),
    ],
)
def test_an_ftp_server_cannot_name_a_bad_port(tmp_path, replies):
    """A data connection is not opened to a bad port, whatever port an FTP server names for it."""
    with doors([6667]) as found, ftp(found.address, {b"USER": b"230 in", **replies}) as port:
        status = crawl(tmp_path, found.address, [f"ftp://{{}}:{port}/file"])

    assert (found.visits, status) == ({}, 1)
