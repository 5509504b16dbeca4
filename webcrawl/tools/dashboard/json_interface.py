"""Serves the table of operations to programs: JSON over HTTP, described in OpenAPI 3.1."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

from aiohttp import web

from webcrawl import __version__
from webcrawl.tools.dashboard.operations import Operation, Operations, Refused

CRAWL = {
    "name": "crawl",
    "in": "path",
    "required": True,
    "description": "The id of a crawl, as `crawls` has it.",
    "schema": {"type": "string"},
}


class JsonInterface:
    """Answers the requests of programs. Each operation runs in a thread of the executor."""

    def __init__(self, operations: Operations, executor: Executor, base: str) -> None:
        """The routes are below the path `base`."""
        self._operations = operations
        self._executor = executor
        self._base = base

    def routes(self) -> Iterator[web.RouteDef]:
        yield web.get(f"{self._base}/openapi.json", self._describe)
        for row in self._operations.table.values():
            add = web.post if row.changes else web.get
            yield add(f"{self._base}{path_of(row)}", partial(self._answer, row))

    async def _describe(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(description(self._operations.table.values(), self._base))

    async def _answer(self, row: Operation, request: web.Request) -> web.Response:
        """Return the answer of an operation, or the reason why there is none, as JSON."""
        crawl = request.match_info.get("crawl", "")
        try:
            values = await _body(request) if row.changes else dict(request.query)
            answer = await asyncio.get_running_loop().run_in_executor(
                self._executor, partial(self._operations.answer, row, crawl, values)
            )
        except Refused as error:
            return web.json_response({"error": str(error)}, status=error.status)
        return web.json_response(answer)


async def _body(request: web.Request) -> Mapping[str, Any]:
    """Return the JSON object that a request has as its body. Raise Refused if it has none."""
    try:
        body = await request.json()
    except ValueError as error:
        raise Refused(400, "the body is not JSON") from error
    if not isinstance(body, dict):
        raise Refused(400, "the body must be a JSON object")
    return body


def path_of(row: Operation) -> str:
    """Return the path of an operation. Operations on a crawl are below the crawl's id."""
    return f"/crawls/{{crawl}}/{row.name}" if row.of_crawl else f"/{row.name}"


def description(rows: Iterable[Operation], base: str) -> dict[str, Any]:
    """Return the operations as OpenAPI describes them."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "webcrawl", "version": __version__},
        "servers": [{"url": base}],
        "security": [{"token": []}],
        "paths": {path_of(row): {_method(row): _path_item(row)} for row in rows},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _method(row: Operation) -> str:
    return "post" if row.changes else "get"


def _path_item(row: Operation) -> dict[str, Any]:
    """Return an operation as OpenAPI describes it: its parameters or body, and its responses."""
    item: dict[str, Any] = {
        "operationId": row.name,
        "summary": row.summary,
        "parameters": [CRAWL] if row.of_crawl else [],
        "responses": {
            "200": {"description": "The answer", "content": {"application/json": {}}},
            "default": {
                "description": "The reason why there is none, as `error`",
                "content": {"application/json": {"schema": _schema({"error": {"type": "string"}})}},
            },
        },
    }
    if row.changes:
        body = _schema(row.parameters, row.required)
        item["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
        return item
    for name, schema in row.parameters.items():
        is_required = name in row.required
        item["parameters"].append(
            {"name": name, "in": "query", "required": is_required, "schema": schema}
        )
    return item


def _schema(properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**properties},
        "required": [*required],
        "additionalProperties": False,
    }
