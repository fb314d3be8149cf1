"""Who may ask, from where, and how much: checked before any page is reached.

Any page on the web can make a browser send requests to this machine. A list of the server's own names (`Host`) stops
the rebinding of names, `Origin` and `Sec-Fetch-Site` stop forms of other sites, and a token stops everybody else on the
network.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_UPLOAD = 64_000_000
# A brush leaves thousands of discs; everything else is short.
MAX_FORM = 1_000_000
UPLOADS = ("/query",)

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Nothing is told to other sites. Not "no-referrer": forms would then come with an origin of "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware that refuses what does not come from the server's own pages, and bounds what comes.

    Parameters
    ----------
    app : what to guard
    hosts : names under which the server may be addressed
    token : secret that a browser has to know; None for none
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str | None) -> None:
        self.app, self.hosts, self.token = app, {host.lower() for host in hosts}, token
        # Cookies are shared by all ports of a machine, and several catalogues may be served.
        self.cookie = f"nrcdt_{sha256((token or '').encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, let a browser in, or raise an HTTPException."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, send = Request(scope), _with_headers(send)
        self._check_host(request)
        _check_csrf(request)
        if self._enters(request):
            await self._entered(request)(scope, receive, send)
        else:
            self._check_token(request)
            await self.app(scope, await _bounded(request, receive), send)

    def _check_host(self, request: Request) -> None:
        host = request.headers.get("host", "")
        if _hostname(host) not in self.hosts:
            sentence = f"the host must be one of {', '.join(sorted(self.hosts))}; got {host!r}."
            remedy = "Use an address that was printed, or start the server with --name and this one."
            raise HTTPException(400, f"{sentence} {remedy}")

    def _enters(self, request: Request) -> bool:
        shown = request.query_params.get("token")
        return request.method == "GET" and self.token is not None and shown is not None and self._same(shown)

    def _same(self, shown: str) -> bool:
        return hmac.compare_digest(shown.encode(), (self.token or "").encode())

    def _entered(self, request: Request) -> Response:
        response = HTMLResponse(request.app.state.templates.get_template("welcome.html").render())
        response.set_cookie(self.cookie, self.token or "", httponly=True, samesite="strict", path="/")
        return response

    def _check_token(self, request: Request) -> None:
        # What is static is part of the package, and the page that says no looks better.
        if self.token is None or request.url.path.startswith("/static/"):
            return
        if not self._same(request.cookies.get(self.cookie, "")):
            sentence = "the browser must know the token; got none or another."
            raise HTTPException(401, f"{sentence} Open the link that was printed at the start.")


def _check_csrf(request: Request) -> None:
    """Refuse what a page of another site makes a browser send (cross-site request forgery)."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if request.method in ("GET", "HEAD"):
        # Other sites may link to a page, but not fetch or embed anything.
        foreign = site == "cross-site" and request.headers.get("sec-fetch-mode") != "navigate"
    else:
        known = site in ("same-origin", "none") if site else origin is not None
        foreign = not known or (origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""))
    if foreign:
        sentence = "the request must come from this server's own pages; got another origin. Open the page."
        raise HTTPException(403, sentence)


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


async def _bounded(request: Request, receive: Receive) -> Receive:
    """Refuse a body that is told to be too long, and count what comes: in chunks, it does not tell its length."""
    limit = 0 if request.method != "POST" else MAX_UPLOAD if request.url.path in UPLOADS else MAX_FORM
    sentence = f"the request must have at most {limit / 1e6:g} MB; got more. Save the picture with fewer pixels."
    n_bytes = 0

    async def counted() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > limit:
            raise HTTPException(413, sentence)
        return message

    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) <= limit:
        return counted
    # Browsers listen only after they have sent everything, so some of it is read and forgotten.
    more = request.method == "POST"
    while more and n_bytes < MAX_UPLOAD:
        message = await receive()
        n_bytes += len(message.get("body", b""))
        more = message.get("more_body", False)
    raise HTTPException(413, sentence)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
