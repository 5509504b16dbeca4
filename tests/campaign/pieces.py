"""What a campaign consists of: numbered pieces, each the command line of a program that ends with
status 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.broken import DIES, FAILS
from tests.torture.calls import CALLS


@dataclass(frozen=True)
class Family:
    """Pieces of one kind.

    `counted` is a figure that the program prints in its last line; without one, pieces count.
    """

    name: str
    what: str
    pieces: int
    words: Callable[[int], list[str]]  # by number, from 1
    counted: str = ""
    wanted: int = 0  # of what is counted, in all pieces
    shown: tuple[str, ...] = ()  # other figures, whose sums the page has

    def names(self):
        return [f"{self.name}/{number}" for number in range(1, self.pieces + 1)]


def _seeded(*words):
    return lambda number: [*map(str, words), "--seed", str(number)]


def _one_of(cases, *words):
    return lambda number: [*map(str, words), *cases[number - 1]]


HOWS = FAILS + DIES
TORTURES = [["--only", family] for family in dict.fromkeys(call.family for call in CALLS)]
SUITES = [
    ["-m", "campaign", "-n", "2"],
    ["-m", "hypothesis", "-n", "2", "--hypothesis-profile=more"],
]
FAMILIES = (
    Family(
        "kills", "kills of a crawl with random outputs, features and settings", 100,
        _seeded("tests.campaign.kills", "--kills", 10), "kills", 1000, ("requests", "urls", "captures"),
    ),
    Family(
        "revisits", "kills of crawls that revisit pages, each over a month", 20,
        _seeded("tests.campaign.revisits", "--kills", 5), "kills", 100, ("days", "requests", "records"),
    ),
    Family(
        "hives", "attacks on the drones, the server and the network of hives with two to four drones", 34,
        _seeded("tests.campaign.hives", "--kills", 10), "strokes", 300, ("requests", "urls"),
    ),
    Family(
        "supervised", "kills of what `webcrawl hive` starts: supervisor, drones, two at once, server", 13,
        _seeded("tests.campaign.supervised", "--kills", 5), "kills", 60, ("requests", "urls"),
    ),
    Family(
        "disks", "disks that are full at some operation", 10,
        _seeded("tests.campaign.faults", "--how", "full", "--most", 5), "faults", 100,
    ),
    Family(
        "clocks", "clocks changed by an hour or a day", 5,
        _seeded("tests.torture", "--only", "clock", "--every", "--most", 10), "tried", 50,
    ),
    Family(
        "faults", "failures at every disk operation, in each of six ways", len(HOWS),
        _one_of([["--how", how] for how in HOWS], "tests.campaign.faults"), shown=("faults",),
    ),
    Family("torture", "failures of every system call", len(TORTURES), _one_of(TORTURES, "tests.torture")),
    Family("limits", "limits of the process, and removed files", 2,
           _one_of([["--limits"], ["--strokes"]], "tests.torture")),
    Family(
        "month", "simulated months of a failing web", 10, _seeded("benchmarks.month"),
        shown=("urls", "lost", "twice", "early", "kills"),
    ),
    Family(
        # one run: memory is level late
        "soak", "answers of a web with every fault, TLS, FTP, gopher and attackers", 1,
        lambda _: ["benchmarks.soak", "--requests", "700000"], "pages", 700_000,
    ),
    Family("fuzz", "20 minutes of fuzzing", 6, _seeded("tests.fuzz", "--minutes", 20)),
    Family("suites", "tests of killed crawls; more generated examples", len(SUITES), _one_of(SUITES, "pytest", "-q")),
)  # fmt: skip
BY_NAME = {family.name: family for family in FAMILIES}


def words_of(name):
    """The command line of this piece, behind `python -m`."""
    family, _, number = name.partition("/")
    return BY_NAME[family].words(int(number))


def in_turns(families):
    """The names of all pieces of these families, so that a campaign that is stopped has some of
    each.
    """
    places = (
        (number / family.pieces, name)
        for family in families
        for number, name in enumerate(family.names())
    )
    return [name for _, name in sorted(places, key=lambda place: place[0])]
