"""The flaws of certificates that were accepted anyway."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.certificates import NOW, encoded
from webcrawl.net.certificates import certificate_flaws


class TestCertificates:
    @pytest.mark.parametrize(
        ("names", "host", "fits"),
        [
            (("a.test",), "a.test", True),
            (("A.test",), "a.test", True),
            (("b.test", "a.test"), "a.test", True),
            (("*.a.test",), "b.a.test", True),
            (("*.a.test",), "a.test", False),
            (("*.a.test",), "c.b.a.test", False),
            (("*",), "test", False),
            (("a.test",), "b.test", False),
            (("a.test",), "a.test.", True),
            (("127.0.0.1",), "127.0.0.1", True),
            (("::1",), "0:0::1", True),
            ((), "nobody", False),
        ],
    )
    def test_a_host_matches_a_name_or_address_of_the_certificate(self, names, host, fits):
        """A host matches a name or address of the certificate; `*` stands for one whole label."""
        der = encoded(*names)

        assert ("certificate_name" in certificate_flaws(der, host, NOW.timestamp())) is not fits

    @given(st.binary(max_size=200))
    def test_rubbish_is_no_certificate(self, der):
        """Bytes that are not a certificate are a flaw, not a crash."""
        assert certificate_flaws(der, "a.test", NOW.timestamp()) == ("certificate_unreadable",)

    @given(junk=st.binary(min_size=1, max_size=8), at=st.integers(0, 400))
    def test_damaged_certificates(self, junk, at):
        """A certificate damaged anywhere gives flaws or none, never an exception."""
        der = encoded("a.test")

        assert isinstance(certificate_flaws(der[:at] + junk + der[at + len(junk) :], "a.test", 0.0), tuple)
