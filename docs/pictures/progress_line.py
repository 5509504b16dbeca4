"""The progress line of a terminal, with a name for each of its numbers."""

from __future__ import annotations

from docs.pictures.draw import MONO, Picture
from webcrawl.crawl.progress import short_line

LEFT, TOP = 40, 112  # pixels
STEP = 25  # pixels between two explanations
FIGURES = {
    "pages": 12_043,
    "queued": 88_120,
    "hosts": 3_000,
    "in_flight": 12,
    "ready": 3,
    "seen/keys": 131_072,
    "failures": 12,
    "bytes": 402_100_000,
}
RATE = 203.1
# each part of the line, how many lines below it its explanation stands (above: negative), and that
NOTES = (
    ("12k pages", 4, "pages that ended with status 2xx"),
    ("203/s", 3, "their rate, over the last 10 seconds"),
    ("queue 88k", 2, "URLs that wait to be fetched"),
    ("12/3/2985", 1, "hosts: active / ready / waiting"),
    ("seen 131k", -1, "different URLs known"),
    ("failed 12", -2, "failed downloads, each attempt"),
    ("402MB", -3, "received"),
)


def drawn() -> str:
    line = short_line(FIGURES, RATE)
    picture = Picture("The progress line, explained", 230)
    picture.text(LEFT, TOP, line, "mono")
    for part, down, words in NOTES:
        begin = line.index(part)
        left, right = LEFT + begin * MONO, LEFT + (begin + len(part)) * MONO
        edge = TOP + 7 if down > 0 else TOP - 17
        end = edge + STEP * down
        picture.path((left, edge), (right, edge), look="curve")
        middle = (left + right) / 2
        picture.path((middle, edge), (middle, end))
        if down > 0:
            picture.text(middle + 7, end + 3, words, "quiet")
        else:
            picture.text(middle - 7, end + 8, words, "quiet", "end")
    return picture.svg()
