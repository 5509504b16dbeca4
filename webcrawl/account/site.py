"""Which hosts an account is about: a domain, a host or an address, and all names below it."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.hosts import host_of


class NoSite(StoreError):  # noqa: N818 - reads as what it is
    """What was given is no name of a site."""


@dataclass(frozen=True, slots=True)
class Site:
    """A name as URLs have it: lower case, IDNA."""

    name: str

    def has(self, url: str) -> bool:
        """Whether this URL is the site's."""
        try:
            host = host_of(url).removesuffix(".")  # the same name, for DNS and for its owner
        except IndexError:  # a line with no URL
            return False
        return host == self.name or host.endswith(f".{self.name}")

    @property
    def wanted(self) -> bytes:
        """What stands in every one of its URLs."""
        return self.name.encode()


def site_of(text: str) -> Site:
    """The site that somebody named, by a URL of it if they like."""
    url = text if "://" in text else f"http://{text}/"
    try:
        return Site(host_of(canonical(url)).removesuffix("."))
    except InvalidUrl as error:
        raise NoSite(f"{text}: not the name of a site") from error
