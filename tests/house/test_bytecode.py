"""Bytecode of a run of the tests (tests/support/bytecode.py)."""

import os
from pathlib import Path

import pytest

from tests.support import bytecode

WITHOUT, PREFIX = bytecode.NAMES


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in (WITHOUT, PREFIX, bytecode.FOLDER):
        monkeypatch.delenv(name, raising=False)


def test_who_wants_none_in_his_folders_gets_it_elsewhere(monkeypatch):
    """Under PYTHONDONTWRITEBYTECODE it goes into a folder that ends with the run; the environment is as before then."""
    monkeypatch.setenv(WITHOUT, "1")
    monkeypatch.setenv(PREFIX, "elsewhere")

    with bytecode.kept():
        assert WITHOUT not in os.environ
        folder = Path(os.environ[PREFIX])
        assert folder.is_dir()

    assert (os.environ[WITHOUT], os.environ[PREFIX]) == ("1", "elsewhere")
    assert not folder.exists()


def test_otherwise_it_goes_where_it_always_does():
    """Whoever does not mind it has it where Python puts it."""
    with bytecode.kept():
        assert PREFIX not in os.environ

    assert bytecode.FOLDER not in os.environ


def test_one_process_is_the_first(monkeypatch):
    """The others wait until the first one has collected, also if it fails, and not for ever."""
    monkeypatch.setattr(bytecode.sys, "dont_write_bytecode", False)
    monkeypatch.setattr(bytecode, "PATIENCE", 0.1)
    order = []
    with bytecode.kept():
        with bytecode.one_first("gw1"):  # as if the first one never came
            order.append("gw1")
        with pytest.raises(ZeroDivisionError), bytecode.one_first("gw0"):
            raise ZeroDivisionError
        monkeypatch.setattr(bytecode, "PATIENCE", 1e9)
        with bytecode.one_first("gw2"):
            order.append("gw2")

    assert order == ["gw1", "gw2"]
