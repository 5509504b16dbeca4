"""Which drone of a hive is asked, and what the answers of all are together."""

import json
import socket
from array import array
from io import BytesIO

import pytest
from scrapy.settings import Settings

from webcrawl.crawl.control import answer_text
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.hive.drone_report import Report, State
from webcrawl.crawl.hive.operator import Look
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.tools.commands.crawl_queries import ask_hive
from webcrawl.tools.supervisor import asked
from webcrawl.tools.supervisor.asked import AskedHive, status
from webcrawl.tools.supervisor.hive_orders import Unanswered

HERE = socket.gethostname()
FIGURES = {"pages": 10, "queued": 5, "hosts": 2, "failures": 1}


def report(drone, folder, state=State.RUNNING, **more):
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 1, "jobdir": f"{folder}/drone-{drone}"}
    return Report(drone=drone, state=state, figures=FIGURES, seconds=float(drone), **about, **more)


def look(folder, hosts=(HERE, HERE), states=(State.RUNNING, State.RUNNING), alive=(0, 1)):
    drones = range(len(hosts))
    return Look(
        map=SlotMap(1, tuple(drones), array("H", [1] * SLOTS)),
        places={drone: (hosts[drone], 7) for drone in drones},
        reports={drone: report(drone, folder, states[drone]) for drone in drones},
        leases=dict.fromkeys(alive, 1.0),
    )


def test_what_bounds_a_hive(tmp_path, monkeypatch):
    """The status of a hive says what bounds it: the seconds of all drones together."""
    monkeypatch.setitem(FIGURES, "bound/politeness", 30)
    monkeypatch.setitem(FIGURES, "bound/slots", 10)
    found = status(look(tmp_path))

    assert (found["bound/politeness"], found["bound/slots"]) == (60, 20)
    assert "bound by politeness 75 %, CONCURRENT_REQUESTS 25 %" in [*answer_text.status(found)]


def test_an_order_that_may_be_carried_out_later(tmp_path, monkeypatch):
    """Programs that gave it are told that it has no answer yet, not that it is refused."""

    def ask(*_):
        raise Unanswered("pause: drones 1 have not answered; they will know it")

    monkeypatch.setattr(AskedHive, "__init__", lambda *_: None)
    monkeypatch.setattr(AskedHive, "ask", ask)

    with pytest.raises(NoAnswer, match="they will know it"):
        ask_hive(Settings(), str(tmp_path), 1.0, BytesIO(), "pause")


@pytest.fixture(name="hive")
def _hive(tmp_path, monkeypatch):
    """A folder of a hive, and what its server says; whoever is asked notes it."""
    about = {"version": 1, "name": "web", "spider": "web", "partition": "domain", "founders": 2, "drones": [0, 1]}
    (tmp_path / "hive.json").write_text(json.dumps(about))
    for drone in (0, 1):
        (tmp_path / f"drone-{drone}").mkdir()
    heard = []

    class Client:
        def __init__(self, jobdir, patience):
            self._name = jobdir.name

        def ask(self, *words):
            heard.append((self._name, *words))
            return {"from": self._name}

    monkeypatch.setattr(asked, "Client", Client)

    def ask(seen, *words):
        one = AskedHive(Settings(), str(tmp_path), 1.0, None)
        monkeypatch.setattr(one, "_look", lambda: seen)
        return one.ask(*words), heard

    return tmp_path, ask


@pytest.mark.parametrize(
    ("states", "alive", "together"),
    [
        ((State.RUNNING, State.RUNNING), (0, 1), "running"),
        ((State.PAUSED, State.RUNNING), (0, 1), "running"),
        ((State.PAUSED, State.PAUSED), (0, 1), "paused"),
        ((State.PAUSED, State.RUNNING), (0,), "paused"),
        ((State.STOPPING, State.STOPPING), (0, 1), "stopping"),
        ((State.DRAINING, State.DRAINING), (0, 1), "running"),
    ],
)
def test_together(tmp_path, states, alive, together):
    """A hive is what all of its drones that are there are, and has what all of them have."""
    found = status(look(tmp_path, states=states, alive=alive))

    assert (found["state"], found["pages"], found["queued"], found["failures"]) == (together, 20, 10, 2)
    assert found["seconds"] == 1.0
    assert [row["state"] == "away" for row in found["drones"]] == [drone not in alive for drone in (0, 1)]


