"""The settings of a crawl, made again from what its state says of them."""

import pytest

from webcrawl import settings as defaults
from webcrawl.crawl.checks import check
from webcrawl.crawl.last_run import terms_of
from webcrawl.tools.why.saved_settings import URL_SETTINGS, values_of
from webcrawl.urls.foldings import no_index


class Mine:
    name = "mine"

    @classmethod
    def from_setup(cls, _setup):
        return cls()

    def keep(self, urls, _origin):
        return [url for url in urls if "mine" not in url]


def again(given, ordered=(), trusted=()):
    """The values of a crawl with these settings, those made again of its state, and what was odd."""
    values = check({**vars(defaults), **given})
    odd = []
    return values, values_of(terms_of("web", {}, values), dict(ordered), trusted, odd), odd


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"URL_SCOPE": "domain", "URL_MAX_DEPTH": 3, "REQUISITES": True, "TRAP_RULES": False},
        {"URL_EXCLUDE": [r"/private/", r"\.cgi$"], "URL_INCLUDE": r"^https?://a\.test/"},
        {"URL_EXCLUDE": r"a{2,3}"},
        {
            "PORTS_ALLOWED": [8080, "7000-7010"],
            "URL_SCHEMES": ["http", "ftp"],
            "URL_EXCLUDE_EXTENSIONS": "none",
        },
        {
            "URL_FOLDINGS": [f"{no_index.__module__}.no_index"],
            "POLITENESS_FACTOR": 2.5,
            "CRAWL_DELAY_MAX": 7,
        },
        {"POLITENESS_POLICY": "webcrawl.frontier.politeness.fixed.Fixed", "LINK_SOURCES": "a,img"},
    ],
)
def test_what_was_checked_comes_back(given):
    """Each setting has the value that the crawl had, whatever its kind."""
    values, found, odd = again(given)

    assert {name: found[name] for name in URL_SETTINGS} == {
        name: values[name] for name in URL_SETTINGS
    }
    assert found["URL_FILTERS"] == {
        path: order for path, order in values["URL_FILTERS"].items() if order is not None
    }
    assert odd == []


def test_a_filter_that_is_switched_off():
    """It is not among the filters."""
    path = "webcrawl.urls.filters.known_paths.KnownPathsFilter"
    _, found, _ = again({"URL_FILTERS": {**defaults.URL_FILTERS, path: None}})

    assert path not in found["URL_FILTERS"]
    assert len(found["URL_FILTERS"]) == len(defaults.URL_FILTERS) - 1


def test_the_connections_of_hosts():
    """They are by name; what was set by command takes the place of all."""
    _, found, odd = again({"HOST_CONNECTIONS": "a.org=4,[::1]=2"})
    assert (found["HOST_CONNECTIONS"], odd) == ({"a.org": 4, "[::1]": 2}, [])
    _, found, odd = again({"HOST_CONNECTIONS": "a.org=4"}, {"HOST_CONNECTIONS": "b.org=2"})
    assert (found["HOST_CONNECTIONS"], odd) == ({"b.org": 2}, [])
    odd = []
    assert values_of({"HOST_CONNECTIONS a.org": "99"}, {}, (), odd)["HOST_CONNECTIONS"] == {}
    assert odd[0].startswith("HOST_CONNECTIONS = ")


def test_what_was_set_by_command():
    """It goes before what the crawl was started with."""
    _, found, _ = again({}, {"POLITENESS_FACTOR": 3.0, "LOG_LEVEL": "INFO"})

    assert found["POLITENESS_FACTOR"] == 3.0
    assert "LOG_LEVEL" not in found


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("URL_SCHEMES", "http,https"),
        ("URL_EXCLUDE", "/private/"),
        ("URL_EXCLUDE_EXTENSIONS", "pdf zip"),
    ],
)
def test_a_list_that_was_set_by_command(name, written):
    """It is read as the crawl has read it: the state keeps what the user wrote."""
    _, found, odd = again({}, {name: written})

    assert found[name] == check({**vars(defaults), name: written})[name]
    assert odd == []


def test_a_file_set_by_command_that_is_gone(tmp_path):
    """The setting is what the crawl was started with, and a line says why."""
    _, found, odd = again({}, {"URL_EXCLUDE_FILE": f"{tmp_path}/gone"})

    assert found["URL_EXCLUDE_FILE"] is None
    assert odd[0].startswith("URL_EXCLUDE_FILE = ")


def test_code_set_by_command():
    """No command can set it, so a state that says so is not believed."""
    _, found, _ = again({}, {"POLITENESS_POLICY": "tests.support.no_such_module.policy"})

    assert found["POLITENESS_POLICY"] == defaults.POLITENESS_POLICY


def test_a_file_that_is_not_here(tmp_path):
    """The setting counts as not set, and a line says why."""
    (tmp_path / "x").write_text("a.test\n")
    values = check({**vars(defaults), "URL_EXCLUDE_FILE": tmp_path / "x"})
    (tmp_path / "x").unlink()
    odd = []
    found = values_of(terms_of("web", {}, values), {}, (), odd)

    assert found["URL_EXCLUDE_FILE"] is None
    assert odd[0].startswith("URL_EXCLUDE_FILE = ")


def test_code_of_somebody_else():
    """A JOBDIR names no code that is imported, unless this project names it too."""
    path = "tests.support.no_such_module.policy"
    odd = []
    found = values_of({"POLITENESS_POLICY": path, "URL_FOLDINGS": path}, {}, (), odd)

    assert found["POLITENESS_POLICY"] == defaults.POLITENESS_POLICY
    assert found["URL_FOLDINGS"] == ()
    assert len(odd) == 2
