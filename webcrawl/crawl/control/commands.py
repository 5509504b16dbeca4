"""The commands to a running crawl, in one table for all programs that pass them on.

A command is a plain function of the crawl and the words after its name. It returns what there is to
say, in a line or as figures, or raises CommandError; then nothing has changed.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from webcrawl.base.dates import iso
from webcrawl.base.errors import RulesError
from webcrawl.crawl.checks import SettingError, read, read_for_host
from webcrawl.crawl.control.command import (
    DEFAULT,
    LONGEST_NAME,
    Answer,
    Command,
    CommandError,
    host_named,
    url_named,
)
from webcrawl.crawl.control.exclusions import USAGE, wish_of
from webcrawl.crawl.control.in_force import ALIASES, check_set
from webcrawl.crawl.control.sheets import ALONE, FOR, SETTINGS
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.exclusion_rules import OptOut, refuse_star, rules_of, without_comment
from webcrawl.urls.seeds.seed_source import SeedError

if TYPE_CHECKING:
    from webcrawl.crawl.crawl import Crawl
    from webcrawl.crawl.host_orders import HostOrders

BY = ("queue", "errors", "bytes", "delay")
VERBS = ("pause", "resume", "retry", "drop", "delay")
MOST_ROWS = 1000  # rows of an answer
ROWS_SHOWN = 20  # the same unless somebody asks for more
MOST_RECORDS = 10_000  # of owners' wishes in an answer
LONGEST_URL = 1 << 16  # characters of a URL, whatever URL_MAX_LENGTH is


class Commanded(Protocol):
    """A crawl that can be commanded. What raises CommandError has done nothing."""

    @property
    def crawl(self) -> Crawl:
        """Return the crawl itself. Raise CommandError if it has ended."""

    def wake(self) -> None:
        """Look for something to fetch once the command is carried out."""

    def stop(self) -> None:
        """Ends the run as Ctrl-C does."""

    def checkpoint(self) -> Awaitable[None]:
        """Take a checkpoint as soon as possible; return when it has all that was done before."""

    def get(self, name: str) -> Mapping[str, Any]:
        """Return the value of a setting, and who says so. May raise CommandError."""

    def errors(self, most: int) -> Mapping[str, Any]:
        """Return the last unexpected errors, and outcomes by kind."""

    def threads(self) -> Mapping[str, Any]:
        """Return the downloads under way."""

    def status(self) -> Mapping[str, Any]:
        """Return the progress: `state` (running, paused, stopping), `seconds` and all counters."""


# -- the run


def stop(order: Commanded) -> Answer:
    order.stop()
    return "stopping: downloads in progress have a few seconds to finish; the rest is kept for the next run"


def pause(order: Commanded) -> Answer:
    if not order.crawl.pause():
        return "the crawl is already paused"
    return "paused until you resume it, even after a restart; downloads in progress will finish"


def resume(order: Commanded) -> Answer:
    crawl = order.crawl
    said = "resumed" if crawl.resume() else "the crawl is not paused"
    order.wake()
    # The network or the disk may hold the crawl all the same.
    stopped_by = crawl.outlook.stopped_by
    return f"{said}; but nothing is fetched ({stopped_by})" if stopped_by else said


async def checkpoint(order: Commanded) -> Answer:
    await order.checkpoint()
    return "a checkpoint was taken"


def status(order: Commanded) -> Answer:
    return order.status()


def seeds(order: Commanded, *words: str) -> Answer:
    """Have the crawl read the seeds of more sources: of all, or of none. Raise CommandError."""
    sources = words[1:] if words[0] == "add" and len(words) > 1 else words
    try:
        order.crawl.parts.seeding.add(*sources)
    except (SeedError, OSError) as error:
        raise CommandError(str(error)) from error
    order.wake()
    return f"seeds will be read from {', '.join(sources)}"


def check_sources(*words: str) -> None:
    if words == ("add",):
        raise CommandError("usage: seeds add SRC…")


def errors(order: Commanded, *words: str) -> Answer:
    return order.errors(_row_count(*words))


def threads(order: Commanded) -> Answer:
    return order.threads()


# -- settings


def set_value(order: Commanded, name: str, value: str) -> Answer:
    name = ALIASES.get(name, name)
    return f"{name} is {order.crawl.parts.in_force.set(name, value)}"


def check_value(name: str, value: str) -> None:
    check_set(ALIASES.get(name, name), value)


def get(order: Commanded, *names: str) -> Answer:
    if names:
        return order.get(*names)
    settings = [name for name in order.crawl.parts.in_force.values if name.isupper()]
    return {"settings": [order.get(name) for name in settings]}


def set_for(order: Commanded, domain: str, name: str, value: str) -> Answer:
    own = None if value == DEFAULT else read_for_host(name, value)
    return _hosts(order).set_for(_domain(domain), name, own)


def check_set_for(domain: str, name: str, value: str) -> None:
    """Raise CommandError if `set NAME VALUE --for DOMAIN` cannot be carried out."""
    _domain(domain)
    if name not in SETTINGS:
        raise CommandError(
            f"{name[:40]} cannot be set for a domain; these can: {', '.join(SETTINGS)}"
        )
    if value != DEFAULT:
        try:
            read_for_host(name, value)
        except SettingError as error:
            raise CommandError(str(error)) from error


def get_for(order: Commanded, domain: str) -> Answer:
    return _hosts(order).get_for(_domain(domain))


def _domain(word: str) -> str:
    """Return a name without port or path: sheets are for hosts and what is below them."""
    # An IPv6 address has colons of its own, within its brackets.
    after_address = word.partition("]")[2] if word.startswith("[") else word.partition("]")[0]
    if ":" in after_address:
        raise CommandError(f"{word[:LONGEST_NAME]}: give a domain or host without scheme and port")
    name = host_named(word)
    # A URL's host may begin so, and its sheet would be another host's.
    if name.startswith(ALONE):
        raise CommandError(f"{word[:LONGEST_NAME]}: a domain or host cannot begin with {ALONE}")
    return name


# -- owners who want to be left alone


def exclude(order: Commanded, *words: str) -> Answer:
    now = time.time()
    wish = wish_of(words, now)
    if not order.crawl.parts.in_force.exclude(wish):
        return f"{wish.rule} is already excluded"
    until = f" until {iso(wish.until, fraction=False)}" if wish.until else ""
    holds = "is" if wish.holds(now) else "was"
    forgets = "; outputs made from now on leave it out" if wish.forget else ""
    return f"{wish.rule} {holds} excluded{until}{forgets}"


def check_exclude(*words: str) -> None:
    try:
        wish = wish_of(words, time.time())
        rules_of([wish])
        refuse_star(wish.rule, f"exclude: {wish.rule[:80]!r}")
    except RulesError as error:
        raise CommandError(str(error)) from error


def include(order: Commanded, rule: str) -> Answer:
    order.crawl.parts.in_force.include(rule)
    # A wider rule, or one of the exclusion file, which no command can take back.
    is_still_excluded = rules_of(_records(order), time.time()).excludes(_first_url(rule))
    still = (
        f"; another rule still excludes it: `excluded {rule}` shows which"
        if is_still_excluded
        else ""
    )
    return f"{rule} is no longer excluded; URLs that were dropped meanwhile do not come back{still}"


def _first_url(rule: str) -> str:
    """Return the first of the URLs that a rule names."""
    rule = without_comment(rule)
    if "://" in rule:
        return canonical(rule)
    # `*.example.org` is for a domain and what is below it, as `example.org` is.
    domain = rule.removeprefix("*").removeprefix(".")
    return canonical(f"http://{domain}")


def excluded(order: Commanded, word: str = "") -> Answer:
    return excluded_among(_records(order), word)


def check_excluded(word: str = "") -> None:
    if word:
        url_named(word)


def excluded_among(records: Sequence[OptOut], word: str = "") -> Answer:
    """Return the answer to `excluded`: all of these records, or those that name this host or URL."""
    now = time.time()
    found = records
    if word:
        url = url_named(word)
        found = [one for one in records if rules_of([one]).excludes(url)]
    shown = [one.to_json(now) for one in found[:MOST_RECORDS]]
    return {"records": len(found), "excluded": shown}


def _records(order: Commanded) -> list[OptOut]:
    """Return the records given by command, and those of the exclusion file."""
    parts = order.crawl.parts
    return [*parts.in_force.excluded.records, *parts.file_optouts.records()]


# -- single hosts and URLs


def host(order: Commanded, word: str, verb: str = "", value: str = "") -> Answer:
    """Carry out an order for a host and return what to say, or its record without a verb."""
    name = host_named(word)
    orders = _hosts(order)
    # An order that lasts is noted by every drone of a hive, as the host may move there.
    if _only_looks(word, verb):
        _refuse_elsewhere(order, word)
    if verb == "delay":
        seconds = None if value == DEFAULT else _delay_seconds(value)
        return orders.delay(name, seconds)
    if verb:
        # `check_host` lets only VERBS through, and HostOrders has a method for each.
        answer_text: str = getattr(orders, verb)(name)
        return answer_text
    return orders.record(name)


def check_host(word: str, verb: str = "", value: str = "") -> None:
    """Raise CommandError unless these words are an order for a host; only `delay` has a value."""
    host_named(word)
    if verb and verb not in VERBS:
        raise CommandError(
            f"{verb[:40]}: not a command for a host; the commands are {', '.join(VERBS)}"
        )
    takes_value = verb == "delay"
    if bool(value) is not takes_value:
        wanted = f" SECONDS, or {DEFAULT}" if takes_value else ""
        raise CommandError(f"usage: host NAME {verb}{wanted}")
    if takes_value and value != DEFAULT:
        _delay_seconds(value)


def _only_looks(_word: str, verb: str = "", _value: str = "") -> bool:
    """Return whether these words of `host` leave nothing that has to last."""
    # A retry ends a wait, and leaves nothing that a restart could put in force again.
    return not verb or verb == "retry"


def _delay_seconds(value: str) -> float:
    """Return the seconds of a delay. Raise CommandError unless POLITENESS_MIN_DELAY may have them."""
    try:
        seconds: float = read("POLITENESS_MIN_DELAY", value)
    except SettingError as error:
        why = str(error).partition(": ")[2]
        raise CommandError(f"delay {value[:40]}: {why}, or {DEFAULT}") from error
    return seconds


def hosts(order: Commanded, *words: str) -> Awaitable[Answer]:
    return _hosts(order).top(*_order_and_row_count(*words))


def _order_and_row_count(*words: str) -> tuple[str, int]:
    """Return what hosts are sorted by, and how many are shown. Raise CommandError."""
    by, most = _options(words, {"--by": BY[0], "-n": str(ROWS_SHOWN)})
    if by not in BY:
        raise CommandError(f"--by {by[:40]}: must be one of {', '.join(BY)}")
    return by, _number_of_rows(most)


def _refuse_elsewhere(order: Commanded, word: str) -> None:
    """Raise CommandError if the host belongs to another drone of the hive."""
    drone_parts = order.crawl.parts.drone_parts
    if drone_parts is None:  # no drone: there is no other
        return
    drone = drone_parts.drone
    owner = drone.owner(url_named(word))
    if owner != drone.me:
        raise CommandError(
            f"{word[:LONGEST_NAME]}: belongs to drone {owner} of this hive; give the folder of that drone, "
            "on its machine"
        )


def refuse_host_elsewhere(order: Commanded, name: str, *words: str) -> None:
    """Raise CommandError if a command for a host is given to a drone that does not have the host.

    For commands to one drone. Those to all drones are noted by each: the host may move there.
    """
    if name == "host" and words:
        _refuse_elsewhere(order, words[0])


def queue(order: Commanded, word: str, *words: str) -> Answer:
    _refuse_elsewhere(order, word)
    return _hosts(order).queue(*_host_and_row_count(word, *words))


def _host_and_row_count(word: str, *words: str) -> tuple[str, int]:
    return host_named(word), _row_count(*words)


def robots(order: Commanded, word: str) -> Answer:
    _refuse_elsewhere(order, word)
    return _hosts(order).robots(url_named(word), of_url="://" in word)


def about(order: Commanded, *urls: str) -> Mapping[str, Any]:
    """Return facts about URLs that the last checkpoint lacks, by URL, for `webcrawl why`."""
    return {url: order.crawl.parts.about(url) for url in _canonical(*urls)}


def _canonical(*urls: str) -> list[str]:
    """Return the canonical forms of URLs. Raise CommandError for one that no crawl can fetch."""
    canonical_urls = []
    for url in urls:
        try:
            canonical_urls.append(canonical(url, max_length=LONGEST_URL))
        except InvalidUrl as error:
            raise CommandError(
                f"{url[:80]}: not a URL that a crawl can fetch ({error.reason})"
            ) from error
    return canonical_urls


def _hosts(order: Commanded) -> HostOrders:
    """Return what carries out orders for hosts. Raise CommandError if this crawl has none."""
    orders = order.crawl.parts.hosts
    # A command may end a host's wait; the loop runs when the command has been carried out.
    order.wake()
    if orders is None:
        raise CommandError("the FRONTIER of this crawl has no commands for hosts")
    return orders


def _row_count(*words: str) -> int:
    """Return the number of rows that these words ask for."""
    return _number_of_rows(*_options(words, {"-n": str(ROWS_SHOWN)}))


def _options(words: Sequence[str], defaults: Mapping[str, str]) -> list[str]:
    """Return the values of these options in the order of `defaults`.

    Each is given as two words, or as one with `=`. Raise CommandError for any other word.
    """
    found = dict(defaults)
    words_left = list(words)
    while words_left:
        name, equals, value = words_left.pop(0).partition("=")
        has_value = bool(equals or words_left)
        if name not in defaults or not has_value:
            options = ", ".join(f"{one} VALUE" for one in defaults)
            raise CommandError(f"{name[:40]}: unknown option; the options are {options}")
        found[name] = value if equals else words_left.pop(0)
    return [found[name] for name in defaults]


def _number_of_rows(word: str) -> int:
    """Return the number of rows that is the value of `-n`. Raise CommandError."""
    # `int` also takes digits of other scripts, and refuses a text of some thousand digits.
    is_number = word.isascii() and word.isdecimal() and len(word) < 9
    if not is_number or not 0 < int(word) <= MOST_ROWS:
        raise CommandError(f"-n {word[:40]}: must be a whole number from 1 to {MOST_ROWS}")
    return int(word)


# -- the table

_OF_HOST = "NAME [pause|resume|retry|drop|delay SECONDS]"
_OF_HOSTS = "[--by queue|errors|bytes|delay] [-n 20]"
_FOR = f"change a setting for one domain or host; the value {DEFAULT} undoes it"
_ABOUT = "show what only the running process knows of URLs; see why"
_EXCLUDED = "list what is excluded, since when and why"
_ERRORS = "list the last unexpected errors, and count outcomes by kind"
COMMANDS: dict[str, Command] = {
    one.name: one
    for one in (
        Command("stop", stop, "", "end the run; the command that started it resumes the crawl"),
        Command("pause", pause, "", "fetch nothing until resume", lasting=True),
        Command("resume", resume, "", "continue after pause", lasting=True),
        Command("checkpoint", checkpoint, "", "take a checkpoint now"),
        Command(
            "exclude",
            exclude,
            USAGE,
            "stop fetching from a domain or URL prefix",
            1,
            10,
            True,
            check_exclude,
        ),
        Command("include", include, "RULE", "undo exclude", 1, 1, True),
        Command("excluded", excluded, "[NAME|URL]", _EXCLUDED, 0, 1, False, check_excluded),
        Command("seeds", seeds, "add SRC…", "read more seeds", 1, None, True, check_sources),
        Command("get", get, "[NAME]", "show settings, and where each value comes from", 0, 1),
        Command(
            "set",
            set_value,
            "NAME VALUE",
            "change a setting",
            2,
            2,
            True,
            check_value,
        ),
        Command("status", status, "", "show progress"),
        Command(
            "host",
            host,
            _OF_HOST,
            "show or control one host",
            1,
            3,
            True,
            check_host,
            _only_looks,
        ),
        Command("hosts", hosts, _OF_HOSTS, "list hosts", 0, 4, False, _order_and_row_count),
        Command(
            "queue",
            queue,
            "NAME [-n 20]",
            "list the next URLs of a host",
            1,
            3,
            False,
            _host_and_row_count,
        ),
        Command(
            "robots",
            robots,
            "NAME|URL",
            "show a host's robots.txt rules, or what they say of a URL",
            1,
            1,
            False,
            url_named,
        ),
        Command("errors", errors, "[-n 20]", _ERRORS, 0, 2, False, _row_count),
        Command("threads", threads, "", "list the downloads under way"),
        Command(f"set {FOR}", set_for, "DOMAIN NAME VALUE", _FOR, 3, 3, True, check_set_for),
        Command(
            f"get {FOR}",
            get_for,
            "DOMAIN",
            "show the settings of one domain or host",
            1,
            1,
            False,
            _domain,
        ),
        Command("about", about, "URL…", _ABOUT, 1, None, False, _canonical),
    )
}


def checked(name: str, *words: str) -> Command:
    """Return the command of this name, or raise CommandError if these words may not follow it.

    A running crawl may still refuse it because of what is in force there.
    """
    command, _ = _checked_with_words(name, words)
    return command


def obey(order: Commanded, name: str, *words: str) -> Answer | Awaitable[Answer]:
    """Carries a command out, or begins to: what takes long is to be awaited. Raise CommandError."""
    command, words_left = _checked_with_words(name, words)
    return command.run(order, *words_left)


def _checked_with_words(name: str, words: tuple[str, ...]) -> tuple[Command, tuple[str, ...]]:
    """Return what `checked` returns, and the words that are left for the command."""
    command, words = _command_and_words(name, words)
    if command is None:
        raise CommandError(
            f"{_short(name)!r} is not a command; the commands are {', '.join(COMMANDS)}"
        )
    has_too_many = command.most is not None and len(words) > command.most
    if len(words) < command.least or has_too_many:
        raise CommandError(f"usage: {command.usage}")
    # Words are repeated in logs and in lines of answers.
    if not all(word.strip() and word.isprintable() for word in words):
        raise CommandError(f"usage: {command.usage}; no word may be empty or contain a line break")
    if command.check is not None:
        command.check(*words)
    return command, words


def _command_and_words(name: str, words: tuple[str, ...]) -> tuple[Command | None, tuple[str, ...]]:
    """Return the command of this name, None if there is none, and the words that are left for it.

    What is done for one domain is a command of its own: `set --for`, whose name is two words.
    """
    of_domain = COMMANDS.get(f"{name} {FOR}") if words[:1] == (FOR,) else None
    if of_domain is not None:
        return of_domain, words[1:]
    return COMMANDS.get(name), words


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
