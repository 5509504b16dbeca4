"""The health of a host, in the words of `webcrawl why`."""

from __future__ import annotations

from docs.pictures.draw import Picture
from webcrawl.base.settings import DEFAULTS
from webcrawl.store.jobdir.host_row import Health

WIDE, HIGH = 150, 66
DAY = 86_400
BOXES = {
    Health.HEALTHY: (24, 130, "answers"),
    Health.FAILING: (304, 40, "tried after waits"),
    Health.DEFERRED: (586, 40, "URLs on disk"),
    Health.GIVEN_UP: (586, 220, "its URLs end"),
    Health.BLOCKED: (304, 150, "tried after waits"),
    Health.SPENT: (304, 260, "new URLs end"),
}


def drawn() -> str:
    picture = Picture("The health of a host", 346)
    for health in Health:
        x, y, meaning = BOXES[health]
        look = "kept" if health is Health.HEALTHY else ""
        picture.box(x, y, WIDE, HIGH, health.value, meaning, look=look)
    failures, patience = DEFAULTS["HOST_MAX_FAILURES"], DEFAULTS["HOST_PATIENCE"] / DAY

    picture.arrow((90, 130), (90, 62), (304, 62))
    picture.text(100, 54, "a failure", "quiet")
    picture.arrow((304, 88), (140, 88), (140, 130))
    picture.text(150, 106, "an answer", "quiet")
    picture.arrow((454, 73), (586, 73))
    picture.text(520, 65, f"{failures} failures", "quiet", "middle")
    picture.text(520, 92, "in a row", "quiet", "middle")
    picture.arrow((660, 40), (660, 20), (50, 20), (50, 130))
    picture.text(400, 15, "an answer", "quiet", "middle")
    picture.arrow((660, 106), (660, 220))
    picture.text(652, 158, f"away for {patience:g} days", "quiet", "end")
    picture.text(652, 176, "of trying", "quiet", "end")

    picture.arrow((174, 168), (304, 168))
    picture.text(239, 160, "block pages", "quiet", "middle")
    picture.arrow((304, 196), (220, 196), (174, 184))
    picture.text(239, 214, "a page", "quiet", "middle")
    picture.arrow((100, 196), (100, 293), (304, 293))
    picture.text(110, 285, "HOST_MAX_PAGES pages", "quiet")

    picture.arrow((440, 106), (440, 128), (500, 128), (500, 253), (586, 253))
    picture.text(580, 274, "no such name,", "quiet", "end")
    picture.text(580, 292, "looked up twice", "quiet", "end")
    return picture.svg()
