"""The head of a page that needs nothing else: its style is in it."""

from __future__ import annotations

from importlib.resources import files

from webcrawl.report.markup import Html, tag


def head(title: str, policy: str) -> Html:
    """`policy`: what the page may load and run."""
    style = Html((files("webcrawl.report") / "assets" / "style.css").read_text(encoding="utf-8"))
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="robots", content="noindex"),
        tag("title", title),
        tag("style", style),
    )
