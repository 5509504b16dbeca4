"""The reading half of the table of operations for agents, by the Model Context Protocol (`mcp`)."""

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
from webcrawl.base.url_text import host_of
from webcrawl.crawl.checks import SettingError
from webcrawl.library import crawl
from webcrawl.store.errors import StoreError
from webcrawl.tools.dashboard.operations import THEIRS, URL, Operation, Operations, Refused
from webcrawl.urls.canonical import InvalidUrl, canonical

INSTRUCTIONS = f"Crawls of the web: what they have found, and why. {THEIRS}"
LONGEST = 600  # seconds of one crawl
CRAWL = {"crawl": {"type": "string", "description": "The name or id of a crawl.", "default": ""}}


class Budget:
    """Lets an agent crawl these domains, each within a number of pages for this process."""

    def __init__(
        self,
        pages: Mapping[str, int],
        folder: Path,
        settings: Mapping[str, Any],
        served: list[Path],
    ) -> None:
        """`pages`: by domain. `folder`: in which each crawl gets one of its own.

        `served`: the folders that are served, to which it adds those; all are if there are none.
        """
        self._left = {**pages}
        self._folder = folder
        self._settings = settings
        self._served = served
        self._one = threading.Lock()  # two at once could spend the same pages

    def operation(self) -> Operation:
        domains = ", ".join(self._left)
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
                    "maximum": max(self._left.values()),
                },
            },
            of_crawl=False,
            changes=True,
        )

    def crawl(self, *, url: str, pages: int) -> Any:
        """Crawl within the host of the URL. Raise Refused if scope or budget does not allow it."""
        try:
            host = host_of(canonical(url))
        except InvalidUrl as error:
            raise Refused(400, f"{url}: is not a URL: {error.reason}") from error
        domain = next((one for one in self._left if f".{host}".endswith(f".{one}")), None)
        if domain is None:
            allowed = ", ".join(self._left)
            raise Refused(403, f"{host}: may not be crawled; --allow-crawl names {allowed}")
        with self._one:
            if self._left[domain] < pages:
                raise Refused(403, f"{domain}: {self._left[domain]} pages are left of its budget")
            return self._run(url, host, domain, pages)

    def _run(self, url: str, host: str, domain: str, pages: int) -> Any:
        name = f"{host}-{time.strftime('%Y%m%dT%H%M%S')}"
        while (self._folder / name).exists():
            name += "+"  # of the same second
        bounds = {
            "URL_SCOPE": "host",
            "HOST_MAX_PAGES": pages,
            "CLOSESPIDER_PAGECOUNT": 10 * pages,  # with answers that are no pages
            "CLOSESPIDER_TIMEOUT": LONGEST,
        }
        self._left[domain] -= pages  # until it is known how many there were
        outputs = {"OUTPUTS": "warc cdxj index" if find_spec("tantivy") else "warc cdxj"}
        try:
            settings = {**outputs, **self._settings, **bounds}
            running = crawl([url], self._folder / name, settings=settings)
        except (SettingError, TypeError) as error:
            raise Refused(400, str(error)) from error
        if self._served:
            self._served.append(self._folder / name)
        try:
            titles = {page.url: page.title for page in running}
        except (NothingFetched, StoreError) as error:
            raise Refused(502, str(error)) from error
        finally:
            self._left[domain] += max(pages - int(running.stats.get("pages", 0)), 0)
        return {"crawl": name, "pages": titles, "left": self._left[domain]}


class Tools:
    """Answers an agent. Each tool runs in a thread."""

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

    async def _call(self, _: object, asked: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await asyncio.to_thread(self._answer, asked.name, asked.arguments or {})
        except Refused as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        return CallToolResult(content=[TextContent(text=json.dumps(answer, ensure_ascii=False))])

    def _answer(self, name: str, given: Mapping[str, Any]) -> Any:
        row = self._rows.get(name)
        if row is None:
            raise Refused(404, f"{name[:100]}: there are {', '.join(self._rows)}")
        values = {key: value for key, value in given.items() if key != "crawl"}
        return self._operations.answer(row, str(given.get("crawl", "")), values)


def _tool(row: Operation) -> Tool:
    schema = {
        "type": "object",
        "properties": {**(CRAWL if row.of_crawl else {}), **row.parameters},
        "required": row.required,
        "additionalProperties": False,
    }
    hints = ToolAnnotations(read_only_hint=not row.changes, destructive_hint=False)
    return Tool(name=row.name, description=row.says, input_schema=schema, annotations=hints)


def serve(operations: Operations, budget: Budget | None) -> None:
    """Serve one agent over standard input and output, until it closes them."""
    asyncio.run(_serve(Tools(operations, budget).server()))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