def test_without_a_report():
    """A drone that has said nothing yet is there all the same."""
    found = status(Look(places={0: ("a", 1)}, leases={0: 1.0}))

    assert (found["state"], found["pages"], found["drones"][0]["state"]) == ("running", 0, "running")


@pytest.mark.parametrize("word", ["example.com", "http://example.com/x", "WWW.example.com"])
def test_the_owner_is_asked(hive, word):
    """What concerns a host or a URL is asked of the drone to which it belongs."""
    folder, ask = hive

    _, heard = ask(look(folder), "about", word)

    assert heard == [("drone-1", "about", word)]


def test_an_owner_elsewhere(hive):
    """A drone on another machine is not asked; the line says where it is."""
    folder, ask = hive
    seen = look(folder, hosts=(HERE, "far"))

    with pytest.raises(CommandError, match="drone 1's, which runs elsewhere: scrapy ctl on far:"):
        ask(seen, "host", "example.com")
    assert ask(seen, "hosts")[1] == [("drone-0", "hosts")]


@pytest.mark.parametrize("word", ["http://", "a b", "http://[::1"])
def test_no_host(hive, word):
    """What is neither a host nor a URL is nobody's."""
    folder, ask = hive

    with pytest.raises(CommandError, match="is neither a host nor a URL"):
        ask(look(folder), "host", word)


def test_one_answers_for_all(hive):
    """Settings and opt-outs are the same on all drones: one of them is asked, one on this machine if there is one."""
    folder, ask = hive

    assert ask(look(folder), "get", "LOG_LEVEL") == ({"from": "drone-0"}, [("drone-0", "get", "LOG_LEVEL")])
    assert ask(look(folder, hosts=("far", HERE)), "excluded")[0] == {"from": "drone-1"}
    with pytest.raises(CommandError, match="runs elsewhere"):
        ask(look(folder, hosts=("far", "far")), "excluded")


def test_an_order_goes_to_no_socket(hive, monkeypatch):
    """It goes to all drones by their server, which answers when their checkpoints have it."""
    folder, ask = hive
    monkeypatch.setattr(asked, "given", lambda _, name, words: f"{name}: done")

    assert ask(look(folder), "pause") == ("pause: done", [])


def test_a_drone_that_is_away(hive, monkeypatch):
    """What it has not heard is no success if a server of the hive's own alone knows it, for a kill ends that."""
    folder, ask = hive
    monkeypatch.setattr(asked, "given", lambda *_: "done")
    seen = look(folder, alive=(0,))
    assert ask(seen, "pause")[0] == "done"

    (folder / "server").mkdir()
    (folder / "server" / "url").write_text(f"unix://{folder}/server/valkey.sock\n")
    with pytest.raises(NoAnswer, match="done, but drone 1 is away"):
        ask(seen, "pause")
    assert ask(seen, "stop")[0] == "done"


def test_piped_seeds_need_all_drones_here(hive):
    """Standard input is not read if a drone could not read what it brings."""
    folder, ask = hive

    with pytest.raises(CommandError, match="drones on other machines cannot read it"):
        ask(look(folder, hosts=(HERE, "far")), "seeds", "add", "-")


def test_standard_input_is_named_once(hive):
    """Otherwise nothing is read of it, and nothing is left in the folder."""
    folder, ask = hive

    with pytest.raises(CommandError, match="- is standard input, once"):
        ask(look(folder), "seeds", "add", "-", "-")
    assert not (folder / "seeds").exists()


def test_an_address(hive):
    """A host is found by its address in any spelling, as its drone takes it."""
    folder, ask = hive
    for word in ("::1", "[::1]:80"):
        _, heard = ask(look(folder), "host", word)

    assert heard[0][0] == heard[1][0]


def test_nobody_is_there(tmp_path, hive):
    """Without a server nobody says that no drone runs: it may be one that the settings do not name."""
    with pytest.raises(NotRunning, match="the hive is not running, or has a server that -s REDIS_URL=… must name"):
        AskedHive(Settings(), str(tmp_path), 1.0, None).ask("status")


def test_a_list_that_is_missing(hive, tmp_path, monkeypatch):
    """All lists are looked at before standard input is written to a file."""
    one = AskedHive(Settings(), str(tmp_path), 1.0, BytesIO(b"http://a.test/\n"))
    monkeypatch.setattr(one, "_look", lambda: look(tmp_path))

    with pytest.raises(CommandError, match=r"missing\.txt: No such file"):
        one.ask("seeds", "add", "-", str(tmp_path / "missing.txt"))

    assert not (tmp_path / "seeds").exists()
