"""The *terms* of a run: its spider, arguments and settings, kept and compared at each start.

A JOBDIR belongs to one spider, and the settings of FIXED hold for the whole crawl: with others,
URLs that were fetched would count as new. All other settings may change; a change is logged.
"""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from webcrawl.base.loading import path_of
from webcrawl.base.outputs import ONLY_FETCHED
from webcrawl.base.program import program
from webcrawl.base.readable import count, shortened, text_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.record.shards import Shard
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.meta_row import TERMS as META
from webcrawl.store.jobdir.meta_row import read_terms
from webcrawl.urls.foldings import read_host_rules

logger = logging.getLogger(__name__)

FIXED = ("URL_FOLDINGS", "URL_HOST_RULES")  # which URLs count as one
FRONTIER = "FRONTIER"
OURS = "webcrawl.frontier.state.open_frontier"  # the value of FRONTIER that none in the terms means
# may be switched on, unless it is the seeds' hosts or domains that are within
REQUISITES = "REQUISITES"
FOLLOW = "URL_FOLLOW"  # what one kind of crawl has found is not where the other looks
# may become wider, but domains of seeds are noted only while it is `seeds`
SCOPE: Final = "URL_SCOPE"
# Prefixes of settings that are no terms: they say nothing about the crawl, only where it lies, how
# long a run lasts and how much it says. The last one follows from others.
UNSAID = ("JOBDIR", "CLOSESPIDER_", "LOG_", "LINK_LOG", "READ_TRUNCATE")
SPIDER = "spider"
PROCESS = "process"  # the spider of `webcrawl process`
SHARD = "shard"  # its argument: which share of the archives is processed
NONE = "none"  # the text of a term without a value
ON = "on"
Terms = dict[str, str]  # by the name of a setting, by "-a NAME" for an argument, or SPIDER


class OtherTerms(StoreError):  # noqa: N818 - reads as what it is
    """The crawl in JOBDIR cannot be resumed with this spider or these settings."""


def terms_of(spider: str, arguments: Mapping[str, object], values: CheckedSettings) -> Terms:
    """Return the terms of a run by name, as text; each entry of a mapping is a term by itself."""
    terms = {SPIDER: spider}
    for argument, argument_value in arguments.items():
        terms[f"-a {argument}"] = _text(argument_value)
    for name, value in values.items():
        if name == "URL_HOST_RULES" and value:
            terms[name] = _host_rules(Path(str(value)))
        elif isinstance(value, Mapping):
            for key, entry in value.items():
                terms[f"{name} {_text(key)}"] = _text(entry)
        elif not name.startswith(UNSAID):
            terms[name] = _text(value)
    return terms


def keep_terms(db: CrawlDB, now: Terms) -> None:
    """Compare with the last run; raise OtherTerms, or log the changes and keep these terms.

    A crawl that has none, because it was begun before they were kept, takes these.
    """
    saved = db.get(META)
    if saved is not None:
        before = read_terms(saved)
        refuse(db.folder.parent, before, now)
        for line in changes(before, now):
            logger.info("%s", line)
        if late := late_outputs(before, now, db.folder.parent):
            logger.warning("%s", late)
        if more := more_pages(before, now, db.folder.parent):
            logger.warning("%s", more)
    terms_now = json.dumps(now).encode()
    if terms_now != saved:
        db.set(META, terms_now)


def refuse(jobdir: Path, before: Terms, now: Terms) -> None:
    """Raise OtherTerms if a run with these terms cannot follow the one before.

    A term that the run before did not note counts as its default: an earlier version began it.
    """
    if before[SPIDER] != now[SPIDER]:
        raise OtherTerms(
            f"{jobdir}: belongs to the spider {before[SPIDER]}, not {now[SPIDER]}: use another JOBDIR"
        )
    old, new = _share(before), _share(now)
    if old != new:
        raise OtherTerms(
            f"{jobdir}: has processed {old}, not {new}, and passes over files that it knows: use another JOBDIR"
        )
    for name in FIXED:
        old, new = before.get(name, NONE), now.get(name, NONE)
        if _essence(name, old) != _essence(name, new):
            raise OtherTerms(
                f"{name} was {old}, now {new}: it decides which URLs count as the same, so it "
                "cannot change within a crawl; "
                f"change it back, or use another JOBDIR than {jobdir}"
            )
    old, new = (terms.get(FRONTIER, OURS) for terms in (before, now))
    if old != new:
        raise OtherTerms(
            f"{FRONTIER} was {old}, now {new}: each stores queued URLs in its own form; change it back, "
            f"or use another JOBDIR than {jobdir}"
        )
    followed, follows = before.get(FOLLOW, ON), now.get(FOLLOW, ON)
    if followed != follows:
        raise OtherTerms(
            f"{FOLLOW} was {followed}, now {follows}: links that were found would be lost; "
            f"change it back, or use another JOBDIR than {jobdir}"
        )
    scope, wanted = before.get(SCOPE, NONE), now.get(SCOPE, NONE)
    if wanted == "seeds" and scope != "seeds":
        raise OtherTerms(
            f"{SCOPE} was {scope}, now seeds: the seeds' domains were not recorded, so links would be dropped; "
            f"change it back, or use another JOBDIR than {jobdir}"
        )

    # With REQUISITES it is the seeds' own hosts or domains that say what is inside the crawl.
    needs_notes = now.get(REQUISITES) == ON and wanted in ("host", "domain")
    if needs_notes and _noted(before) != wanted:
        raise OtherTerms(
            f"{REQUISITES} is on with {SCOPE} = {wanted}: the seeds' {wanted}s were not recorded, "
            "so links would be "
            f"dropped; change it back, or use another JOBDIR than {jobdir}"
        )


