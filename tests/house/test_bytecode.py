"""Bytecode of a run of the tests (tests/support/bytecode.py)."""

import os
import sys

import pytest

from tests.support import bytecode

WITHOUT, PREFIX = bytecode.NAMES


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.delenv(WITHOUT, raising=False)
    monkeypatch.setenv(PREFIX, "as before")
    monkeypatch.setattr(sys, "pycache_prefix", "as before")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_who_wants_none_in_his_folders_gets_it_elsewhere(monkeypatch, tmp_path):
    """Under PYTHONDONTWRITEBYTECODE it goes into another folder, also of the processes that are
    started later.
    """
    monkeypatch.setenv(WITHOUT, "1")

    bytecode.keep(lambda: tmp_path)

    assert (os.environ[PREFIX], sys.pycache_prefix) == (str(tmp_path), str(tmp_path))
    assert (WITHOUT in os.environ, sys.dont_write_bytecode) == (False, False)


def test_otherwise_it_goes_where_it_always_does():
    """Whoever does not mind it has it where Python puts it, and no folder is made."""
    bytecode.keep(lambda: pytest.fail("nobody needs it"))

    assert (os.environ[PREFIX], sys.pycache_prefix) == ("as before", "as before")
