"""A small WebSub hub, honest or not, that verifies subscriptions and sends what a test publishes."""

import hashlib
import hmac
from contextlib import contextmanager, suppress
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, urlencode
from urllib.request import Request, urlopen

from tests.support.plain_site import Site, serving

SECONDS = 20


class Hub:
    """A hub of WebSub. `requested` lists the forms of requests, and `answers` what callbacks said."""

    def __init__(self):
        self.address, self.requested, self.answers, self.status = "", [], [], 202
        self.topic = None  # verifies this one instead of the one asked for
        self.moved = False  # redirects to another place of its own

    def verify(self, form, **more):
        """Ask the callback whether it meant a request; return status and body of its answer."""
        said = {
            "hub.mode": form["hub.mode"],
            "hub.topic": self.topic or form["hub.topic"],
            "hub.challenge": "ch<&>allenge",
            "hub.lease_seconds": "86400",
            **{f"hub.{name}": value for name, value in more.items()},
        }
        return got(Request(f"{form['hub.callback']}?{urlencode(said)}"))  # noqa: S310 - a callback of ours

    def publish(
        self, body, *, media="application/atom+xml", secret=None, signature=None, form=None
    ):
        """Send content to a callback, by default the last one; return the status of its answer."""
        form = form or self.requested[-1]
        digest = hmac.new((secret or form["hub.secret"]).encode(), body, hashlib.sha256).hexdigest()
        signed = {"X-Hub-Signature": f"sha256={digest}" if signature is None else signature}
        headers = {
            "Content-Type": media,
            **{name: value for name, value in signed.items() if value},
        }
        return got(Request(form["hub.callback"], body, headers, method="POST"))[0]  # noqa: S310


def got(request):
    try:
        with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@contextmanager
def hub():
    """Serve a hub during the block."""
    found = Hub()

    class Handler(Site):
        def do_GET(self):  # noqa: N802 - http.server's
            self.say(404, b"")

        def do_POST(self):  # noqa: N802 - http.server's
            """Note the form of a request, and verify it in a thread of its own."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if found.moved and self.path == "/":
                self.say(307, b"", location="/moved")
                return
            form = dict(parse_qsl(body.decode()))
            found.requested.append(form)
            self.say(found.status, b"")
            if found.status == 202:
                Thread(target=verify, args=[form]).start()

    def verify(form):
        with suppress(URLError):  # the crawl has ended meanwhile
            found.answers.append(found.verify(form))

    with serving(Handler) as address:
        found.address = f"{address}/"
        yield found
