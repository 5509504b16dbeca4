"""The spider `walk`: random walks over the web (docs/lab.md#random-walks)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapy.settings import BaseSettings

from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.errors import RulesError
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.lab.walks.walk_frontier import BY_DEPTH, UNLIMITED, OpenedWalk
from webcrawl.lab.walks.walkers import JUMPS, WalkRules

MOST_WALKERS, MOST_STEPS = 10_000, 10**12
# A walk needs no archive, and the links of every page, each time. Nobody else is served while a walker waits at a host
# that is away: so it waits for a second attempt only, which comes soon, and then leaves the host alone for a day.
SETTINGS: dict[str, Any] = {
    "OUTPUTS": "",
    "FRONTIER_PRIORITIZER": BY_DEPTH,
    "CONTENT_SEEN": "process",
    "DOMAIN_BUDGET": UNLIMITED,
    "HOST_MAX_FAILURES": 2,
    "HOST_RETRY_WAIT": 15,
    "HOST_PATIENCE": 0,
}


class WalkSpider(WebSpider):
    """scrapy crawl walk -a seeds=SRC [-a walkers=N] [-a restart=P] [-a jump=hosts|seeds] [-a steps=N].

    The scope and the limit of seeds are as those of the spider `web`.
    """

    name = "walk"

    def __init__(self, walkers: str = "", restart: str = "", jump: str = "", steps: str = "", **kwargs: Any) -> None:
        arguments = {"walkers": walkers, "restart": restart, "jump": jump, "steps": steps}
        self.own_frontier = self.frontier_of({**kwargs, **arguments})
        super().__init__(**kwargs)

    @classmethod
    def frontier_of(cls, arguments: Mapping[str, str]) -> OpenedWalk:
        return OpenedWalk(walk_rules(arguments))

    @classmethod
    def needs_seeds(cls) -> bool:
        return cls.start is WalkSpider.start and not getattr(cls, "start_urls", None)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        settings.setdict(SETTINGS, priority="spider")
        super().update_settings(settings)


def walk_rules(arguments: Mapping[str, str]) -> WalkRules:
    """The values of the arguments of a walk; RulesError if one is impossible. An empty one counts as missing."""
    given = {name: value for name, value in arguments.items() if value}
    if "since" in given:
        raise RulesError(f"-a since={given['since']}: not with a walk, which fetches every page each time")
    if given.get("follow") == "0":
        raise RulesError("-a follow=0: not with a walk, which is made of links")
    default = WalkRules()
    jump = given.get("jump", default.jump)
    if jump not in JUMPS:
        raise RulesError(f"-a jump={jump}: must be {' or '.join(JUMPS)}")
    return WalkRules(
        _whole("walkers", given.get("walkers", str(default.walkers)), MOST_WALKERS),
        _share(given["restart"]) if "restart" in given else default.restart,
        jump,
        _whole("steps", given["steps"], MOST_STEPS) if "steps" in given else 0,
    )


def _whole(name: str, text: str, most: int) -> int:
    if not is_whole(text, 1, most):
        raise RulesError(f"-a {name}={text}: must be a whole number from 1 to {most}")
    return int(text)


def _share(text: str) -> float:
    try:
        part, _, whole = text.partition("/")
        share = float(part) / float(whole or 1)
    except (ValueError, ZeroDivisionError):
        share = -1.0
    if not 0 <= share <= 1:
        raise RulesError(f"-a restart={text}: must be a number from 0 to 1, e.g. 0.15 or 1/7")
    return share
