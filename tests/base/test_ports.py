"""Which ports a URL may name. Ports are only values here: nothing is connected."""

import pytest

from webcrawl.base.url_text import BAD, FTP, GOPHER, Ports

PORTS = Ports()
SCHEMES = ["http", "https", "ftp", "gopher"]


class TestSchemes:
    def test_the_bad_ports_are_the_fetch_standard_s(self):
        """The table has the standard's 82 ports (2.9), of which these are some, and 0."""
        assert len(BAD) == 83
        assert {1, 22, 25, 110, 139, 465, 636, 2049, 4190, 5061, 6000, 6667, 6697, 10080} <= BAD
        assert BAD.isdisjoint({80, 443, 8080, 8443, *GOPHER})

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_a_bad_port_is_bad_for_all(self, scheme):
        """No scheme may use a bad port, except that FTP has its own."""
        assert {port for port in BAD if PORTS.allow(scheme, port)} == (
            {FTP} if scheme == "ftp" else set()
        )

    @pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
    @pytest.mark.parametrize("port", [80, 443, 2121, 8080, 65535])
    def test_other_ports_are_open(self, scheme, port):
        """HTTP and FTP may use any other port: both wait for their own protocol's answer."""
        assert PORTS.allow(scheme, port)

    @pytest.mark.parametrize("port", [80, 443, 1025, 2375, 3306, 6379, 8080, 9100, 11211, 11300])
    def test_gopher_has_only_its_own(self, port):
        """A Gopher client sends a stranger's line first, so all ports but those of Gopher servers
        are closed.
        """
        assert not PORTS.allow("gopher", port)
        assert all(PORTS.allow("gopher", port) for port in (70, 1070, 7070))

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_the_operator_may_open_ports(self, scheme):
        """PORTS_ALLOWED opens its ports to every scheme, and no others."""
        ports = Ports([range(25, 26), range(6000, 6010)])

        assert all(ports.allow(scheme, port) for port in (25, 6000, 6009))
        assert not any(ports.allow(scheme, port) for port in (23, 6566))


class TestUrls:
    @pytest.mark.parametrize(
        "url",
        [
            *(
                "http://a.example/",
                "http://a.example/x:25/",
                "http://a.example/?u=http://b.example:25/",
            ),
            *("http://a.example:8080/", "https://[2001:db8::25]/", "https://[2001:db8::1]:8443/"),
            *(
                "ftp://a.example/",
                "gopher://a.example/1:25",
                "gopher://[::1]:7070/",
                "http://user25.example/",
            ),
        ],
    )
    def test_a_url_without_a_bad_port_passes(self, url):
        """Only the port counts, not colons and numbers in the host, the path and the query."""
        assert PORTS.allow_url(url)

    @pytest.mark.parametrize(
        "url",
        [
            *(
                "http://a.example:25/",
                "https://a.example:22/x",
                "http://[2001:db8::1]:6667/",
                "http://1.2.3.4:465/",
            ),
            *(
                "ftp://a.example:25/",
                "gopher://a.example:3306/0x",
                "gopher://a.example:80/",
                "gopher://[::1]:25/",
            ),
        ],
    )
    def test_a_url_with_a_bad_port_does_not(self, url):
        """The port is found after names and addresses."""
        assert not PORTS.allow_url(url)


class TestTransfers:
    @pytest.mark.parametrize("port", [1024, 1025, 50_000, 65535])
    def test_a_server_may_name_ports_of_its_own(self, port):
        """FTP servers listen for a transfer on any port that is not for services."""
        assert PORTS.allow_data(port)

    @pytest.mark.parametrize("port", [0, 1, 20, 21, 25, 80, 443, 1023, 2049, 6667, 10080])
    def test_a_server_may_not_name_ports_of_services(self, port):
        """A port below 1024 or a bad one cannot be named for a transfer."""
        assert not PORTS.allow_data(port)

    def test_ports_below_1024_stay_closed(self):
        """PORTS_ALLOWED opens bad ports to transfers, but none of the ports below 1024."""
        ports = Ports([range(1, 65536)])

        assert ports.allow_data(6667)
        assert not ports.allow_data(25)
