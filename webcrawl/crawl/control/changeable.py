"""The settings that may change while a crawl runs, by `set` (in_force.py), and why the others may not.

A setting may change if the part that holds its value takes another one, from what begins next: `crawl/assembly.py`,
`adapter/commanding.py` and the extensions connect the two by `InForce.listen`.
"""

from __future__ import annotations

from pathlib import Path

from webcrawl.crawl.checks import SettingError, read
from webcrawl.crawl.checks.paths import File
from webcrawl.crawl.checks.scrapys import TAKEN
from webcrawl.crawl.checks.table import KINDS, SCRAPYS
from webcrawl.crawl.control.command import CommandError

OF_FRONTIER = (  # with each outcome
    *("POLITENESS_FACTOR", "POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY", "CRAWL_DELAY_MAX", "RETRY_AFTER_MAX"),
    *("HOST_MAX_PAGES", "HOST_MAX_FAILURES", "HOST_RETRY_WAIT", "HOST_PATIENCE", "HOST_CONNECTIONS"),
)
SCOPE = "URL_SCOPE"
OF_FILTERS = (  # with each page whose links are filtered
    *("URL_SCHEMES", "URL_MAX_LENGTH", "URL_MAX_DEPTH", "URL_EXCLUDE_EXTENSIONS", "URL_INCLUDE", "URL_EXCLUDE"),
    *("URL_EXCLUDE_FILE", "TRAP_RULES", "TRAP_MAX_PAGES"),
)
OF_REQUESTS = ("DOWNLOAD_TIMEOUT", "DOWNLOAD_MIN_RATE", "DOWNLOAD_GRACE", "DOWNLOAD_TRUNCATE")  # with each request
OF_REVISITS = ("REVISIT_AGE", "REVISIT_RATE", "REVISIT_SHARE")  # with each page that becomes due
OF_LIMITS = ("CLOSESPIDER_TIMEOUT", "CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_ITEMCOUNT", "CLOSESPIDER_ERRORCOUNT")
CHANGEABLE = (
    *(SCOPE, *OF_FILTERS, *OF_FRONTIER, *OF_REQUESTS, *OF_LIMITS),
    *OF_REVISITS,
    *("CONCURRENT_REQUESTS", "FRONTIER_BIAS", "DOMAIN_BUDGET_PAGES", "OUTAGE_END_WAIT"),
    *("BANDWIDTH_MAX", "CLOSESPIDER_BYTES", "CHECKPOINT_INTERVAL", "MIN_FREE_DISK", "ERROR_BREAKER", "LOG_LEVEL"),
)
ALIASES = {"scope": SCOPE}  # as the spider calls it
KEYS = frozenset(("URL_FOLDINGS", "URL_HOST_RULES"))  # which URLs count as one


def check_set(name: str, value: str) -> None:
    """Raises CommandError for what no crawl would take, whatever its other settings are."""
    if name not in CHANGEABLE:
        raise CommandError(_why_not(name))
    kind = KINDS.get(name) or SCRAPYS[name]
    try:
        found = read(name, value)
    except SettingError as error:
        raise CommandError(str(error)) from error
    if isinstance(kind, File) and found is not None and not Path(found).is_absolute():
        raise CommandError(f"{name} = {value}: give the whole path, for the crawl may run in another folder")


def _why_not(name: str) -> str:
    if name in KEYS:
        return f"{name} decides which URLs count as one, and cannot change within a crawl: use another JOBDIR"
    ours = next((one.ours for one in TAKEN if one.theirs == name and one.ours in CHANGEABLE), None)
    if ours is not None:
        return f"{name} is {ours} here: set that"
    if name not in KINDS and name not in SCRAPYS:
        return f"{name[:40]} is no setting of the crawl; get lists all, and which may change"
    return f"{name} cannot change while the crawl runs, only in a resumed one; get says which can"
