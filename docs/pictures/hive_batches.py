"""How a batch of links goes from one drone to another, and what a kill of the receiver changes."""

from __future__ import annotations

from docs.pictures.draw import WIDE, Picture

SENDER, SERVER, RECEIVER = 120, 380, 640  # the lines of the three
STEP = 34


def drawn() -> str:
    picture = Picture("A batch from drone to drone", 626)
    _heads(picture, 16)
    y = _steps(picture, 84, killed=False)
    picture.path((24, y), (WIDE - 24, y), look="grid")
    picture.text(24, y + 26, "If the receiver is killed before its COMMIT", "strong")
    _steps(picture, y + 56, killed=True)
    return picture.svg()


def _heads(picture: Picture, y: float) -> None:
    picture.box(SENDER - 85, y, 170, 44, "drone A", "found the links")
    picture.box(SERVER - 85, y, 170, 44, "server", "Redis or Valkey")
    picture.box(RECEIVER - 85, y, 170, 44, "drone B", "owns the hosts")


def _steps(picture: Picture, top: float, *, killed: bool) -> float:
    """Draw the exchange; return the height below it."""
    steps = (
        [
            (SERVER, RECEIVER, "XREAD"),
            (RECEIVER, RECEIVER, "kill -9"),
            (RECEIVER, RECEIVER, "next run: place of its checkpoint"),
            (SERVER, RECEIVER, "XREAD, the same batch"),
            (RECEIVER, RECEIVER, "links enter the seen store"),
            (RECEIVER, RECEIVER, "COMMIT: links and place"),
        ]
        if killed
        else [
            (SENDER, SENDER, "page has links to hosts of B"),
            (SENDER, SERVER, "XADD: batch"),
            (SENDER, SENDER, "COMMIT: batch is a row"),
            (SERVER, RECEIVER, "XREAD"),
            (RECEIVER, RECEIVER, "links enter the seen store"),
            (RECEIVER, RECEIVER, "COMMIT: links and place"),
            (RECEIVER, SERVER, "place; stream is trimmed"),
            (SERVER, SENDER, "place, by a heartbeat"),
            (SENDER, SENDER, "next COMMIT deletes the row"),
        ]
    )
    bottom = top + STEP * (len(steps) - 1) + 24
    for line in (SENDER, SERVER, RECEIVER):
        picture.path((line, top - 24), (line, bottom), look="grid")
    for at, (begin, end, words) in enumerate(steps):
        y = top + at * STEP
        if begin != end:
            picture.arrow((begin, y), (end, y))
            picture.text((begin + end) / 2, y - 7, words, anchor="middle")
        else:
            _event(picture, begin, y, words)
    return bottom + 6


def _event(picture: Picture, line: float, y: float, words: str) -> None:
    look = "c1" if "kill" in words else "c0" if "COMMIT" in words else "c2"
    picture.bar(line - 5, y - 9, 10, 10, look)
    if line == RECEIVER:
        picture.text(line - 14, y, words, anchor="end")
    else:
        picture.text(line + 14, y, words)
