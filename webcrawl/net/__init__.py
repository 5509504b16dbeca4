"""The network: HTTP, FTP, Gopher, DNS, robots.txt, and the crawler's identity.

`network.Network` assembles it. Clients: `http`, `ftp`, `gopher`; what they are given and must
offer: `protocols`. Names: `dns`, `dns_cares`. Which addresses: `guard`. Errors: `errors`. Rules of
hosts: `robots`, `robots_book`. Our own faults: `outage_detector`, `shortage`, `dns_answers`. Keys
and signatures: `identity`. Hubs: `websub`. The proxy of browsers: `browser_proxy`.
"""
