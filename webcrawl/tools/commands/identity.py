"""`scrapy identity`: makes the key, its directory, and a page on the crawler; checks them."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.program import program
from webcrawl.tools.tool_command import ToolCommand, say, say_all, usage_error, whole

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.net.identity.identity_page import Network, Who
    from webcrawl.net.identity.signature_check import Finding
    from webcrawl.net.identity.signing_key import SigningKey

MOST_DAYS = 365
PATIENCE = 60.0  # seconds for all questions about our addresses together
USES = {
    "new": "new FILE",
    "directory": "directory --key FILE [--key NEXT] --agent https://ORIGIN -o DIR [--days 30]",
    "verify": "verify URL|FILE|DIR [--agent https://ORIGIN] [--request FILE] [--addresses NETWORKS]",
    "page": "page [-o FILE] [--why TEXT] [--addresses NETWORKS]",
}


class Command(ToolCommand):
    """Exit status 0, 1 with what is wrong in a line each, 2 for a wrong command line."""

    says = "Make and publish the key that signs requests, and the page that says who we are"
    usage = "new FILE | directory … | verify … | page …"

    def long_desc(self) -> str:
        return (
            "  ".join(f"{program()} identity {use}" for use in USES.values())
            + "  (docs/identity.md)"
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--key",
            metavar="FILE",
            action="append",
            help="directory: a key; give the next one, too",
        )
        parser.add_argument(
            "--agent", metavar="ORIGIN", help="directory, verify: the https origin, as in BOT_AGENT"
        )
        parser.add_argument(
            "--days", metavar="N", default="30", help="directory: its signatures hold so long (30)"
        )
        parser.add_argument(
            "--request", metavar="FILE", help="verify: a request as bytes, checked with these keys"
        )
        parser.add_argument(
            "--addresses",
            metavar="NETWORKS",
            help="verify, page: where the crawl comes from, such as 192.0.2.0/28",
        )
        parser.add_argument("--why", metavar="TEXT", default="", help="page: what the crawl is for")
        parser.add_argument("-o", metavar="PATH", help="directory: the folder; page: the file")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        action = args[0] if args else ""
        if action not in USES:
            raise usage_error(f"{program()} identity new, directory, verify or page")
        rest = args[1:]
        runs: dict[str, Callable[[], None]] = {
            "new": lambda: self._new(_one("new", rest)),
            "directory": lambda: self._directory(rest, opts),
            "verify": lambda: self._verify(_one("verify", rest), opts),
            "page": lambda: self._page(rest, opts),
        }
        runs[action]()

    def _new(self, name: str) -> None:
        from webcrawl.net.identity.signing_key import SigningKey  # noqa: PLC0415 - Scrapy imports every command for any

        try:
            key = SigningKey.new(Path(name))
        except FileExistsError:
            self.fail(f"{name}: already exists; a key is never overwritten")
        except OSError as error:
            self.fail(f"{name}: {error.strerror or error}")
        else:
            say(f"{name}: Ed25519 key {key.keyid}, readable only by its owner")

    def _directory(self, rest: list[str], opts: argparse.Namespace) -> None:
        if rest or not opts.key or not opts.agent or not opts.o:
            raise usage_error(f"{program()} identity {USES['directory']}")
        days, folder, agent = (
            whole("--days", opts.days, 1, MOST_DAYS),
            Path(opts.o),
            _agent(opts.agent),
        )
        from webcrawl.base.dates import iso  # noqa: PLC0415 - as above
        from webcrawl.net.identity import key_directory as directory  # noqa: PLC0415 - as above

        keys = [key for key in map(self._key, opts.key) if key is not None]
        if len(keys) < len(opts.key):
            return
        if len({key.keyid for key in keys}) < len(keys):
            self.fail("--key: the same key is given twice")
            return
        created = int(time.time()) - directory.BACK
        content = directory.body(keys)
        fields = directory.headers(content, keys, directory.authority_of(agent), created, days)
        try:
            directory.write(folder, content, fields)
        except OSError as error:
            self.fail(f"{error.filename or folder}: {error.strerror or error}")
            return
        say(f"{folder / directory.PATH[1:]}: {', '.join(key.keyid for key in keys)}")
        say(
            f"{folder / directory.HEADERS}, {folder / directory.NGINX}: fields of the response, for a web server"
        )
        say(
            f"signed for {agent} until {iso(created + days * directory.DAY, fraction=False)}: run this command "
            "again before then"
        )

    def _key(self, name: str) -> SigningKey | None:
        from webcrawl.net.identity.signing_key import BadKey, SigningKey  # noqa: PLC0415 - as above

        try:
            return SigningKey.read(name)
        except BadKey as error:
            self.fail(f"{name}: {error}")
        except OSError as error:
            self.fail(f"{name}: {error.strerror or error}")
        return None

    def _verify(self, place: str, opts: argparse.Namespace) -> None:
        from webcrawl.net.identity.key_directory import NotPublished  # noqa: PLC0415 - as above
        from webcrawl.net.identity.signature_check import (  # noqa: PLC0415 - as above
            Unreadable,
            check_request,
            look,
        )
        from webcrawl.store.disk import regular  # noqa: PLC0415 - as above

        now = time.time()
        try:
            keys, findings = look(place, _agent(opts.agent) if opts.agent else "", now)
            self._tell(findings)
            if opts.request:
                with regular(opts.request) as file:
                    self._tell(check_request(file.read(), keys, now))
            self._check_names(_networks(opts.addresses))
        except (NotPublished, Unreadable) as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or place}: {error.strerror or error}")

    def _check_names(self, networks: Sequence[Network]) -> None:
        """Check whether this crawl's address has a name, and the name leads to the address."""
        from webcrawl.crawl.checks import SettingError, read  # noqa: PLC0415 - as above
        from webcrawl.net.errors import DnsFailed  # noqa: PLC0415 - as above

        if not networks:
            return
        try:
            faults = asyncio.run(
                _misfits(
                    networks, read("DNS_NAMESERVERS", self.settings.get("DNS_NAMESERVERS", []))
                )
            )
        except TimeoutError:
            self.fail(
                "--addresses: the name servers were too slow, so the names of the addresses "
                "were not checked"
            )
        except (DnsFailed, SettingError) as error:
            self.fail(f"--addresses: {error}")
        else:
            for fault in faults:
                self.fail(f"--addresses: {fault}")

    def _tell(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.wrong:
                self.fail(finding.text)
            else:
                say(finding.text)

    def _page(self, rest: list[str], opts: argparse.Namespace) -> None:
        if rest:
            raise usage_error(f"{program()} identity {USES['page']}")
        from webcrawl.crawl.checks import SettingError  # noqa: PLC0415 - as above
        from webcrawl.net.identity.identity_page import (  # noqa: PLC0415 - as above
            ADDRESSES,
            listed,
            page,
        )

        try:
            found, now = who(self.settings, opts.why, _networks(opts.addresses)), time.time()
            text = page(found, now)
            if not opts.o:
                say_all(text)
                return
            Path(opts.o).write_text(text, encoding="utf-8")
            say(f"{opts.o}: publish it at the address in USER_AGENT")
            if found.networks:
                place = Path(opts.o).with_name(ADDRESSES)
                place.write_text(listed(found.networks, now), encoding="utf-8")
                say(f"{place}: publish it next to that page")
        except SettingError as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or opts.o}: {error.strerror or error}")


