"""Who asks, by the addresses that count."""

import pytest

from webcrawl.tools.optout.serving import asker


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("::1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("2001:db8::1", "", "2001:db8::/64"),
        ("127.0.0.1", "2001:db8::ffff:1", "2001:db8::/64"),
        ("::ffff:192.0.2.1", "", "192.0.2.1"),
        ("fe80::1%eth0", "", "fe80::/64"),
    ],
)
def test_who_asks(peer, forwarded, found):
    """A web server on this machine says for whom it speaks; from elsewhere the address of the connection counts."""
    assert asker(peer, forwarded) == found
