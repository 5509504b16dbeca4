"""Guards the dashboard: only who has the token may talk to it, from a page of the dashboard itself.

Enemies are other users of the machine, who reach every port of it, and pages of other sites in the
same browser.

- The Host header must name the address that is listened on: a name that an attacker's name server leads here is not it.
- The token is in the printed address, once. A cookie has it from then on, for paths below one that nobody can guess:
  a browser sends cookies to all ports of a host, and another user may listen on one.
- What changes anything is a POST with the form's own token, from this origin.
- A program sends the token in the header Authorization, for the JSON interface only.
- Pages may load nothing but the dashboard's own style and script.
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
    """Checks requests by the token of this process, and the path below which everything lies."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host.lower()
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self.base = f"/{secrets.token_urlsafe(9)}"
        self.api = f"{self.base}/api"  # for programs, which send the token in a header

    @property
    def form_token(self) -> str:
        """Return the token that a form must bring along; it tells nothing of the cookie's."""
        return hmac.new(self.token.encode(), b"forms", sha256).hexdigest()

    def address(self) -> str:
        """Return the address to open in a browser, once."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104 - all addresses are none
        return f"http://{shown}:{self.port}{self.base}/?token={self.token}"

    def knows_host(self, header: str | None) -> bool:
        """Return whether the Host header names us: no name of an attacker's does."""
        name, port = http_answerer.split_host(header or "")
        return port == self.port and http_answerer.is_own_name(name, self._host)

    def knows_origin(self, headers: Mapping[str, str]) -> bool:
        """Return whether a page of ours sent this form, as far as the browser says."""
        origin, fetched = headers.get("Origin"), headers.get("Sec-Fetch-Site")
        if fetched not in (None, "same-origin", "none"):  # another port of this host is `same-site`
            return False
        return origin is None or origin == f"http://{headers.get('Host', '')}"

    def has_token(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(
            given.encode(errors="replace"), self.token.encode()
        )

    def has_form_token(self, given: object) -> bool:
        return isinstance(given, str) and hmac.compare_digest(
            given.encode(errors="replace"), self.form_token.encode()
        )

    @web.middleware
    async def watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let through what the rules above let through, and say how the answer may be used."""
        try:
            answer = await self._checked(request, handler)
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

    async def _checked(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self.knows_host(request.headers.get("Host")):
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
            return self._enter(request)
        if not self.has_token(request.cookies.get(COOKIE)):
            raise web.HTTPForbidden(text=REFUSED, content_type="text/html")
        if request.method == "POST":
            await self._check_form(request)
        return await handler(request)

    def _check_header(self, authorization: str) -> None:
        if not self.has_token(authorization.removeprefix("Bearer ")):
            raise web.HTTPUnauthorized(
                text='{"error": "wrong token"}', content_type="application/json"
            )

    def _enter(self, request: web.Request) -> web.StreamResponse:
        """Turn the token in the address into a cookie, and leave the address."""
        if not self.has_token(request.query["token"]):
            raise web.HTTPForbidden(text=REFUSED, content_type="text/html")
        answer = web.Response(status=303, headers={"Location": f"{self.base}/"})
        answer.set_cookie(
            COOKIE, self.token, path=f"{self.base}/", httponly=True, samesite="Strict"
        )
        return answer

    async def _check_form(self, request: web.Request) -> None:
        if not self.knows_origin(request.headers):
            raise web.HTTPForbidden(text="this form is from another page\n")
        if request.content_type != FORM_TYPE:
            raise web.HTTPUnsupportedMediaType(text="the request is not a form\n")
        try:
            form = await request.post()
        except (ValueError, LookupError, web.RequestPayloadError) as error:
            # in no encoding, or none that we know
            raise web.HTTPBadRequest(text="the form cannot be read\n") from error
        if not self.has_form_token(form.get("form")):
            raise web.HTTPForbidden(
                text="the form is not from this dashboard, or from before its restart: load the page again\n"
            )
