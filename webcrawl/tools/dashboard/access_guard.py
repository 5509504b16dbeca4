"""Guards the dashboard: a request needs the token, and a form must come from a page of the dashboard.

The attackers are other users of the machine, who can reach all of its ports, and pages of other
sites in the same browser.

- The Host header must name the address of the server. An attacker's name server can lead another
  name here (DNS rebinding).
- The token is in the address that is printed. Opening the address moves the token into a cookie, for
  paths below one that nobody can guess: a browser sends cookies to all ports of a host, and another
  user may listen on one.
- Only a POST changes anything. It needs the token of the form, and must come from this origin.
- Programs send the token in the header Authorization, for the JSON interface only.
- Pages can load only the dashboard's own style and script.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256

from aiohttp import web

from webcrawl.base.program import program
from webcrawl.net import http_answerer

logger = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    # not no-referrer: then browsers say `Origin: null` of the dashboard's own forms
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
COOKIE = "webcrawl-dashboard"
FORM_TYPE = "application/x-www-form-urlencoded"
REFUSED = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>webcrawl dashboard</title>
<p>This needs the address that <code>{program()} dashboard</code> printed when it was started, with its
token.</p></html>
"""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AccessGuard:
    """Checks requests. The token and the path of all pages are made anew for each process."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host.lower()
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self.base = f"/{secrets.token_urlsafe(9)}"
        self.api = f"{self.base}/api"  # for programs, which send the token in a header

    @property
    def form_token(self) -> str:
        """Return the token that forms must have. The cookie's token cannot be found from it."""
        return hmac.new(self.token.encode(), b"forms", sha256).hexdigest()

    def address(self) -> str:
        """Return the address, with the token, that is to be opened in a browser."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        # A browser cannot open the address that stands for all addresses.
        opened = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104 - nothing is bound here
        return f"http://{opened}:{self.port}{self.base}/?token={self.token}"

    def is_own_host(self, header: str | None) -> bool:
        """Return whether a Host header has our port, and our address or a name of this machine."""
        name, port = http_answerer.split_host(header or "")
        return port == self.port and http_answerer.is_own_name(name, self._host)

    def is_own_origin(self, headers: Mapping[str, str]) -> bool:
        """Return whether a form comes from our own page. True if the browser does not tell."""
        site = headers.get("Sec-Fetch-Site")
        if site not in (None, "same-origin", "none"):  # another port of this host is `same-site`
            return False
        origin = headers.get("Origin")
        return origin is None or origin == f"http://{headers.get('Host', '')}"

    def is_token(self, text: str | None) -> bool:
        return text is not None and _are_equal(text, self.token)

    def is_form_token(self, text: object) -> bool:
        return isinstance(text, str) and _are_equal(text, self.form_token)

    @web.middleware
    async def watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request before it is handled, and add the security headers to the answer.

        An unexpected error is logged here, and answered without its details.
        """
        try:
            answer = await self._check_and_handle(request, handler)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        except Exception as error:
            logger.exception("%s", request.path_qs)
            why = "an error in the dashboard; see the terminal where it was started\n"
            raise web.HTTPInternalServerError(text=why, headers=HEADERS) from error
        if not answer.prepared:
            answer.headers.update(HEADERS)
        return answer

    async def _check_and_handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Handle a request if it has the token. Raise HTTPException if it may not be handled."""
        if not self.is_own_host(request.headers.get("Host")):
            raise web.HTTPMisdirectedRequest(text="this server does not have that name\n")
        if request.method not in ("GET", "HEAD", "POST"):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "POST"])
        is_of_api = request.path.startswith(f"{self.api}/")
        # A page of another site cannot have a browser send this header, so that no token of a form
        # is needed.
        if is_of_api and "Authorization" in request.headers:
            self._check_header(request.headers["Authorization"])
            return await handler(request)
        if request.method != "POST" and "token" in request.query:
            return self._exchange_token(request)
        if not self.is_token(request.cookies.get(COOKIE)):
            raise web.HTTPForbidden(text=REFUSED, content_type="text/html")
        if request.method == "POST":
            await self._check_form(request)
        return await handler(request)

    def _check_header(self, authorization: str) -> None:
        if not self.is_token(authorization.removeprefix("Bearer ")):
            raise web.HTTPUnauthorized(
                text='{"error": "wrong token"}', content_type="application/json"
            )

    def _exchange_token(self, request: web.Request) -> web.StreamResponse:
        """Set the token of the address as a cookie, and redirect to an address without it."""
        if not self.is_token(request.query["token"]):
            raise web.HTTPForbidden(text=REFUSED, content_type="text/html")
        answer = web.Response(status=303, headers={"Location": f"{self.base}/"})
        answer.set_cookie(
            COOKIE, self.token, path=f"{self.base}/", httponly=True, samesite="Strict"
        )
        return answer

    async def _check_form(self, request: web.Request) -> None:
        """Raise HTTPException unless a POST is a form of the dashboard, with the form's token."""
        if not self.is_own_origin(request.headers):
            raise web.HTTPForbidden(text="this form is from another page\n")
        if request.content_type != FORM_TYPE:
            raise web.HTTPUnsupportedMediaType(text="the request is not a form\n")
        try:
            form = await request.post()
        except (ValueError, LookupError, web.RequestPayloadError) as error:
            # The form is not in its encoding, or names one that does not exist.
            raise web.HTTPBadRequest(text="the form cannot be read\n") from error
        if not self.is_form_token(form.get("form")):
            raise web.HTTPForbidden(
                text="the form is not from this dashboard, or from before its restart: load the page again\n"
            )


def _are_equal(text: str, secret: str) -> bool:
    """Compare in a time that does not depend on where the texts differ."""
    return hmac.compare_digest(text.encode(errors="replace"), secret.encode())
