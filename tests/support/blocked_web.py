"""Sixty hosts: behind ten kinds of block pages, some of which open, with soft 404s, made by scripts,
plain, and on IPv6.
"""

from collections import Counter
from dataclasses import dataclass, field

HEAD = "<!doctype html><title>{}</title>"
SEEN = "<a href=/beyond>halt</a>"  # of a block page: nobody follows it
BLOCK_PAGES = {  # vendor: status, field, body
    "cloudflare": (403, ("CF-Mitigated", "challenge"), HEAD.format("Just a moment...")),
    "anubis": (200, (), HEAD.format("Not a bot?") + '<script id="anubis_challenge"></script>'),
    "datadome": (403, ("X-DataDome", "protected"), HEAD.format("shop")),
    "aws-waf": (202, ("X-Amzn-Waf-Action", "challenge"), ""),
    "akamai": (403, (), HEAD.format("Access Denied") + "https://errors.edgesuite.net/18.a"),
    "imperva": (200, (), HEAD.format("") + "Request unsuccessful. Incapsula incident ID: 7-5"),
    "perimeterx": (403, (), HEAD.format("Denied") + "<div id=px-captcha></div>"),
    "vercel": (429, ("X-Vercel-Mitigated", "challenge"), HEAD.format("Vercel Security Checkpoint")),
    "cloudflare-pay": (402, ("Crawler-Price", "USD 0.01"), HEAD.format("Pay")),
    "999": (999, (), HEAD.format("Request denied")),
}
# opens for the third answer; shuts for a while; never; if the owner does
FATES = ("soon", "midway", "shut", "owner")
PAGES = ["", *map(str, range(1, 10))]
# of hosts that show one page for all else: as many as that takes to know
MORE = [*PAGES, *map(str, range(10, 22))]
LOST = [f"lost-{number}" for number in range(4)]
SOFT, APP, PLAIN = (
    [f"{kind}{number}.test" for number in range(n)]
    for kind, n in [("soft", 8), ("app", 6), ("open", 4)]
)
# with an IPv6 address alone, and with an IPv4 address where nobody answers
SIX, BOTH = "six.test", "both.test"
BLOCKED_HOSTS = {
    f"{vendor}-{fate}.test": (vendor, fate) for vendor in BLOCK_PAGES for fate in FATES
}
HOSTS = [*BLOCKED_HOSTS, *SOFT, *APP, *PLAIN, SIX, BOTH]
SHUT = [host for host, (_, fate) in BLOCKED_HOSTS.items() if fate == "shut"]
OWNERS = [host for host, (_, fate) in BLOCKED_HOSTS.items() if fate == "owner"]
OPEN = [host for host in HOSTS if host not in SHUT]


def pages_of(host):
    return MORE if host in SOFT else PAGES


@dataclass
class BlockedWeb:
    """Answers requests, and counts those for pages by host."""

    let_in: bool = False  # whether the owners do
    requested: Counter[str] = field(default_factory=Counter)
    block_pages: Counter[str] = field(default_factory=Counter)  # how many came of late, by host
    given: set[tuple[str, str]] = field(
        default_factory=set
    )  # host and path of pages, not of block pages
    # of owners' hosts since then: whether it was the page
    after: dict[str, list[bool]] = field(default_factory=dict)

    def __call__(self, host, path, _):
        """Return the page of a host, its block page, or None if there is no such page."""
        name = path[1:]
        if name == "robots.txt":
            return None
        blocked = self._is_blocked(host)
        self.requested[host] += 1
        if self.let_in and host in OWNERS:
            self.after.setdefault(host, []).append(not blocked)
        if blocked:
            self.block_pages[host] += 1
            status, one, body = BLOCK_PAGES[BLOCKED_HOSTS[host][0]]
            return status, [one] if one else [], (body and body + SEEN).encode()
        pages = pages_of(host)
        if name not in pages:
            if host not in SOFT:
                return None
            return f"{HEAD.format('Our shop')}<p>Have a look: {host}{path} {OFFERS}".encode()
        self.given.add((host, name))
        links = "".join(
            f"<a href=/{page}>{page}</a>" for page in [*pages, *(LOST if host in SOFT else ())]
        )
        if host in APP:
            return f"{HEAD.format(host + path)}<div id=root></div><script src=/app.js></script>{links}".encode()
        return (
            f"{HEAD.format(host + path)}<p>lamp of {host}, page {name or 'home'}<p>{links}".encode()
        )

    def _is_blocked(self, host):
        """Return whether the host's next answer is its block page."""
        _, fate = BLOCKED_HOSTS.get(host, ("", ""))
        block_pages = self.block_pages[host]
        answers = {
            "soon": block_pages < 2,
            "midway": self.requested[host] >= 3 and block_pages < 5,
            "shut": True,
            "owner": not self.let_in,
        }
        return answers.get(fate, False)

    def forget(self):
        """Count anew what block pages came.

        The crawl was killed, and does not know what block pages came since its last checkpoint.
        """
        self.block_pages = Counter(
            {host: n for host, n in self.block_pages.items() if BLOCKED_HOSTS[host][1] != "midway"}
        )

    def has_given(self, hosts):
        """Return whether all pages of these hosts were given."""
        return {(host, page) for host in hosts for page in pages_of(host)} <= self.given


OFFERS = " ".join(f"offer{number}" for number in range(60))