def _agent(origin: str) -> str:
    from webcrawl.crawl.checks import SettingError, read  # noqa: PLC0415 - as above
    from webcrawl.net.identity.request_signing import form_and_origin  # noqa: PLC0415 - as above

    try:
        found = read("BOT_AGENT", origin)
    except SettingError as error:
        raise usage_error(str(error).replace("BOT_AGENT =", "--agent")) from error
    if found is None:
        raise usage_error(f"--agent {origin}: an https origin is needed")
    return form_and_origin(found)[1]


def _networks(text: str | None) -> Sequence[Network]:
    from webcrawl.crawl.checks.places import Networks  # noqa: PLC0415 - as above

    try:
        return Networks().read(text or "")
    except ValueError as error:
        raise usage_error(f"--addresses {text}: must be {Networks.allowed} ({error})") from error


async def _misfits(networks: Sequence[Network], servers: Sequence[tuple[str, int]]) -> list[str]:
    from webcrawl.net.dns_cares import ReverseNames  # noqa: PLC0415 - as above
    from webcrawl.net.identity.identity_page import misfits  # noqa: PLC0415 - as above

    asked = ReverseNames(servers)
    try:
        async with asyncio.timeout(PATIENCE):
            return await misfits(networks, asked)
    finally:
        asked.close()


def _one(action: str, rest: list[str]) -> str:
    if len(rest) != 1 or not rest[0]:
        raise usage_error(f"{program()} identity {USES[action]}")
    return rest[0]


TOOK = (0.1, 1.0, 10.0)  # seconds of downloads that the page gives as examples


def who(settings: BaseSettings, why: str, networks: Sequence[Network] = ()) -> Who:
    """Raise SettingError. BOT_KEY is not read: the page is made where the key need not be."""
    from webcrawl import settings as defaults  # noqa: PLC0415 - Scrapy imports every command for any
    from webcrawl.base.loading import load  # noqa: PLC0415 - as above
    from webcrawl.crawl.checks import read  # noqa: PLC0415 - as above
    from webcrawl.net.identity.identity_page import Who  # noqa: PLC0415 - as above
    from webcrawl.net.identity.request_signing import form_and_origin  # noqa: PLC0415 - as above
    from webcrawl.net.robots import product_token  # noqa: PLC0415 - as above

    def value(name: str) -> Any:
        return read(name, settings[name] if name in settings else getattr(defaults, name))

    delays = (
        value("POLITENESS_FACTOR"),
        value("POLITENESS_MIN_DELAY"),
        value("POLITENESS_MAX_DELAY"),
    )
    policy = load(value("POLITENESS_POLICY"))(*delays)
    return Who(
        name=product_token(settings["ROBOTSTXT_USER_AGENT"] or value("USER_AGENT")),
        user_agent=value("USER_AGENT"),
        contact=value("BOT_FROM"),
        why=why,
        purposes=value("PURPOSE"),
        waits=[(took, round(policy.wait([took]), 1)) for took in TOOK],
        several=sorted(value("HOST_CONNECTIONS").items()),
        obeys=value("ROBOTSTXT_OBEY"),
        crawl_delay_max=value("CRAWL_DELAY_MAX"),
        retry_after_max=value("RETRY_AFTER_MAX"),
        agent=form_and_origin(value("BOT_AGENT") or "")[1] or None,
        networks=networks,
    )
