"""What was spoken: fields that other readers of archives know."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from tests.support.warc_crawl import Archive, exchange, files
from webcrawl.record.warc.warc_record import registered, spoken

JWARC = sorted(Path("~/.m2/repository/org/netpreserve/jwarc").expanduser().glob("*/jwarc-*.jar"))
HTTP_10 = b"HTTP/1.0 200 OK\r\n\r\n"
TLS = "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256"
FIELDS = ["WARC-Protocol: http/1.1", "WARC-Protocol: tls/1.2"]
SUITE = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (exchange(), FIELDS[:1]),
        (exchange(head=HTTP_10), ["WARC-Protocol: http/1.0"]),
        (exchange(tls=TLS), [*FIELDS, f"WARC-Cipher-Suite: {SUITE}"]),
        (exchange(tls="TLSv1 UNHEARD-OF"), ["WARC-Protocol: http/1.1", "WARC-Protocol: tls/1.0"]),
        (exchange("ftp://a.test/x", head=b""), ["WARC-Protocol: ftp"]),
        (exchange(head=b"ICY 200 OK\r\n\r\n"), []),
        (exchange(made_by="handler"), []),
        (exchange(made_by="handler", protocol="h2"), ["WARC-Protocol: h2"]),
        (exchange(made_by="handler", protocol="HTTP/1.1"), ["WARC-Protocol: http/1.1"]),
    ],
)
def test_protocols_from_the_top_down(made, found):
    """One field per protocol that is known to have been spoken, then IANA's name of the cipher suite."""
    assert spoken(made).splitlines() == found


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the command openssl knows both names, and is not here")
def test_suites_have_their_registered_names():
    """Every suite with certificates that OpenSSL offers gets the name that OpenSSL says the standard has for it."""
    command = ["openssl", "ciphers", "-stdname", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[2]: line.split()[0] for line in listed}
    others = ("anon", "PSK", "SRP", "NULL")

    assert len(names) > 50
    assert {name: registered(name) for name in names} == {
        name: "" if any(word in known for word in others) else known for name, known in names.items()
    }


@pytest.fixture(name="path", scope="module")
def _path(tmp_path_factory):
    archive = Archive(tmp_path_factory.mktemp("archive"))
    archive.write(exchange("https://a.test/", b"<p>hello", tls=TLS, certificate="sha256:00"))
    archive.stop()
    (path,) = files(archive.root)
    return path


class TestReaders:
    def test_warcio(self, path):
        """It gives both fields of request, response and metadata, and none of the warcinfo record."""
        with path.open("rb") as file:
            found = {
                record.rec_type: [value for name, value in record.rec_headers.headers if name == "WARC-Protocol"]
                for record in ArchiveIterator(file)
            }

        said = ["http/1.1", "tls/1.2"]
        assert found == {"warcinfo": [], "response": said, "request": said, "metadata": said}

    def test_fastwarc(self, path):
        """It gives all of them in their order."""
        with path.open("rb") as file:
            found = [list(record.headers) for record in FastIterator(file, parse_http=False)]

        assert [("WARC-Cipher-Suite", SUITE) in pairs for pairs in found] == [False, True, True, True]
        for pairs in found[1:]:
            assert [f"{name}: {value}" for name, value in pairs if name == "WARC-Protocol"] == FIELDS

    @pytest.mark.skipif(
        not JWARC or shutil.which("java") is None,
        reason="needs Java, and jwarc: mvn dependency:get -Dartifact=org.netpreserve:jwarc:0.31.1",
    )
    def test_jwarc(self, path):
        """It finds the records by the suite, and reads each of them."""
        rule = f'warc-cipher-suite == "{SUITE}"'
        command = ["java", "-Xshare:auto", "-cp", JWARC[-1], "org.netpreserve.jwarc.tools.WarcTool", "filter", rule]
        done = subprocess.run([*command, path], capture_output=True, check=True)
        data = gzip.decompress(done.stdout) if done.stdout[:2] == b"\x1f\x8b" else done.stdout

        assert data.count(b"WARC/1.1\r\n") == 3
        assert data.count(b"\r\nWARC-Protocol: http/1.1\r\nWARC-Protocol: tls/1.2\r\n") == 3
