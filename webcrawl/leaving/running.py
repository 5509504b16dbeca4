"""Serves the form until somebody interrupts it, with a network of its own by the rules of the crawl's."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any

from webcrawl.leaving.deciding import Ask, Deciding
from webcrawl.leaving.looking import Looking
from webcrawl.leaving.page import Pages
from webcrawl.leaving.serving import Form
from webcrawl.leaving.token import Tokens
from webcrawl.net.dns_txt import TextRecords
from webcrawl.net.network import Network
from webcrawl.net.robots import agent_of


def run(values: Mapping[str, Any], port: socket.socket, secret: bytes, ask: Ask, say: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM. `values`: the settings, checked. Raises DnsFailed if DNS_NAMESERVERS cannot be used."""
    with port:
        asyncio.run(_serve(values, port, secret, ask, say))


async def _serve(
    values: Mapping[str, Any], port: socket.socket, secret: bytes, ask: Ask, say: Callable[[str], None]
) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    tokens, name = Tokens(secret), agent_of(values)
    network = Network(values, keep_at_most=0)
    try:
        looking = Looking(network.http, TextRecords(values["DNS_NAMESERVERS"]).of)
        deciding = Deciding(tokens, looking, ask, say)
        form = Form(port, Pages(name, values["BOT_FROM"]), tokens, deciding.check)
        await form.start()
        host, number = port.getsockname()[:2]
        say(f"the form for owners: http://{f'[{host}]' if ':' in host else host}:{number}/")
        try:
            await end.wait()
        finally:
            form.close()
    finally:
        await network.close()
