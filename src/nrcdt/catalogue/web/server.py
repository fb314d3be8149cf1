"""The server on one's own machine: `nrcdt serve`."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from ...errors import InputError
from ..store import Store
from ..workers import Workers
from .app import LOOPBACK, create_app

EVERYWHERE = ("0.0.0.0", "::", "")
# Open connections; a browser takes six.
MAX_CONNECTIONS = 200


def serve(
    path: Path | str,
    host: str = "127.0.0.1",
    port: int = 8123,
    token: str | None = None,
    *,
    hosts: Sequence[str] = (),
    n_workers: int | None = None,
    say: Callable[[str], object] = print,
) -> None:
    """Serve a catalogue until interrupted.

    Parameters
    ----------
    path : file of the catalogue; one that cannot be written is served for reading
    host : address to listen on; others than this machine itself need a token
    port : 0 for any that is free
    token : secret for browsers; made up where one is needed and none is given
    hosts : further names under which the server may be addressed
    n_workers : processes that read pictures; as many as there are cores if left out
    say : called with the address to open
    """
    token = needed_token(host, token)
    path = Path(path)
    with Store(path) as catalogue, _listening(host, port) as listener:
        catalogue.check_settings()
        with Workers(n_workers) as workers:
            app = create_app(catalogue, workers, token=token, hosts=[*names(host), *hosts])
            for address in _addresses(host, listener.getsockname()[1], token):
                say(address)
            _run(app, listener)


def _run(app: object, listener: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=3,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def needed_token(host: str, token: str | None) -> str | None:
    """Return the token that browsers must show: the one that is given, or a new one where others can reach the address.

    Examples
    --------
    >>> needed_token("127.0.0.1", None), len(needed_token("0.0.0.0", None))
    (None, 43)
    """
    if token is not None and len(token) < 16:
        raise InputError("token", "have at least 16 characters", len(token), "Leave it out and one will be made up.")
    return token or (None if is_loopback(host) else secrets.token_urlsafe(32))


def names(host: str) -> list[str]:
    """Return the names under which a server that listens on an address may be addressed.

    Examples
    --------
    >>> names("127.0.0.1"), names("192.0.2.7")[-1]
    (['127.0.0.1', 'localhost', '::1'], '192.0.2.7')
    """
    if is_loopback(host):
        return list(dict.fromkeys([*LOOPBACK, host]))
    if host not in EVERYWHERE:
        return [*LOOPBACK, host]
    known = [*LOOPBACK, socket.gethostname(), socket.getfqdn()]
    with suppress(OSError):
        known += [str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)]
    return list(dict.fromkeys([*known, *_own_addresses(host)]))


def _own_addresses(host: str) -> list[str]:
    """Addresses from which this machine talks to others, even where its name leads to itself only."""
    found = []
    kinds = [(socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")]
    for family, far in kinds if ":" in host else kinds[:1]:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((far, 9))  # of documentation; nothing is sent
            found.append(str(asking.getsockname()[0]))
    return found


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends at once; else the kernel holds every second packet back for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()  # so that whoever is told the address may come at once, and waits
    except OSError as error:
        listener.close()
        got = f"{host}:{port} ({error.strerror})"
        raise InputError("host and port", "be free", got, "Choose another --port, or 0 for any.") from None
    return listener


def _addresses(host: str, port: int, token: str | None) -> list[str]:
    """Where to go with a browser, the most useful first."""
    shown = [name for name in names(host) if name not in LOOPBACK] if not is_loopback(host) else [host]
    bracketed = [f"[{name}]" if ":" in name else name for name in shown or ["127.0.0.1"]]
    return [f"http://{name}:{port}/" + (f"?token={token}" if token else "") for name in bracketed]
