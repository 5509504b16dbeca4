"""Which addresses the crawl may connect to.

Addresses are only values here: nothing is connected.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net.dns_answers import known_without_asking
from webcrawl.net.errors import AddressRefused
from webcrawl.net.guard import AddressGuard
from webcrawl.urls.canonical import canonical

GUARD = AddressGuard()
PUBLIC4 = IPv4Address("8.8.8.8")
IPV4 = st.integers(0, 2**32 - 1).map(IPv4Address)
PREFIXES = [
    "2001::",
    "2001:db8::",
    "2002::",
    "64:ff9b::",
    "64:ff9b:1::",
    "3fff::",
    "5f00::",
    "fc00::",
    "fe80::",
    "ff02::",
    "::ffff:0:0",
    "::",
    "2606:4700::",
]
CLOUDS = [
    "169.254.169.254",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
]
SPECIAL4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
]
LOCAL6 = [
    "::",
    "::1",
    "::2",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "2001:db8::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "fe80::5efe:808:808",
    "fe80::200:5efe:808:808",
    "2001:db8::5efe:808:808",
    "64:ff9b:1::808:808",
    "64:ff9b:1:ffff::808:808",
]
NO_ADDRESSES = [
    "localhost",
    "0x7f.1",
    "0177.0.0.1",
    "2130706433",
    "127.1",
    "127.0.0.01",
    "1.2.3.4.5",
    "a.test",
    "[::1]",
    "127.0.0.1/8",
]


@st.composite
def _ipv6(draw):
    """Any address, or one near a prefix with a meaning."""
    bits = draw(st.integers(0, 2**128 - 1))
    if draw(st.booleans()):
        return IPv6Address(bits)
    low = bits >> draw(st.sampled_from([16, 32, 48, 64, 96]))
    return IPv6Address(int(IPv6Address(draw(st.sampled_from(PREFIXES)))) | low)


def _refused(address, guard=GUARD):
    try:
        guard.check(str(address), 80)
    except AddressRefused:
        assert not guard.admits(str(address))
        return True
    assert guard.admits(str(address))
    return False


def _around(network):
    """A network's first and last address, and their outer neighbours."""
    first, last = int(network.network_address), int(network.broadcast_address)
    kind = type(network.network_address)
    return [kind(first), kind(last)], [
        kind(number) for number in (first - 1, last + 1) if number >= 0
    ]


@pytest.mark.parametrize("address", CLOUDS)
def test_the_services_of_clouds_are_refused(address):
    """Where clouds keep the secrets of their machines, no crawl comes."""
    assert _refused(address)


class TestIPv4:
    @pytest.mark.parametrize("network", SPECIAL4)
    def test_the_special_networks_are_refused_and_nothing_beside_them(self, network):
        """The first and last address of each registered network are refused, their outer neighbours
        are not.
        """
        inside, beside = _around(ip_network(network))

        assert all(map(_refused, inside))
        assert not any(map(_refused, beside))

    @pytest.mark.parametrize(
        "address", ["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"]
    )
    def test_everything_above_unicast_is_refused(self, address):
        """Multicast, reserved and broadcast are refused."""
        assert _refused(address)

    @given(IPV4)
    def test_what_the_standard_library_calls_private_is_refused(self, address):
        """An address that `ipaddress` classifies as special in any way is refused."""
        special = (
            not address.is_global
            or address.is_multicast
            or address.is_reserved
            or address.is_loopback
        )

        assert _refused(address) or not special


class TestIPv6:
    @pytest.mark.parametrize(
        "address",
        [
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450:4001::1",
            "2001:200::1",
            "2400::1",
            "3ffe:ffff::1",
        ],
    )
    def test_global_unicast_goes_through(self, address):
        """Assigned addresses of the public internet are allowed."""
        assert not _refused(address)

    @pytest.mark.parametrize("address", LOCAL6)
    def test_everything_else_is_refused(self, address):
        """Loopback, local, mapped, documentation and unassigned addresses are refused."""
        assert _refused(address)

    @given(_ipv6())
    def test_what_the_standard_library_calls_private_is_refused(self, address):
        """An address that `ipaddress` classifies as special in any way is refused.

        Except NAT64, all of which it calls reserved: those are judged by the IPv4 address in them.
        """
        if address in ip_network("64:ff9b::/96"):
            inner = IPv4Address(int(address) & 0xFFFF_FFFF)
            special = not inner.is_global or inner.is_multicast or inner.is_reserved
        else:
            special = (
                not address.is_global
                or address.is_multicast
                or address.is_reserved
                or address.is_site_local
            )

        assert _refused(address) or not special

    def test_a_translated_address_of_the_internet_goes_through(self):
        """A NAT64 address of a public one is public, though `ipaddress` calls its network reserved."""
        assert not _refused("64:ff9b::100:0")

    @pytest.mark.parametrize("address", ["fe80::1%eth0", "2606:4700::1%lo"])
    def test_an_interface_in_the_address_is_refused(self, address):
        """An address from the network may not choose the interface."""
        assert _refused(address)


def _nat64(inner):
    return IPv6Address(int(IPv6Address("64:ff9b::")) + int(inner))


def _six_to_four(inner):
    return IPv6Address((0x2002 << 112) + (int(inner) << 80) + 1)


def _teredo_server(inner):
    return IPv6Address((0x20010000 << 96) + (int(inner) << 64) + (~int(PUBLIC4) & 0xFFFF_FFFF))


def _teredo_client(inner):
    return IPv6Address((0x20010000 << 96) + (int(PUBLIC4) << 64) + (~int(inner) & 0xFFFF_FFFF))


