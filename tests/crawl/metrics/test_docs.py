"""What the documentation, the board and the alerts say of metrics is what there is."""

import json
import re

import pytest

from tests.crawl.metrics.figures import DRONE, collector, read
from tests.support.places import ROOT
from webcrawl.crawl.metrics import ENGINE, FAILED, LABELLED, TROUBLES
from webcrawl.store.jobdir.figures import COUNTERS, GAUGES

DOCS = ROOT / "docs"
BOARD = DOCS / "deploy/grafana.json"
ALERTS = DOCS / "deploy/alerts.yml"
ELSEWHERE = {"webcrawl_build_info"}  # in the text above the tables
NAME = re.compile(r"\bwebcrawl_[a-z_]+\b")


@pytest.fixture(name="names")
def _names(tmp_path):
    """The names of all samples of a drone."""
    return {
        key[0] for key in read(collector(tmp_path, **DRONE, **dict.fromkeys(_keys(), 1)).text())
    }


def _keys():
    labelled = {f"{one.prefix}-1" for one in LABELLED}
    return {row.key for row in (*COUNTERS, *GAUGES)} - DRONE.keys() | labelled | {"revisit/sampled"}


def expressions(panels):
    for panel in panels:
        yield from (target["expr"] for target in panel.get("targets", []))


@pytest.mark.parametrize(
    "path", [BOARD, ALERTS, DOCS / "troubleshooting.md"], ids=lambda path: path.name
)
def test_no_metric_that_there_is_not(names, path):
    """Every metric that is named there is one that a crawl tells; a histogram may be named as a
    whole.
    """
    named = set(NAME.findall(path.read_text(encoding="utf-8")))

    assert named - names - {"webcrawl_download_duration_seconds"} == set()


def test_the_page_has_all(names):
    """docs/metrics.md, which docs/make_commands.py writes, has every metric that a crawl tells."""
    text = (DOCS / "metrics.md").read_text(encoding="utf-8")
    told = {name.removesuffix("_bucket") for name in names if "_process_" not in name}

    assert set(re.findall(r"^\| `(webcrawl_[a-z_]+)`", text, re.MULTILINE)) == told - ELSEWHERE
    assert set(NAME.findall(text)) - {"webcrawl_process_"} <= told | names


def test_what_is_wrong_has_a_name():
    """docs/metrics.md has all kinds of trouble, and the outcomes that are there from the beginning."""
    text = (DOCS / "metrics.md").read_text(encoding="utf-8")

    assert [name for name in (*TROUBLES.values(), ENGINE) if f"`{name}`" not in text] == []
    assert [name for name in FAILED if f"`{name}`" not in text] == []


class TestBoard:
    def test_every_panel_asks_something(self):
        """Panels have names, questions and places of their own, and all are about the crawls that
        were chosen.
        """
        board = json.loads(BOARD.read_text(encoding="utf-8"))
        panels = board["panels"]
        asked = [*expressions(panels)]

        assert len({panel["id"] for panel in panels}) == len(panels)
        assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(
            panels
        )
        assert all(
            panel["title"] and (panel["type"] == "row" or panel["targets"]) for panel in panels
        )
        assert len(asked) > 40
        assert all(text.count("webcrawl_") == text.count('jobdir=~"$jobdir"') > 0 for text in asked)

    def test_counters_are_asked_for_as_counters(self):
        """A counter is drawn as a rate or an increase; the total of pages is the one exception."""
        board = json.loads(BOARD.read_text(encoding="utf-8"))
        plain = [
            text
            for text in expressions(board["panels"])
            if "_total" in text and not re.search("rate|increase", text)
        ]

        assert plain == ['sum(webcrawl_pages_total{jobdir=~"$jobdir", drone=~"$drone"})']


def test_every_alert_is_explained():
    """docs/troubleshooting.md says of each alert, and of no other, what to do."""
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    alerts = re.findall(r"^      - alert: (\w+)$", ALERTS.read_text(encoding="utf-8"), re.MULTILINE)

    assert len(alerts) > 5
    assert re.findall(r"^\| `((?:Crawl|Drone|Hive)\w+)` \|", text, re.MULTILINE) == alerts
