"""What an entry in a list of seeds means, by the rules of scrapy-redis: a URL, or JSON of a request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from scrapy import FormRequest, Request, Spider

from webcrawl.adapter.trip import KEY
from webcrawl.model import Link
from webcrawl.seeds.address import seed_url
from webcrawl.seeds.errors import BadLineError

START = "is_start_request"  # Scrapy's mark


class SeedEntries:
    """Makes links and requests of entries."""

    def __init__(self, spider: Spider, encoding: str, longest: int) -> None:
        """`longest`: URL_MAX_LENGTH. A spider's own `make_request_from_data` comes first."""
        self._encoding, self._longest = encoding, longest
        self._own = getattr(spider, "make_request_from_data", None)

    def __repr__(self) -> str:
        return f"<SeedEntries own={self._own is not None}>"

    def read(self, data: bytes) -> Iterator[Link | Request]:
        """What to fetch; BadLineError says why there is nothing."""
        found = [self._own(data)] if self._own is not None else [self._meaning(data)]
        if isinstance(found[0], Iterable):
            found = list(found[0])
        if not found or found[0] is None:
            raise BadLineError("makes no request")
        for one in found:
            if isinstance(one, Request):
                one.meta[START] = True  # through the seen test, although it need not say so: it may come twice
            yield one

    def _meaning(self, data: bytes) -> Link | Request:
        try:
            text = data.decode(self._encoding).strip()
        except UnicodeDecodeError as error:
            raise BadLineError(f"is not {self._encoding}") from error
        if not text.startswith("{"):
            url = seed_url(text, self._longest)
            return Link(url, seed=url)
        try:
            fields = json.loads(text)
            return self._request(fields)
        except (ValueError, TypeError, RecursionError) as error:
            raise BadLineError(f"is no JSON of a request ({error})") from error

    def _request(self, fields: dict[str, Any]) -> Link | Request:
        url = fields.pop("url", None)
        if not isinstance(url, str):
            raise TypeError("no url")
        url = seed_url(url.strip(), self._longest)
        method, meta = str(fields.pop("method", "GET")).upper(), dict(fields.pop("meta", None) or {})
        meta.pop(KEY, None)  # ours
        if not fields and not meta and method == "GET":
            return Link(url, seed=url)
        form = {
            name: [str(one) for one in given] if isinstance(given, list) else str(given)
            for name, given in fields.items()
        }
        return FormRequest(url, method=method, formdata=form, meta=meta, dont_filter=True)
