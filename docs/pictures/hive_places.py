"""One crawl on one core, on one machine, and on several machines."""

from __future__ import annotations

from docs.pictures.draw import Picture

TOP, HIGH = 56, 214  # of the machines' frames
SMALL = (66, 46)  # the size of a drone's box


def drawn() -> str:
    picture = Picture("One crawl on one core, on one machine, on several machines", 340)

    _machine(picture, 20, 150, "one core")
    picture.box(45, 190, 100, 46, "crawl", "JOBDIR", look="kept")
    picture.text(95, 296, "webcrawl crawl web", "quiet", "middle")

    _machine(picture, 190, 210, "one machine")
    picture.box(215, 90, 160, 46, "server", "on a socket")
    for left in (216, 308):
        _drone(picture, left, 190, (left + 33, 136))
    picture.text(295, 296, "webcrawl hive web -n 0", "quiet", "middle")
    picture.text(295, 315, "starts all of it", "quiet", "middle")

    picture.box(500, 8, 160, 46, "server", "private network")
    for left, name in ((420, "machine 1"), (586, "machine 20")):
        picture.bar(left, 112, 154, 158, "frame", round_by=8)
        picture.text(left + 77, 260, name, "quiet", "middle")
        for at, drone in enumerate((left + 8, left + 80)):
            _drone(picture, drone, 190, (520 + 40 * at if left < 500 else 600 + 40 * at, 54))
    picture.text(580, 296, "one webcrawl crawl web per drone,", "quiet", "middle")
    picture.text(580, 315, "with HIVE_… settings", "quiet", "middle")
    return picture.svg()


def _machine(picture: Picture, left: float, wide: float, name: str) -> None:
    picture.bar(left, TOP, wide, HIGH, "frame", round_by=8)
    picture.text(left + wide / 2, 260, name, "quiet", "middle")


def _drone(picture: Picture, left: float, top: float, server: tuple[float, float]) -> None:
    wide, high = SMALL
    picture.box(left, top, wide, high, "drone", "JOBDIR", look="kept")
    picture.path((left + wide / 2, top), server)
