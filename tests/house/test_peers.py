"""The runner of other crawlers: benchmarks/peers."""

from pathlib import Path

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers.peer import Does, Missing, Peer, nothing, step
from tests.support.commands import command
from tests.support.places import ROOT


def test_no_peer_runs_where_there_is_a_network(tmp_path, monkeypatch):
    """Outside a namespace with nothing but loopback the run ends before the first peer."""
    monkeypatch.setattr(peers, "alone", lambda: False)
    with pytest.raises(SystemExit, match="could reach a network"):
        peers.run(["webcrawl"], tmp_path, (1, 1))


@pytest.mark.parametrize(("devices", "alone"), [(["lo"], True), (["lo", "eth0"], False), ([], False)])
def test_alone(monkeypatch, devices, alone):
    """A process is alone if its namespace has loopback and no other interface."""
    text = "\n".join(["Inter-|", " face |", *(f"{name:>6}: 0 0" for name in devices)])
    monkeypatch.setattr(Path, "read_text", lambda *_: text)
    assert peers.alone() is alone


def test_what_is_missing_is_skipped(tmp_path, monkeypatch, capsys):
    """A peer that cannot be built is skipped with a line that says why; the others run."""

    def fail(_):
        raise Missing("not installed: cargo")

    does = Does("", "", "", "", "")
    made = {name: Peer(name, does, build, None, None) for name, build in (("one", fail), ("two", nothing))}
    monkeypatch.setattr(peers, "ALL", made)

    assert peers.build(["one", "two"], tmp_path) == ["two"]
    assert capsys.readouterr().out == "one: skipped: not installed: cargo\n"


def test_a_build_that_fails(tmp_path):
    """The reason is the last line that its tool says."""
    with pytest.raises(Missing, match=r"sh: no such crate$"):
        step(tmp_path, "sh", "-c", "echo building >&2; echo no such crate >&2; exit 1")


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


def test_the_readme_has_all():
    """The folder's README names every peer."""
    text = (ROOT / "benchmarks/peers/README.md").read_text(encoding="utf-8")
    assert [name for name in peers.ALL if f"`{name}`" not in text] == []
