"""Serves crawls to agents by the Model Context Protocol.

Agents get the operations that read, and a tool to crawl if the operator has given them a budget.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from webcrawl import __version__
from webcrawl.base.errors import NothingFetched
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.crawl.checks import SettingError
from webcrawl.library import crawl
from webcrawl.store.errors import StoreError
from webcrawl.tools.dashboard.operations import TEXT_IS_DATA, URL, Operation, Operations, Refused
from webcrawl.urls.canonical import InvalidUrl, canonical

INSTRUCTIONS = f"Crawls of the web: what they have found, and why. {TEXT_IS_DATA}"
MAX_CRAWL_SECONDS = 600
# A crawl may get more answers than pages: redirects and errors are no pages.
ANSWERS_PER_PAGE = 10
CRAWL = {"crawl": {"type": "string", "description": "The name or id of a crawl.", "default": ""}}


class Budget:
    """Lets an agent crawl some domains, each within a number of pages for the life of the process."""

    def __init__(
        self,
        pages_by_domain: Mapping[str, int],
        folder: Path,
        settings: Mapping[str, Any],
        served: list[Path],
    ) -> None:
        """Each crawl gets a folder of its own in `folder`, and these settings.

        `served` are the folders that the agent can read. New crawls are added to it, unless it is
        empty: then the agent can read all.
        """
        self._pages_left = {**pages_by_domain}
        self._folder = folder
        self._settings = settings
        self._served = served
        self._lock = threading.Lock()  # two crawls at once could spend the same pages

    def operation(self) -> Operation:
        """Return the row of the tool `crawl`."""
        domains = ", ".join(self._pages_left)
        return Operation(
            "crawl",
            f"Crawl the site of a URL, which must be of {domains}, and return the new crawl's name.",
            self.crawl,
            {
                "url": URL,
                "pages": {
                    "type": "integer",
                    "description": "Pages at most.",
                    "minimum": 1,
                    "maximum": max(self._pages_left.values()),
                },
            },
            of_crawl=False,
            changes=True,
        )

    def crawl(self, *, url: str, pages: int) -> Any:
        """Crawl the host of a URL, and return the name of the crawl and the titles of its pages.

        Raise Refused if the domain or the budget does not allow it, or nothing could be fetched.
        """
        try:
            host = host_of(canonical(url))
        except InvalidUrl as error:
            raise Refused(400, f"{url}: is not a URL: {error.reason}") from error
        domain = next((name for name in self._pages_left if f".{host}".endswith(f".{name}")), None)
        if domain is None:
            allowed = ", ".join(self._pages_left)
            raise Refused(403, f"{host}: may not be crawled; --allow-crawl names {allowed}")
        with self._lock:
            left = self._pages_left[domain]
            if left < pages:
                raise Refused(403, f"{domain}: its budget has {count(left, 'page')} left")
            return self._run(url, host, domain, pages)

    def _run(self, url: str, host: str, domain: str, pages: int) -> Any:
        """Run a crawl to its end. Pages that it does not fetch go back into the budget."""
        name = f"{host}-{time.strftime('%Y%m%dT%H%M%S')}"
        while (self._folder / name).exists():  # a crawl of the same second
            name += "+"
        bounds = {
            "URL_SCOPE": "host",
            "HOST_MAX_PAGES": pages,
            "CLOSESPIDER_PAGECOUNT": ANSWERS_PER_PAGE * pages,
            "CLOSESPIDER_TIMEOUT": MAX_CRAWL_SECONDS,
        }
        self._pages_left[domain] -= pages
        outputs = {"OUTPUTS": "warc cdxj index" if find_spec("tantivy") else "warc cdxj"}
        try:
            settings = {**outputs, **self._settings, **bounds}
            running = crawl([url], self._folder / name, settings=settings)
        except (SettingError, TypeError) as error:
            raise Refused(400, str(error)) from error
        if self._served:
            self._served.append(self._folder / name)
        try:
            answers = [(page.url, page.status, page.title) for page in running]
        except (NothingFetched, StoreError) as error:
            raise Refused(502, str(error)) from error
        finally:
            fetched = int(running.stats.get("pages", 0))
            self._pages_left[domain] += max(pages - fetched, 0)
        titles = {url: title for url, status, title in answers if 200 <= status < 300}
        return {"crawl": name, "pages": titles, "left": self._pages_left[domain]}


class AgentTools:
    """The tools that an agent can call. Each call runs in a thread."""

    def __init__(self, operations: Operations, budget: Budget | None) -> None:
        self._operations = operations
        reading = [row for row in operations.table.values() if not row.changes]
        rows = [*reading, budget.operation()] if budget is not None else reading
        self._rows = {row.name: row for row in rows}

    def server(self) -> Server[Any]:
        return Server(
            "webcrawl",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, *_: object) -> ListToolsResult:
        return ListToolsResult(tools=[*map(_tool, self._rows.values())])

    async def _call(self, _: object, call: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await asyncio.to_thread(self._answer, call.name, call.arguments or {})
        except Refused as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        return CallToolResult(content=[TextContent(text=json.dumps(answer, ensure_ascii=False))])

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the answer of a tool. Raise Refused with the reason if there is none."""
        row = self._rows.get(name)
        if row is None:
            raise Refused(404, f"{name[:100]}: there are {', '.join(self._rows)}")
        values = {key: value for key, value in arguments.items() if key != "crawl"}
        return self._operations.answer(row, str(arguments.get("crawl", "")), values)


def _tool(row: Operation) -> Tool:
    """Return an operation as the protocol describes it."""
    schema = {
        "type": "object",
        "properties": {**(CRAWL if row.of_crawl else {}), **row.parameters},
        "required": row.required,
        "additionalProperties": False,
    }
    hints = ToolAnnotations(read_only_hint=not row.changes, destructive_hint=False)
    return Tool(name=row.name, description=row.summary, input_schema=schema, annotations=hints)


def serve(operations: Operations, budget: Budget | None) -> None:
    """Serve one agent over standard input and output, until it closes them."""
    asyncio.run(_serve(AgentTools(operations, budget).server()))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
