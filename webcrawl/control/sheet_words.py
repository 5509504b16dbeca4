"""`set --for` and `get --for`: settings for one domain or host (sheets.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.checks import SettingError, read_for_host
from webcrawl.control.errors import CommandError
from webcrawl.control.names import LONGEST, host_named
from webcrawl.control.row import Answer, Command
from webcrawl.control.sheets import SETTINGS

if TYPE_CHECKING:
    from webcrawl.control.hosts import Steered

FOR = "--for"
DEFAULT = "default"  # in place of a value: what holds for all


def set_for(crawl: Steered, domain: str, name: str, value: str) -> Answer:
    return crawl.hosts.set_for(_domain(domain), name, None if value == DEFAULT else read_for_host(name, value))


def check_set_for(domain: str, name: str, value: str) -> None:
    _domain(domain)
    if name not in SETTINGS:
        raise CommandError(f"{name[:40]} cannot be set for a domain; these can: {', '.join(SETTINGS)}")
    if value != DEFAULT:
        try:
            read_for_host(name, value)
        except SettingError as error:
            raise CommandError(str(error)) from error


def get_for(crawl: Steered, domain: str) -> Answer:
    return crawl.hosts.get_for(_domain(domain))


def check_get_for(domain: str) -> None:
    _domain(domain)


def _domain(word: str) -> str:
    """A name without port or path: sheets are for hosts and what is below them."""
    if ":" in word.partition("]")[2 if word.startswith("[") else 0]:
        raise CommandError(f"{word[:LONGEST]}: a domain or host, without scheme and port")
    return host_named(word)


_SAYS = f"change a setting for a domain or host alone; the value {DEFAULT} takes it back"
ROWS = (
    Command(f"set {FOR}", set_for, "DOMAIN NAME VALUE", _SAYS, 3, 3, True, check_set_for),
    Command(f"get {FOR}", get_for, "DOMAIN", "what holds there, and who says so", 1, 1, check=check_get_for),
)