def share_of(shard: object) -> dict[str, object]:
    """Return the argument to which a JOBDIR is kept; none if its spider has no share of archives."""
    return {SHARD: str(shard)} if isinstance(shard, Shard) else {}


def _share(terms: Terms) -> str:
    """Return which files of the archives are processed, in words."""
    shard = terms.get(f"-a {SHARD}")
    return "all files" if shard is None else f"--shard {shard}"


def _noted(terms: Terms) -> str:
    """Return the scope by which seeds were noted: their hosts, their domains, or NONE."""
    scope = terms.get(SCOPE, NONE)
    if scope == "seeds":
        return "domain"
    return scope if terms.get(REQUISITES) == ON else NONE


def changes(before: Terms, now: Terms) -> Iterator[str]:
    """Yield a line for each term that has changed."""
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name, NONE), now.get(name, NONE)
        if old != new:
            yield f"{name} was {shortened(old)}, now {shortened(new)}"


def late_outputs(before: Terms, now: Terms, jobdir: Path) -> str:
    """Return a line about outputs that the crawl did not write before; empty if there are none."""
    late = _late(before, now)
    if not late:
        return ""
    command = made_later(before, now, jobdir)
    of_earlier = f"; for earlier pages run `{command}`" if command else ""
    begin = "begins" if len(late) == 1 else "begin"
    return f"OUTPUTS: {', '.join(late)} {begin} now, with the next page{of_earlier}"


def made_later(before: Terms, now: Terms, jobdir: Path) -> str:
    """Return the command that makes these outputs of earlier pages; empty if there is none."""
    from_archives = [name for name in _late(before, now) if name not in ONLY_FETCHED]
    if not from_archives or "warc" not in before["OUTPUTS"].split(", "):
        return ""
    folder = shlex.quote(str(jobdir))
    return f"{program()} process {folder} -s OUTPUTS='{' '.join(from_archives)}'"


def _late(before: Terms, now: Terms) -> list[str]:
    """Return the outputs that are wanted now, and were not in the run before."""
    # `webcrawl process` makes them of all pages that the archives have.
    if "OUTPUTS" not in before or now[SPIDER] == PROCESS:
        return []
    outputs_before = {*before["OUTPUTS"].split(", "), NONE}
    outputs_now = now.get("OUTPUTS", NONE).split(", ")
    return [name for name in outputs_now if name not in outputs_before]


def more_pages(before: Terms, now: Terms, jobdir: Path) -> str:
    """Return a line on hosts that reached a lower HOST_MAX_PAGES; empty if it was not raised."""
    old = int(before.get("HOST_MAX_PAGES", 0))
    new = int(now.get("HOST_MAX_PAGES", 0))
    is_raised = old > 0 and (new > old or new == 0)  # 0: without limit
    if not is_raised or now[SPIDER] == PROCESS:
        return ""
    pages = count(old, "page")
    retry = f"{program()} ctl {shlex.quote(str(jobdir))} host NAME retry"
    return (
        f"HOST_MAX_PAGES: a host that has given {pages} continues with links found from now on, "
        f"after `{retry}`; "
        "URLs that were left out are fetched only with another JOBDIR, or --fresh"
    )


def _text(value: object) -> str:
    """Return a value as the terms have it, and a changed term's line shows it."""
    if value is None or value == "":
        return NONE
    for kinds, text_of in TEXTS:
        if isinstance(value, kinds):
            return text_of(value)
    return text_without_credentials(str(value))


def _switch(value: bool) -> str:  # noqa: FBT001 - it is the value
    return ON if value else "off"


def _number(value: float) -> str:
    """Return a number without the digits that only its binary form has."""
    return f"{value:.15g}"


def _ports(ports: range) -> str:
    """Return ports as the user writes them."""
    return str(ports.start) if len(ports) == 1 else f"{ports.start}-{ports.stop - 1}"


def _items(values: Sequence[object]) -> str:
    return ", ".join(map(_item, values)) or NONE


def _item(value: object) -> str:
    """Return an item of a list.

    One that has parts itself, such as a server and its port, is written with colons.
    """
    return ":".join(map(_text, value)) if isinstance(value, tuple) else _text(value)


# By type, the first that fits: `bool` goes before the numbers, of which it is one. All other values
# are shown as they are written.
TEXTS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (bool, _switch),
    (float, _number),
    (range, _ports),
    ((list, tuple), _items),
    (type, path_of),
)


def _host_rules(path: Path) -> str:
    """Return the file and a digest of its rules; the name may change, the rules may not."""
    rules = read_host_rules(path).rules
    digest = sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:12]
    return f"{path} ({digest})" if any(rules) else NONE


def _essence(name: str, text: str) -> str:
    """Return what must not change of a term: of a file of rules their digest, and not its name."""
    return text.rpartition(" ")[2] if name == "URL_HOST_RULES" else text
