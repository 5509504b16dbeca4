"""What the settings of a project say of its crawler, for the page that says it to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.settings import BaseSettings

if TYPE_CHECKING:
    from webcrawl.identity.page import Who

TOOK = (0.1, 1.0, 10.0)  # seconds of downloads that the page gives as examples


def who(settings: BaseSettings, why: str, form: str = "") -> Who:
    """Raises SettingError. BOT_KEY is not read: the page is made where the key need not be."""
    from webcrawl import settings as defaults  # noqa: PLC0415 - Scrapy imports every command for any
    from webcrawl.checks import read  # noqa: PLC0415 - as above
    from webcrawl.identity.page import Who  # noqa: PLC0415 - as above
    from webcrawl.loading import load  # noqa: PLC0415 - as above
    from webcrawl.net.robots import product_token  # noqa: PLC0415 - as above

    def value(name: str) -> Any:
        return read(name, settings[name] if name in settings else getattr(defaults, name))

    delays = (value("POLITENESS_FACTOR"), value("POLITENESS_MIN_DELAY"), value("POLITENESS_MAX_DELAY"))
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
        agent=value("BOT_AGENT"),
        networks=value("BOT_ADDRESSES"),
        form=form,
    )
