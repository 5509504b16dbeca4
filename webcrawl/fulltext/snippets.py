"""The part of a page's text that answers a query best, with the words that were asked for."""

from __future__ import annotations

import tantivy

from webcrawl.fulltext.words import normal, place, prepared

WIDTH = 200  # bytes of the prepared text at most
Range = tuple[int, int]
Snippet = tuple[str, list[Range]]  # a text, and where the words in it begin and end


class Marks:
    """Finds a query's words."""

    def __init__(self, searcher: tantivy.Searcher, query: tantivy.Query, schema: tantivy.Schema) -> None:
        self._schema = schema
        self._generator = tantivy.SnippetGenerator.create(searcher, query, schema, "body")
        self._generator.set_max_num_chars(WIDTH)

    def snippet(self, text: str) -> Snippet:
        """Of a page's text, on one line; its beginning if no word of the query is in it."""
        body = prepared(text)
        text = normal(text)
        found = self._generator.snippet_from_doc(tantivy.Document.from_dict({"body": body}, self._schema))
        fragment = found.fragment()
        if not fragment:
            return " ".join(text[:WIDTH].split()), []
        # tantivy counts bytes of the prepared text
        data = body.encode()
        first = len(data[: found.fragment_range().start].decode())
        inner = fragment.encode()
        start = place(body, first)
        ranges = [
            (
                place(body, first + len(inner[: one.start].decode())) - start,
                place(body, first + len(inner[: one.end].decode())) - start,
            )
            for one in found.highlighted()
        ]
        end = place(body, first + len(fragment))
        return text[start:end].replace("\n", " "), joined(ranges)


def joined(ranges: list[Range]) -> list[Range]:
    """The same ranges without overlaps; those that touch are one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
