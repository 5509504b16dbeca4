"""Commands that look at and steer single hosts: host, hosts, queue, robots; and what the crawl is doing right now.

`about` says what only the running crawl knows of URLs; `scrapy why` asks it (docs/why.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from webcrawl.crawl.checks import SettingError, read
from webcrawl.crawl.control.command import DEFAULT, Answer, Command, CommandError, host_named, url_named
from webcrawl.urls.canonical import InvalidUrl, canonical

BY = ("queue", "errors", "bytes", "delay")
VERBS = ("pause", "resume", "retry", "drop", "delay")
MOST = 1000  # rows of an answer
SHOWN = 20  # the same unless somebody asks for more

LONGEST_URL = 1 << 16  # characters of a URL, whatever URL_MAX_LENGTH is


class Hosts(Protocol):
    """The crawl's knowledge of hosts, and its orders about one. A call that raises CommandError has done nothing."""

    def record(self, name: str) -> Mapping[str, Any]:
        """All that is known of this host."""

    def pause(self, name: str) -> str: ...

    def resume(self, name: str) -> str: ...

    def retry(self, name: str) -> str: ...

    def drop(self, name: str) -> str: ...

    def delay(self, name: str, seconds: float | None) -> str:
        """So many seconds between two requests; None: as for all."""

    def top(self, by: str, most: int) -> Awaitable[Mapping[str, Any]]:
        """The first hosts by one of BY."""

    def queue(self, name: str, most: int) -> Mapping[str, Any]:
        """The next URLs of this host."""

    def robots(self, url: str, *, of_url: bool) -> Mapping[str, Any]:
        """The robots.txt rules of its host; `of_url`: and what they say of this URL."""

    def set_for(self, domain: str, name: str, value: Any) -> str:
        """Gives a setting another value for one domain; None: takes it back."""

    def get_for(self, domain: str) -> Mapping[str, Any]:
        """The settings that hold there, and who says so."""


class Steered(Protocol):
    """The part of a crawl that these commands need."""

    @property
    def hosts(self) -> Hosts: ...

    def errors(self, most: int) -> Mapping[str, Any]:
        """The last unexpected errors, and outcomes by kind."""

    def threads(self) -> Mapping[str, Any]:
        """The downloads under way."""


def host(crawl: Steered, word: str, verb: str = "", value: str = "") -> Answer:
    name, hosts = host_named(word), crawl.hosts
    if verb == "delay":
        return hosts.delay(name, None if value == DEFAULT else _seconds(value))
    if verb:
        said: str = getattr(hosts, verb)(name)
        return said
    return hosts.record(name)


def check_host(word: str, verb: str = "", value: str = "") -> None:
    host_named(word)
    if verb and verb not in VERBS:
        raise CommandError(f"{verb[:40]}: a host can be told to {', '.join(VERBS)}")
    if bool(value) is not (verb == "delay"):
        raise CommandError(f"usage: host NAME {verb}{' SECONDS, or ' + DEFAULT if verb == 'delay' else ''}")
    if verb == "delay" and value != DEFAULT:
        _seconds(value)


def _looks(_word: str, verb: str = "", _value: str = "") -> bool:
    return not verb or verb == "retry"


def _seconds(value: str) -> float:
    try:
        seconds: float = read("POLITENESS_MIN_DELAY", value)
    except SettingError as error:
        why = str(error).partition(": ")[2]
        raise CommandError(f"delay {value[:40]}: {why}, or {DEFAULT}") from error
    return seconds


def hosts(crawl: Steered, *words: str) -> Awaitable[Answer]:
    by, most = _options(words, {"--by": BY[0], "-n": str(SHOWN)})
    return crawl.hosts.top(by, _count(most))


def check_hosts(*words: str) -> None:
    by, most = _options(words, {"--by": BY[0], "-n": str(SHOWN)})
    if by not in BY:
        raise CommandError(f"--by {by[:40]}: must be one of {', '.join(BY)}")
    _count(most)


def queue(crawl: Steered, word: str, *words: str) -> Answer:
    (most,) = _options(words, {"-n": str(SHOWN)})
    return crawl.hosts.queue(host_named(word), _count(most))


def check_queue(word: str, *words: str) -> None:
    host_named(word)
    _count(*_options(words, {"-n": str(SHOWN)}))


def robots(crawl: Steered, word: str) -> Answer:
    return crawl.hosts.robots(url_named(word), of_url="://" in word)


def check_robots(word: str) -> None:
    url_named(word)


def errors(crawl: Steered, *words: str) -> Answer:
    (most,) = _options(words, {"-n": str(SHOWN)})
    return crawl.errors(_count(most))


def check_errors(*words: str) -> None:
    _count(*_options(words, {"-n": str(SHOWN)}))


def threads(crawl: Steered) -> Answer:
    return crawl.threads()


def _options(words: Sequence[str], defaults: Mapping[str, str]) -> list[str]:
    """The values of these options, each given as two words, or as one with `=`."""
    found, left = dict(defaults), list(words)
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name not in defaults or not (equals or left):
            raise CommandError(f"{name[:40]}: there are {', '.join(f'{one} VALUE' for one in defaults)}")
        found[name] = value if equals else left.pop(0)
    return [found[name] for name in defaults]


def _count(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 9 and 0 < int(word) <= MOST):
        raise CommandError(f"-n {word[:40]}: must be a whole number from 1 to {MOST}")
    return int(word)


_OF_HOST = "NAME [pause|resume|retry|drop|delay SECONDS]"
ROWS = (
    Command("host", host, _OF_HOST, "what is known of a host; steer it", 1, 3, True, check_host, _looks),
    Command("hosts", hosts, "[--by queue|errors|bytes|delay] [-n 20]", "the first hosts", 0, 4, check=check_hosts),
    Command("queue", queue, "NAME [-n 20]", "the next URLs of a host", 1, 3, check=check_queue),
    Command("robots", robots, "NAME|URL", "the rules in force; what they say of a URL", 1, 1, check=check_robots),
    Command("errors", errors, "[-n 20]", "the last unexpected errors, and outcomes by kind", 0, 2, check=check_errors),
    Command("threads", threads, "", "what is being downloaded, and for how long"),
)


class AboutUrl(Protocol):
    """The part of a crawl that this command needs."""

    def about(self, url: str) -> Mapping[str, Any]:
        """The facts about a canonical URL."""


def about(crawl: AboutUrl, *urls: str) -> Mapping[str, Any]:
    """By canonical URL."""
    return {url: crawl.about(url) for url in map(_canonical, urls)}


def check_about(*urls: str) -> None:
    for url in urls:
        _canonical(url)


def _canonical(url: str) -> str:
    try:
        return canonical(url, max_length=LONGEST_URL)
    except InvalidUrl as error:
        raise CommandError(f"{url[:80]}: not a URL that a crawl could fetch ({error.reason})") from error
