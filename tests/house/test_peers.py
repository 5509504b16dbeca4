"""The runner of other crawlers: benchmarks/peers."""

import json
import zipfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers import heritrix
from benchmarks.peers.peer import Does, Missing, Peer, Web, nothing, step, within
from benchmarks.peers.truth import fetched
from benchmarks.support.processes import Cost, cost
from tests.support.commands import command
from tests.support.places import ROOT
from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.request_log import Hit

DOES = Does("yes", "none", "followed", "no", "none")


def log_of(path, *urls, status=200, outcome="sent"):
    """A log of the server: a line for each request."""
    hits = (Hit(0.0, 0.0, url, "127.0.0.1", 1, status=status, outcome=outcome) for url in urls)
    with path.open("a") as lines:
        lines.writelines(json.dumps(asdict(hit)) + "\n" for hit in hits)


@pytest.fixture(name="web")
def _web(tmp_path):
    seeds = tmp_path / "seeds"
    seeds.write_text("http://site0.test:1/\nhttp://site1.test:1/\n")
    return Web(hosts=2, pages=20, seeds=seeds)


@pytest.fixture(name="runs")
def _runs(monkeypatch):
    """Runs one peer on a web of two pages, of which a crawler fetches as many as are wanted."""

    def run(tmp_path, urls, command=("true",), **peer):
        @contextmanager
        def served(*words):
            log_of(Path(words[-1]), *urls)
            yield

        monkeypatch.setattr(peers, "is_alone", lambda: True)
        monkeypatch.setattr(peers, "served", served)
        monkeypatch.setattr(peers, "measured", lambda words: cost(words) and Cost(2.0, 3.0, 50, ""))
        made = Peer("one", DOES, nothing, lambda _, work, __: within(work, *command), **peer)
        monkeypatch.setattr(peers, "ALL", {"one": made})
        return peers.run(["one"], tmp_path, (1, 2))

    return run


ROOT_PAGE, CHILD = "http://site0.test:18110/", "http://site0.test:18110/news/stone-1.html"


def test_no_peer_runs_where_there_is_a_network(tmp_path, monkeypatch):
    """Outside a namespace with nothing but loopback the run ends before the first peer."""
    monkeypatch.setattr(peers, "is_alone", lambda: False)
    with pytest.raises(SystemExit, match="could reach a network"):
        peers.run(["webcrawl"], tmp_path, (1, 1))


@pytest.mark.parametrize(
    ("devices", "alone"), [(["lo"], True), (["lo", "eth0"], False), ([], False)]
)
def test_alone(monkeypatch, devices, alone):
    """A process is alone if its namespace has loopback and no other interface."""
    text = "\n".join(["Inter-|", " face |", *(f"{name:>6}: 0 0" for name in devices)])
    monkeypatch.setattr(Path, "read_text", lambda *_: text)
    assert peers.is_alone() is alone


def test_what_is_missing_is_skipped(tmp_path, monkeypatch, capsys):
    """A peer that cannot be built is skipped with a line that says why; the others run."""

    def fail(_):
        raise Missing("not installed: cargo")

    made = {
        name: Peer(name, DOES, build, None) for name, build in (("one", fail), ("two", nothing))
    }
    monkeypatch.setattr(peers, "ALL", made)

    assert peers.build(["one", "two"], tmp_path) == ["two"]
    assert capsys.readouterr().out == "one: skipped: not installed: cargo\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo building >&2; echo no such crate >&2; exit 1", "no such crate"),
        ("echo [ERROR] no such jar; echo [ERROR] see elsewhere; exit 1", r"\[ERROR\] no such jar"),
        ("exit 1", "failed"),
    ],
)
def test_a_build_that_fails(tmp_path, script, reason):
    """The reason is the first error that its tool names, or the last line that it says."""
    with pytest.raises(Missing, match=rf"^sh: {reason}$"):
        step(tmp_path, "sh", "-c", script)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nutch"], "unknown: nutch; there are: webcrawl, "),
        (["--dir", str(ROOT / "peers")], "is in the repository"),
        (["--hosts", "0"], "at least one host"),
    ],
)
def test_wrong_uses(words, line):
    """An unknown peer, a folder in the repository and a web without hosts are refused."""
    done = command("benchmarks.peers", *words)
    assert done.returncode == 2
    assert line in done.stderr


