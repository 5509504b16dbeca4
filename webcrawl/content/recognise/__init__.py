"""What an answer is, beside what it says: a page, or a wall, a soft 404, a shell and their like (docs/recognise.md)."""

from webcrawl.content.recognise.marks import Marks
from webcrawl.content.recognise.recogniser import DEAD, OTHER, UNKNOWN, Recogniser, is_one_of, recogniser

__all__ = ["DEAD", "OTHER", "UNKNOWN", "Marks", "Recogniser", "is_one_of", "recogniser"]
