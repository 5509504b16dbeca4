"""The item that pipelines get, under the name that users know."""

from webcrawl.content.page import Page

__all__ = ["Page"]