def test_what_was_fetched(tmp_path):
    """A page counts once, if it was sent whole; everything else that was asked for is other."""
    world, log = World(1, 2, port=18110), tmp_path / "log"
    log_of(
        log,
        ROOT_PAGE,
        ROOT_PAGE,
        "http://site0.test:18110/robots.txt",
        "http://site0.test/static/style.css",
    )
    log_of(log, CHILD, outcome="left")
    log_of(log, "http://site0.test:18110/never/1", status=404)

    assert fetched(log, world) == (1, 5)


def test_a_host_header_without_port(tmp_path):
    """A page is one also if the client leaves the port out of its Host header."""
    log_of(tmp_path / "log", "http://site0.test/")
    assert fetched(tmp_path / "log", World(1, 2, port=18110)) == (1, 0)


def test_a_row(tmp_path, runs, capsys):
    """A peer that fetched all pages has its row, and the status is 0."""
    assert runs(tmp_path, [ROOT_PAGE, CHILD, "http://site0.test:18110/robots.txt"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split() == ["one", "2", "1", "1", "-", "50", "yes", "none", "followed", "no", "none"]


def test_pages_that_were_not_fetched(tmp_path, runs, capsys):
    """A peer that did not fetch all pages is not compared in silence: a line says so, and the
    status is 1.
    """
    assert runs(tmp_path, [ROOT_PAGE]) == 1
    assert capsys.readouterr().out.splitlines()[2] == "one: 1 of 2 pages were not fetched"


def test_pages_that_cannot_be_fetched(tmp_path, runs, capsys):
    """If it is known that a peer cannot fetch all pages, the line says why, and the status is 0."""
    assert runs(tmp_path, [ROOT_PAGE], misses="it is blind") == 0
    assert (
        capsys.readouterr().out.splitlines()[2] == "one: 1 of 2 pages were not fetched: it is blind"
    )


def test_a_peer_that_fails(tmp_path, runs, capsys):
    """The end of what it printed is shown, and the status is 1."""
    assert runs(tmp_path, [], ("sh", "-c", "echo no memory; exit 3")) == 1
    assert capsys.readouterr().out.endswith("status 768\nno memory\n")


def jar(folder, profile):
    """Heritrix as it is built, with this profile."""
    path = folder / heritrix.HOME / f"lib/heritrix-engine-{heritrix.VERSION}.jar"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(heritrix.PROFILE, profile)


def test_the_job_of_heritrix(tmp_path, web):
    """Its job is the profile with all seeds, without delays, and without pictures and scripts."""
    jar(tmp_path, f"##..more?..## http://example.example/example {heritrix.NO_REJECTS}")
    words = peers.ALL["heritrix"].command(tmp_path, tmp_path / "work", web)

    job = (tmp_path / "work/jobs/web/crawler-beans.cxml").read_text()
    assert web.seeds.read_text() in job
    assert "disposition.minDelayMs=0" in job
    assert ".*/(static|never)/.*" in job
    assert words[-2:] == ["-r", "web"]


def test_another_profile_of_heritrix(tmp_path, web):
    """A profile in which a setting has no place is refused, lest a crawl with delays is measured."""
    jar(tmp_path, "another")
    with pytest.raises(ValueError, match="has no"):
        peers.ALL["heritrix"].command(tmp_path, tmp_path / "work", web)


def test_the_properties_of_bubing(tmp_path, web):
    """It gets the seeds, no delays, and enough room for the pages of every host; it is stopped
    after the last page.
    """
    words = peers.ALL["bubing"].command(tmp_path, tmp_path, web)

    lines = (tmp_path / "bubing.properties").read_text().splitlines()
    assert {
        f"seed=file:{web.seeds}",
        "schemeAuthorityDelay=0",
        "ipDelay=0",
        "maxUrlsPerSchemeAuthority=200",
    } <= {*lines}
    assert words[-2:] == ["20", str(tmp_path / "bubing.properties")]
