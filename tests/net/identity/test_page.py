"""The page on the crawler, and the list of its addresses."""

import asyncio
import json
from html.parser import HTMLParser
from ipaddress import ip_network

import pytest

from webcrawl.net.identity.identity_page import ADDRESSES_LOOKED_UP, Who, listed, misfits, page

NOW = 1_800_000_000.5
NETWORKS = [ip_network("192.0.2.0/28"), ip_network("2001:db8::/64")]
WHO = Who(
    name="mybot",
    user_agent="mybot/1.0 (+https://example.org/bot)",
    contact="bot@example.org",
    why="Links & <b>",
    purposes=["archive", "search"],
    waits=[(0.1, 1.0), (1.0, 10.0)],
    several=[("example.org", 4)],
    obeys=True,
    crawl_delay_max=300,
    retry_after_max=86_400,
    agent="https://bot.example.org",
    networks=NETWORKS,
)
LEAST = Who("x", "x/1", "", "", [], [(1.0, 70.0)], [], False, 10.5, 3600, None, [])


class Text(HTMLParser):
    """The text of a page, its attributes that load something, and the elements left open."""

    def __init__(self, html):
        super().__init__()
        self.text, self.loads, self.open = "", [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.loads += [
            value
            for name, value in attributes
            if name == "src" or (tag == "link" and name == "href")
        ]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


class TestPage:
    def test_what_it_says(self):
        """Who, why, how fast, how to slow it down, how to make it leave, how to know it."""
        text = Text(page(WHO, NOW)).text

        for said in (
            "User-Agent: mybot/1.0 (+https://example.org/bot)",
            "Write to bot@example.org",
            "Links & <b>",
            "archive, search",
            "1 second after one that took 0.1 seconds, 10 seconds after one that took 1 second",
            "example.org 4",
            "User-agent: mybot\nCrawl-delay: 10",
            "Retry-After, whatever the status: the host is left alone for so long, up to 1 day",
            "up to 5 minutes",
            "up to 1 day",
            "User-agent: mybot\nDisallow: /",
            "https://bot.example.org/.well-known/http-message-signatures-directory",
            '"ipv4Prefix": "192.0.2.0/28"',
            "2027-01-15",
        ):
            assert said in text

    def test_it_needs_nothing_else(self):
        """It loads no other file and runs no script, and its elements are closed."""
        read = Text(page(WHO, NOW))

        assert (read.loads, read.open) == ([], [])
        assert "<script" not in page(WHO, NOW)

    def test_what_is_not_set_is_not_said(self):
        """A page says nothing of keys, addresses, contact or purpose that there are none of."""
        text = Text(page(LEAST, NOW)).text

        assert not any(
            word in text
            for word in ("Why", "know it", "Write to", "signed", "@example", "purposes", "prove")
        )
        assert "does not read robots.txt" in text
        assert "1 minute" not in text
        assert "70 seconds after one that took 1 second" in text


class Zone:
    """Name servers with a table; what is not in it has no name, and None is not answered."""

    def __init__(self, names, addresses=()):
        self._names, self._addresses, self.requested = names, dict(addresses), []

    async def names(self, address):
        self.requested.append(address)
        return self._names.get(address, ())

    async def addresses(self, name):
        return self._addresses.get(name, ())


class TestAddresses:
    def test_the_list(self):
        """The list has the form of Google's and Common Crawl's."""
        assert json.loads(listed(NETWORKS, NOW)) == {
            "creationTime": "2027-01-15T08:00:00.500000",
            "prefixes": [{"ipv4Prefix": "192.0.2.0/28"}, {"ipv6Prefix": "2001:db8::/64"}],
        }

    @pytest.mark.parametrize(
        ("names", "addresses", "said"),
        [
            ({"192.0.2.1": ("a.test",)}, {"a.test": ("192.0.2.9", "192.0.2.1")}, []),
            ({"192.0.2.1": ("b.test", "a.test")}, {"a.test": ("192.0.2.1",)}, []),
            ({}, {}, ["192.0.2.1 has no name"]),
            ({"192.0.2.1": None}, {}, ["192.0.2.1 could not be looked up"]),
            (
                {"192.0.2.1": ("a.test",)},
                {},
                ["192.0.2.1 has the name a.test, which resolves to other addresses"],
            ),
            (
                {"192.0.2.1": ("a.test",)},
                {"a.test": None},
                ["192.0.2.1 has the name a.test, which resolves to other addresses"],
            ),
        ],
    )
    def test_an_address_fits_if_one_of_its_names_has_it(self, names, addresses, said):
        """An address fits if one of its names has it."""
        assert asyncio.run(misfits([ip_network("192.0.2.1/32")], Zone(names, addresses))) == said

    def test_of_large_networks(self):
        """Only the first addresses are looked up, however many there are."""
        zone = Zone({})

        assert len(asyncio.run(misfits([ip_network("2001:db8::/32")], zone))) == ADDRESSES_LOOKED_UP
        assert zone.requested[:2] == ["2001:db8::", "2001:db8::1"]
