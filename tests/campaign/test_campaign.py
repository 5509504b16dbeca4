"""A campaign does each piece once, keeps what came of it, and its page says so."""

import json
import sys

import pytest

from tests.campaign import __main__ as program
from tests.campaign import pieces
from tests.campaign.page import page
from tests.campaign.pieces import FAMILIES, Family, in_turns, words_of
from tests.campaign.results import Result, Results, figures_of, why

HOLDS, FAILS = "print('{\"kills\": 10}')", "raise AssertionError('one URL is lost')"


@pytest.fixture(name="campaign")
def _campaign(tmp_path, monkeypatch):
    """Runs a campaign of three pieces, the second of which does not hold; the answer is its exit
    status.
    """
    codes = [HOLDS, FAILS, HOLDS]
    family = Family(
        "kills", "kills", 3, lambda number: ["timeit", "-n1", "-r1", codes[number - 1]], "kills", 30
    )
    monkeypatch.setattr(program, "FAMILIES", (family,))
    monkeypatch.setattr(pieces, "BY_NAME", {"kills": family})

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["campaign", str(tmp_path), *words])
        return program.main()

    return run


def pieces_of(folder):
    return [
        json.loads(line)["piece"] for line in (folder / "results.jsonl").read_text().splitlines()
    ]


def test_a_piece_is_done_once(campaign, tmp_path):
    """A campaign that is started again does only what it has not done, whether that held or not."""
    assert (campaign(), campaign()) == (True, True)

    assert pieces_of(tmp_path) == ["kills/1", "kills/2", "kills/3"]


def test_a_campaign_that_is_stopped(campaign, tmp_path):
    """When its hours are over it begins no more; the next one goes on."""
    assert campaign("--hours", "-1") == 0
    assert not (tmp_path / "results.jsonl").exists()
    campaign()

    assert pieces_of(tmp_path) == ["kills/1", "kills/2", "kills/3"]


def test_pieces_beside_each_other(campaign, tmp_path):
    """With --at-once several run together; each is done once, and counts."""
    assert campaign("--at-once", "2") is True

    assert sorted(pieces_of(tmp_path)) == ["kills/1", "kills/2", "kills/3"]
    assert "| 20 of 1,000 | 3 of 100 | 2 |" in (tmp_path / "campaign.md").read_text()


def test_one_piece_again(campaign, tmp_path):
    """A piece that is named is done once more, and its last result is the one that counts."""
    campaign()
    campaign("--piece", "kills/2")

    assert pieces_of(tmp_path) == ["kills/1", "kills/2", "kills/3", "kills/2"]
    assert len(Results(tmp_path / "results.jsonl").last) == 3


def test_the_page(campaign, tmp_path):
    """It counts what held only, names what did not hold and why, and has its results beside it."""
    campaign()
    said = (tmp_path / "campaign.md").read_text()

    assert "| 20 of 1,000 | 3 of 100 | 2 |" in said
    assert "`kills/2`" in said
    assert "one URL is lost" in said
    assert len((tmp_path / "campaign.jsonl").read_text().splitlines()) == 3


def test_a_page_without_results():
    """Every family has its row."""
    assert page([]).count("\n| ") == len(FAMILIES) + 1


def test_every_family_comes_early():
    """A campaign that is stopped has done something of each family."""
    names = in_turns(FAMILIES)

    assert [name for name in names[: len(FAMILIES)] if name.endswith("/1")] == [
        f"{one.name}/1" for one in FAMILIES
    ]
    assert len({*names}) == len(names) == sum(family.pieces for family in FAMILIES)


def test_every_piece_is_a_program():
    """Each has a command line of its own."""
    commands = {
        family.name: {" ".join(words_of(name)) for name in family.names()} for family in FAMILIES
    }

    assert [
        name for name, found in commands.items() if len(found) != pieces.BY_NAME[name].pieces
    ] == []


def test_results_outlive_a_crash(tmp_path):
    """A result is in the file when it has been added."""
    path, result = (
        tmp_path / "results.jsonl",
        Result("kills/1", 0, "2026-11-23T00:00:00Z", 1.0, "abc", "x", {"kills": 1}),
    )
    Results(path).add(result)

    assert Results(path).all == [result]


def test_what_a_program_says():
    """Its last line of JSON are its figures; of what went wrong the assertion is told."""
    assert figures_of('{"kills": 1}\nmore\n{"kills": 2}\n') == {"kills": 2}
    assert figures_of("nothing") == {}
    assert why("Traceback\nAssertionError: lost\n  ^^^^\n") == "AssertionError: lost"
