"""Signs requests as Web Bot Auth has it (draft-ietf-webbotauth-httpsig-protocol-00, on RFC 9421).

What is signed is the authority, the key directory and a time, so the fields of one request are
right for every other one to the same authority while the time lasts. A signature costs three times
what a kept connection's fetch may cost more; so the fields are made once for REUSE seconds of an
authority. For the same reason there is no nonce: a nonce that is sent twice is a replay
(docs/decisions/net-identity.md).
"""

from __future__ import annotations

import time
from binascii import b2a_base64
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.net.identity.signing_key import SigningKey

LABEL = "sig1"
TAG = "web-bot-auth"
DICTIONARY, STRING = "dictionary", "string"
FORMS = {  # of Signature-Agent: what its value begins with, and how it is named where it is covered
    DICTIONARY: (f"{LABEL}=", f'"signature-agent";key="{LABEL}"'),
    # The drafts until draft-meunier-web-bot-auth-architecture-03 have this one. In 2026 the largest
    # verifier documents only this one, and fails on the `key` of the other. No request satisfies
    # both.
    STRING: ("", '"signature-agent"'),
}
SIGNATURE_LIFETIME = 300  # seconds from `created` to `expires`
# seconds before now that `created` says: the server's clock may be behind ours
CREATED_BEFORE_NOW = 10
# Seconds for which fields are sent again; at the last request they hold for SIGNATURE_LIFETIME
# - CREATED_BEFORE_NOW - REUSE more. With four pages per authority a request costs 7 to 11 us, and 24
# to 35 with a signature of its own.
REUSE = 120
# authorities in each of two generations: with 0.6 KB each, 10 MB in all
AUTHORITIES_REMEMBERED = 8192


def form_and_origin(agent: str) -> tuple[str, str]:
    """Return the form of Signature-Agent that BOT_AGENT asks for, and the directory's origin."""
    form, _, origin = agent.partition(":")
    return (form, origin) if form in FORMS else (DICTIONARY, agent)


class RequestSigner:
    """Makes the three fields of a request.

    It remembers those of twice `most` authorities, and no more.
    """

    def __init__(
        self,
        key: SigningKey,
        agent: str,
        *,
        form: str = DICTIONARY,
        now: Callable[[], float] = time.time,
        most: int = AUTHORITIES_REMEMBERED,
    ) -> None:
        """`agent`: the origin of the key directory.

        `now`: seconds since 1970 by the machine's clock.

        It is not the crawl's clock, which keeps even time when the machine's is set: servers
        compare with theirs.
        """
        self.keyid = key.keyid
        self.agent = agent
        self._key = key
        self._now = now
        self._most = most
        self._young: dict[str, tuple[float, bytes]] = {}
        self._old: dict[str, tuple[float, bytes]] = {}
        before, covered = FORMS[form]
        # Not `@path`, which would need a signature for each request
        self._components = f'("@authority" {covered})'
        self._fixed = f'\n{covered}: "{agent}"\n"@signature-params": '.encode("ascii")
        self._shown = f'Signature-Agent: {before}"{agent}"\r\nSignature-Input: {LABEL}='.encode(
            "ascii"
        )
        self._last = -1
        self._parameters = b""

    def __repr__(self) -> str:
        return f"<RequestSigner {self.keyid} for {self.agent}>"

    def __len__(self) -> int:
        """Return the number of authorities that are remembered."""
        return len(self._young) + len(self._old)

    def fields(self, authority: str) -> bytes:
        """Return the lines of the three fields, for a request to this authority, as its Host field
        has it.
        """
        now = self._now()
        found = self._young.get(authority) or self._old.get(authority)
        if found is not None:
            signed_at, fields = found
            # A time later than now shows that the clock was set back. The time that these fields
            # name may never come.
            if signed_at <= now < signed_at + REUSE:
                return fields
        fields = self._made(authority, int(now))
        if len(self._young) >= self._most:
            self._old = self._young
            self._young = {}
        self._young[authority] = now, fields
        return fields

    def _made(self, authority: str, now: int) -> bytes:
        """Return the fields that sign a request to this authority at this second."""
        if now != self._last:
            self._last, created = now, now - CREATED_BEFORE_NOW
            self._parameters = (
                f"{self._components};created={created};expires={created + SIGNATURE_LIFETIME}"
                f';keyid="{self.keyid}";alg="ed25519";tag="{TAG}"'
            ).encode("ascii")
        signed = self._key.sign(
            b'"@authority": %b%b%b' % (authority.encode("ascii"), self._fixed, self._parameters)
        )
        value = b2a_base64(signed, newline=False)
        return b"%b%b\r\nSignature: %b=:%b:\r\n" % (
            self._shown,
            self._parameters,
            LABEL.encode(),
            value,
        )
