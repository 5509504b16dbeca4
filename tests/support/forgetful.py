"""Names that are asked for before each request: their answers are hardly kept, and no connection
is.
"""

from webcrawl.net import dns, dns_answers, dns_cares
from webcrawl.net.connection_pool import ConnectionPool
from webcrawl.net.dns_answers import DnsFailure

KEPT = 0.1  # seconds


class Forgetful(dns_cares.NameServers):
    """For DNS_LOOKUP, in a process of its own: what the resolver keeps for a minute or more is kept
    for a moment.
    """

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        dns.SHORTEST_CACHING = dns.LONGEST_CACHING = dns_cares.LIFE = dns_answers.FRESH_SECONDS = (
            KEPT
        )
        ConnectionPool.keep = lambda self, key, connection, seconds, *, spare=False: (
            connection.abort()
        )
        for failure in DnsFailure:
            failure.seconds = min(failure.seconds, KEPT)


FORGETFUL = {"DNS_LOOKUP": f"{__name__}.{Forgetful.__name__}"}
