"""A receiver of streams: a web hook that notes what it got, and may be away."""

import base64
import hmac
import json
from contextlib import contextmanager
from typing import ClassVar

from tests.support.plain_site import Site, serving


class Receiver(Site):
    """Takes batches while `status` is 200.

    `taken` has them by id, and `got` each request's.
    """

    taken: ClassVar[dict]
    got: ClassVar[list]
    status: ClassVar[int] = 200
    secret: ClassVar[bytes] = b"s3cret"

    def do_POST(self):  # noqa: N802 - http.server's name
        """Take a batch if its signature is right."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        batch, at = self.headers["Webhook-Id"], self.headers["Webhook-Timestamp"]
        signed = hmac.digest(self.secret, f"{batch}.{at}.".encode() + body, "sha256")
        right = self.headers["Webhook-Signature"] == f"v1,{base64.b64encode(signed).decode()}"
        status = self.status if right else 401
        self.got.append((batch, body, status))
        if status == 200:
            assert self.taken.setdefault(batch, body) == body
        self.say(status, b"", location="/elsewhere")


@contextmanager
def receiving(**given):
    """Serve a receiver, which has its address, during the block."""
    kind = type("Kind", (Receiver,), {"taken": {}, "got": [], **given})
    with serving(kind) as address:
        kind.address = f"{address}/hook"
        yield kind


def events(taken, name=None):
    """Return the events of these batches in order, those of one name or all."""
    order = sorted(taken, key=lambda batch: int(batch.rpartition("-")[2]))
    found = [json.loads(line) for batch in order for line in taken[batch].splitlines()]
    return [one for one in found if name in (None, one["event"])]
