"""Pages per CPU second of webcrawl and of other crawlers: a table of docs/performance.md."""

from __future__ import annotations

from docs.pictures.draw import Picture
from docs.pictures.tables import number, rows

LEFT, TOP, ROW, LONGEST = 190, 56, 28, 340  # pixels
MISSED = ("wget2", "spider")  # they missed 12 % of the pages, see the text below the table


def drawn() -> str:
    peers = sorted(rows("crawler"), key=lambda row: -number(row[1]))
    picture = Picture("Pages per CPU second of eleven crawlers", TOP + ROW * len(peers) + 40)
    picture.text(16, 26, "Pages per CPU second", "strong")
    picture.text(
        LEFT + 16, 26, "one synthetic web, one core, politeness off; right: the archive", "quiet"
    )
    most = max(number(row[1]) for row in peers)
    for at, (name, speed, _, archive, _) in enumerate(peers):
        y = TOP + at * ROW
        ours = name == "webcrawl"
        star = " *" if name.startswith(MISSED) else ""
        picture.text(LEFT - 10, y + 15, name + star, "strong" if ours else "", "end")
        wide = number(speed) / most * LONGEST
        picture.bar(LEFT, y, round(wide, 1), 20, "c0" if ours else "c2")
        picture.text(LEFT + wide + 8, y + 15, speed, "strong" if ours else "")
        picture.text(744, y + 15, archive, "quiet", "end")
    below = TOP + ROW * len(peers) + 20
    picture.text(16, below, "* missed 12 % of the pages", "quiet")
    return picture.svg()