def _isatap(inner):
    return IPv6Address((0x20014860 << 96) + (0x5EFE << 32) + int(inner))


def _isatap_universal(inner):
    return IPv6Address((0x20014860 << 96) + (0x0200_5EFE << 32) + int(inner))


def _isatap_in_six_to_four(inner):
    return IPv6Address(int(_six_to_four(PUBLIC4)) - 1 + (0x5EFE << 32) + int(inner))


WRAPS = [
    _nat64,
    _six_to_four,
    _teredo_server,
    _teredo_client,
    _isatap,
    _isatap_universal,
    _isatap_in_six_to_four,
]


class TestWrappedIPv4:
    @pytest.mark.parametrize("wrap", WRAPS)
    @given(inner=IPV4)
    def test_an_address_is_as_good_as_the_one_that_it_wraps(self, wrap, inner):
        """NAT64, 6to4, Teredo and ISATAP addresses are refused exactly when their IPv4 address is."""
        assert _refused(wrap(inner)) == _refused(inner)

    @pytest.mark.parametrize("wrap", WRAPS)
    @pytest.mark.parametrize("inner", CLOUDS[:4])
    def test_a_cloud_s_own_services_are_found_inside(self, wrap, inner):
        """No wrapping leads to the metadata services of a cloud."""
        assert _refused(wrap(IPv4Address(inner)))

    @pytest.mark.parametrize(
        ("address", "inner"),
        [
            ("64:ff9b::7f00:1", "127.0.0.1"),
            ("2002:a00:1::1", "10.0.0.1"),
            ("2002:7f00:1::", "127.0.0.1"),
            ("2001:0:7f00:1::f7f7:f7f7", "127.0.0.1"),
            ("2001:0:808:808::80ff:fffe", "127.0.0.1"),
            ("2001:4860::5efe:7f00:1", "127.0.0.1"),
            ("2001:4860::200:5efe:a83f:8110", "168.63.129.16"),
        ],
    )
    def test_the_error_names_what_is_inside(self, address, inner):
        """The message names the wrapped address."""
        with pytest.raises(AddressRefused, match=f"{address} port 443: wraps {inner}: "):
            GUARD.check(address, 443)


class TestAllowed:
    def test_what_is_allowed_goes_through(self):
        """Only addresses of the listed networks are allowed besides public ones."""
        guard = AddressGuard(["127.0.0.0/30", "fd00::/8"])
        addresses = ["127.0.0.1", "127.0.0.4", "10.0.0.1", "fd00::1", "fc00::1", "8.8.8.8"]

        assert [a for a in addresses if _refused(a, guard)] == ["127.0.0.4", "10.0.0.1", "fc00::1"]

    def test_an_allowed_address_may_be_wrapped(self):
        """A translator's form of an allowed address is allowed; its IPv4-mapped form must be listed
        itself.
        """
        guard = AddressGuard(["127.0.0.0/8"])

        assert not _refused("64:ff9b::7f00:1", guard)
        assert _refused("::ffff:127.0.0.1", guard)
        assert not _refused("::ffff:127.0.0.1", AddressGuard(["::ffff:127.0.0.0/104"]))

    @pytest.mark.parametrize("network", ["127.0.0.1/8", "localhost", "10.0.0.0/33", ""])
    def test_a_network_that_is_none_is_an_error_at_once(self, network):
        """An invalid network in the list raises at once."""
        with pytest.raises(ValueError, match=r"host bits|does not appear"):
            AddressGuard([network])


class TestSpellings:
    @pytest.mark.parametrize("text", NO_ADDRESSES)
    def test_only_canonical_addresses_are_addresses(self, text):
        """Octal, hexadecimal, short and numeric spellings are refused, not interpreted."""
        with pytest.raises(AddressRefused, match="not an address"):
            GUARD.check(text, 80)

    @given(st.text(max_size=40))
    def test_no_text_goes_through_but_an_address(self, text):
        """Any string is refused or an address of the internet."""
        if not _refused(text):
            assert ip_address(text).is_global

    def test_verdicts_are_remembered_in_bounded_number(self):
        """The guard's cache is bounded; evicting a verdict does not change it."""
        guard = AddressGuard(size=2)
        addresses = ["8.8.8.8", "10.0.0.1", "9.9.9.9", "127.0.0.1"] * 2

        assert [_refused(address, guard) for address in addresses] == [False, True, False, True] * 2
        assert guard._reason.cache_info().currsize == 2


class TestTheWayOfALink:
    @pytest.mark.parametrize(
        "host",
        [
            "127.1",
            "0177.1",
            "0x7f.0.0.1",
            "0X7F000001",
            "017700000001",
            "2130706433",
            "127.0.0.1.",
            "%31%32%37.1",
            "\uff11\uff12\uff17.\uff10.0.1",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[::127.0.0.1]",
            "[::ffff:127.0.0.1]",
            "[::FFFF:7F00:1]",
            "[64:ff9b::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::7f00:1]",
            "[2002:7f00:1::]",
            "[2001:0:7f00:1::1]",
            "[fe80::1]",
            "0300.0250.0.1",
            "0xa9fea9fe",
            "[fd00::1]",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[2001:4860::5efe:127.0.0.1]",
            "[2001:4860::200:5efe:a9fe:a9fe]",
            "168.63.129.16",
        ],
    )
    def test_an_address_that_is_a_link_s_host(self, host):
        """However a link spells an internal address, it is refused between its normal form and the
        connection.
        """
        name = canonical(f"http://{host}/").removeprefix("http://").removesuffix("/").strip("[]")
        answer = known_without_asking(name)

        assert answer is not None
        assert all(_refused(address) for address in answer.addresses)
