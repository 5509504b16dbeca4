"""The number of a drone, as an operator or an engine gives it."""

import socket

import pytest

from webcrawl.crawl.checks import SettingError, check


@pytest.fixture(name="host")
def _host(monkeypatch):
    """Names this machine."""
    for name in ("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    return lambda name: monkeypatch.setattr(socket, "gethostname", lambda: name)


def number(**settings):
    return check({"HIVE_DRONES": 20, **settings})["HIVE_DRONE"]


@pytest.mark.parametrize(
    ("name", "ordinal"), [("crawl-0", 0), ("big-crawl-17", 17), ("node-3-12", 12)]
)
def test_of_a_stateful_set(host, name, ordinal):
    """It is the one at the end of the host's name."""
    host(name)
    assert number(HIVE_DRONE="auto") == ordinal


@pytest.mark.parametrize("name", ["JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"])
def test_of_a_job(host, monkeypatch, name):
    """It is the index that the engine gave, whatever the host is called."""
    host("node-3")
    monkeypatch.setenv(name, "7")
    assert number(HIVE_DRONE="auto") == 7


def test_nobody_has_given_one(host):
    """Such a start is refused: two drones of one number would ask the same hosts."""
    host("kiwi")
    with pytest.raises(
        SettingError,
        match=r"HIVE_DRONE = 'auto': must be a whole number .*host name, kiwi, does not end in a number",
    ):
        number(HIVE_DRONE="auto")


def test_one_is_said():
    """It is taken as it stands, though it may be beyond those with which the hive was founded."""
    assert number(HIVE_DRONE="3") == 3
    assert number(HIVE_DRONES=3, HIVE_DRONE=3) == 3
    with pytest.raises(
        SettingError, match="HIVE_DRONE = 65535: must be a whole number from 0 to 65534, or auto"
    ):
        number(HIVE_DRONE=65535)
