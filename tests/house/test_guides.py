"""The commands of docs/guides, run as they stand there, one after the other in one folder."""

import re
import shlex

from tests.support.commands import command
from tests.support.crawling_sites import serving
from tests.support.places import ROOT

PAGE = b'<title>Home</title><link rel=stylesheet href="http://cdn.test/s.css"><a href=/next>next</a>'
QUICK = "-s POLITENESS_MIN_DELAY=0 -s MIN_FREE_DISK=0 -s PRIVATE_NETWORKS_ALLOWED=127.0.0.0/16"


def steps(name):
    """The words of each command that a guide wants to be run."""
    text = (ROOT / "docs/guides" / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


def answer(url):
    kind = "text/css" if url.endswith(".css") else "text/html"
    return (404, "text/plain", b"") if url.endswith("robots.txt") else (200, kind, PAGE if "html" in kind else b"p{}")


def test_the_archivists_guide(tmp_path):
    """Crawl, verify and wacz do what the guide says; only politeness and name lookup are the test's."""
    names = ["www.example.org", "cdn.test"]
    with serving(answer, tmp_path, names) as sites:
        (tmp_path / "sites.txt").write_text("http://www.example.org/\n")
        hosts = sites.hosts_file(tmp_path / "hosts", names)
        said = []
        for words in steps("archive.md"):
            program, *rest = words
            more = [*QUICK.split(), "-s", f"HOSTS_FILE={hosts}"] if rest[0] == "crawl" else []
            done = command(program, *rest, *more, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)

    assert "http://cdn.test/s.css" in sites.asked
    assert said[1].startswith("sites: no damage found\n")
    assert said[2].startswith("sites.wacz: archive files 1, records 5, seeds 1, other pages 1, bytes ")
    assert (tmp_path / "sites.wacz").stat().st_size > 1000
