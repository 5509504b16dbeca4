"""What an answer is, beside what it says: a page, or a wall, a soft 404, a shell and their like (docs/recognise.md)."""

from webcrawl.content.recognise.marks import Marks
from webcrawl.content.recognise.recogniser import Recogniser, is_wall, recogniser

__all__ = ["Marks", "Recogniser", "is_wall", "recogniser"]
