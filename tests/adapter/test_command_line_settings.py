"""Settings that the environment gives, as an engine does that starts containers."""

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from tests.support.commands import command
from webcrawl.adapter.command_line_settings import settings_words


@pytest.fixture(name="settings")
def _settings():
    return Settings({"HIVE_DRONES": 0, "METRICS_PORT": None})


def test_the_command_line_goes_before_them(settings, monkeypatch):
    """They stand before the words of `-s`, of which the last one counts."""
    monkeypatch.setenv("WEBCRAWL_HIVE_DRONES", "3")

    assert settings_words(settings, ["HIVE_DRONES=4"])[-2:] == ["HIVE_DRONES=3", "HIVE_DRONES=4"]


def test_other_names_are_passed_over(settings, monkeypatch):
    """Kubernetes tells each pod of its services by such names, and the program has some of its own."""
    monkeypatch.setenv("WEBCRAWL_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("WEBCRAWL_PROGRAM", "webcrawl")
    monkeypatch.setenv("HIVE_DRONES", "3")

    assert settings_words(settings, []) == []


def test_a_dict_is_json_there_too(settings, monkeypatch):
    """What `-s` would not take is refused in the same line."""
    monkeypatch.setenv("WEBCRAWL_ITEM_PIPELINES", "mine.Pipeline")

    with pytest.raises(UsageError, match=r"ITEM_PIPELINES = mine\.Pipeline: must be a JSON object"):
        settings_words(settings, [])


@pytest.mark.parametrize(
    ("words", "said"), [((), "'eight'"), (("-s", "FRONTIER_LEVELS=nine"), "'nine'")]
)
def test_of_a_crawl(tmp_path, words, said):
    """A crawl is checked, and runs, by them."""
    environment = {"WEBCRAWL_FRONTIER_LEVELS": "eight", "WEBCRAWL_JOBDIR": str(tmp_path / "job")}
    done = command(
        "webcrawl", "crawl", "http://a.test/", *words, cwd=tmp_path, environment=environment
    )

    assert done.stderr == f"FRONTIER_LEVELS = {said}: must be a whole number from 1 to 1000\n"


def test_of_other_commands(tmp_path):
    """`ctl` finds the hive and its password by them, as in a pod."""
    environment = {"WEBCRAWL_REDIS_PASSWORD_FILE": str(tmp_path / "none")}
    done = command(
        "webcrawl", "ctl", "redis://127.0.0.1:1/0", "status", cwd=tmp_path, environment=environment
    )
    assert done.stderr.startswith(f"REDIS_PASSWORD_FILE = {tmp_path}/none: cannot be read: ")
