"""The kinds, traps and outages of the synthetic web in words, where a name does not say all.

docs/make_inside.py writes docs/simweb-kinds.md of them.
"""  # noqa: INP001 - beside the pages

from __future__ import annotations

GROUPS: dict[str, str] = {
    "page": "a share of the pages: what the answer at `/x/KIND/NUMBER` is",
    "robots": "a share of the hosts: what `/robots.txt` is",
    "dns": "a share of the hosts: what the name servers say",
    "host": "a share of the hosts: how they answer every request",
    "scheme": "a share of the hosts: served with a certificate that is made at the start",
    "name": "a share of the hosts: `subdomain` is a host below another one",
    "owner": "a share of the hosts: what owners say about the use of their pages; not in `--hostile`",
    "change": "a share of the pages, with `--changes`: how a page changes",
    "validator": "a share of the hosts: what a 304 depends on",
    "odd": "a share of the hosts: wrong validators and wrong answers to conditions",
    "sitemap": "a share of the hosts",
    "feed": "a share of the hosts: the twenty pages that changed last",
}
OUTAGES: dict[str, str] = {
    "host_NNN": "every request to these hosts gets this status, with Retry-After if given",
    "host_hang, host_reset": "requests are accepted and never answered, or the connection is reset",
    "robots_NNN, robots_hang, robots_reset": "the same for robots.txt alone",
    "pages_NNN, pages_hang, pages_reset": "the same for everything but robots.txt",
    "address_refused": "connections to these addresses or hosts are refused, and open ones are reset",
    "address_lost": "connecting takes for ever, and nothing more comes on open connections",
    "dns_silent, dns_servfail, dns_nxdomain, dns_refused, dns_outside": (
        "what the name servers say about these hosts; outside: 127.9.9.9"
    ),
    "nameserver_silent, nameserver_servfail, nameserver_refused": "one of three name servers fails",
    "uplink_lost, uplink_refused, uplink_hang": "no address works, and all name servers are silent",
}
TRAPS: dict[str, str] = {
    "zoo_items": "`/item/N` links to the next items and to random others.",
    "zoo_pages": "`/list?page=N`: a list that always has a next page, with other entries.",
    "zoo_facets": (
        "A shop's filters in any order and number. Whatever is chosen, the same things are shown."
    ),
    "zoo_search": (
        "`/find?q=…` offers longer and other searches, and results that are searches in turn."
    ),
    "zoo_tokens": "Forty articles; each link to one has a new random token.",
    "zoo_tokens_fresh": "A trap of tokens whose text changes with the token too.",
    "zoo_sessions": (
        "A small site that exists once below each session's id; some links begin a new session."
    ),
    "zoo_git": (
        "A repository's commits, and every file in every version: as a page, line by line, and raw."
    ),
    "zoo_subdomains": "Every name below the domain exists, and links to more of them.",
    "zoo_farm": (
        "`WORD-trapN.test`: registered domains without end, each of which links to others."
    ),
    "zoo_novels": "Pages with texts of their own, at addresses made of words.",
    "zoo_days": "`/day/19800`: days since 1970.",
    "zoo_seconds": "`/cal/1700000000`: midnights, in seconds since 1970.",
    "zoo_weeks": "`/agenda/2024-W07`: ISO weeks.",
    "zoo_months": "`/events/march-2024`: names of months.",
}
KINDS: dict[str, str] = {
    "base": "two elements: the first counts",
    "spellings": "blanks, entities, dots, backslashes, upper case, credentials",
    "no_links": "comments, scripts, attributes, other schemes, broken URLs",
    "redirect_spelled": "raw UTF-8 and blanks",
    "redirect_chain": "five hops",
    "redirect_too_long": "seven hops",
    "redirect_elsewhere": "to another host",
    "redirect_inside": "to 127.9.9.9",
    "redirect_nowhere": "no Location",
    "status_429": "with Retry-After",
    "status_503": "with Retry-After",
    "status_503_thrice": "the third request gets a page",
    "status_304": "without a condition",
    "duplicate": "one body under two URLs of a host and one of another host",
    "changing": "another page every `slow` seconds",
    "big": "5 MiB",
    "coding_twice": "two codings",
    "bomb_gzip": "64 MiB",
    "bomb_br": "64 MiB",
    "bomb_zstd": "64 MiB",
    "bomb_nested": "64 MiB, compressed three times",
    "bomb_tower": "64 MiB, compressed nine times",
    "trickle": "whole, in pieces",
    "drip": "one byte now and then, without end",
    "drip_head": "one line now and then, without end",
    "endless": "as fast as it is read",
    "hang": "silence",
    "no_head": "HTTP/0.9",
    "header_flood": "20,000 fields",
    "header_long": "a field of 1 MiB",
    "early_hints": "1,000 of them",
    "robots_missing": "404",
    "robots_denied": "403",
    "robots_html": "a page",
    "robots_huge": "`Disallow: /` behind the first 500 KiB",
    "robots_chain": "five hops",
    "robots_loop": "either reading is accepted",
    "robots_recovers": "503 once",
    "robots_nothing": "everything is disallowed",
    "dns_cname": "a chain",
    "dns_truncated": "the answer comes over TCP",
    "dns_short": "TTL 1",
    "dns_first_dead": "the first address refuses",
    "dns_aaaa": "IPv4-mapped",
    "dns_recovers": "SERVFAIL once",
    "dns_outside": "127.9.9.9",
    "dns_mixed": "one address outside, one inside: either reading is accepted",
    "dns_ipv6": "no address but ::1; not in `--hostile`",
    "dns_dual": "::1 and an address in 127.0.0.0/8; not in `--hostile`",
    "https_h2": "HTTP/2 alone",
    "https_both": "HTTP/1.1 or HTTP/2, as the client prefers",
    "change_poisson": "at random, at the page's own rate",
    "change_bursts": "eight changes in a short time, then none for a long time",
    "change_advert": "three words beside the text differ in each answer",
    "change_returns": "away for two days of six",
    "change_moves": "a 301 leads to a new URL from a certain day on",
    "validator_both": "ETag and Last-Modified",
    "odd_304_always": "also without a condition",
    "odd_304_conditional": "to every condition",
    "odd_304_body": "the page follows its 304",
    "odd_ignores": "validators, and never a 304",
    "odd_etag_fresh": "another ETag in each answer",
    "odd_etag_only": "a new ETag at each change, always the same body",
    "odd_future": "Last-Modified in ten years",
    "odd_years": "a clock that is twelve years late",
    "sitemap_unnamed": "not named in robots.txt",
    "sitemap_index": "gzipped parts of 500 pages",
    "sitemap_now": "everything has changed now",
    "sitemap_frozen": "no date ever moves",
}
