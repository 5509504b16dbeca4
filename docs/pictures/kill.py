"""What `kill -9` costs: the work since the last checkpoint is done again.

URLs are finished at an even rate here, to show the principle; campaign.svg has real crawls.
"""

from __future__ import annotations

from docs.pictures.draw import Picture
from webcrawl.base.settings import DEFAULTS
from webcrawl.crawl.checkpointing import FIRST_INTERVAL

LEFT, BOTTOM, HIGH, SECOND = 70, 300, 236, 2.15  # pixels
LASTS = 300  # seconds
KILLED, BACK = 165.0, 180.0  # seconds: the kill, and the start of the next run


def drawn() -> str:
    picture = Picture("A kill, and what is repeated", 370)
    interval = DEFAULTS["CHECKPOINT_INTERVAL"]
    before = [FIRST_INTERVAL, *_every(interval, FIRST_INTERVAL, KILLED)]
    after = [BACK + FIRST_INTERVAL, *_every(interval, BACK + FIRST_INTERVAL, LASTS)]
    kept, done = before[-1], KILLED

    picture.path((LEFT, BOTTOM - HIGH), (LEFT, BOTTOM), (LEFT + LASTS * SECOND, BOTTOM))
    picture.text(LEFT - 8, BOTTOM - HIGH - 12, "URLs finished", "quiet", "start")
    for second in range(0, LASTS + 1, 60):
        x = LEFT + second * SECOND
        picture.text(x, BOTTOM + 38, f"{second // 60} min", "quiet", "middle")

    for at in (*before, *after):
        count = at if at < KILLED else kept + at - BACK
        picture.path((_x(at), BOTTOM + 14), (_x(at), _y(count)), look="grid")
        picture.bar(_x(at) - 4, BOTTOM + 6, 8, 8, "c0")

    # what was finished after the checkpoint, and is finished again by the next run
    picture.bar(_x(kept), _y(done), _x(BACK + done - kept) - _x(kept), _y(kept) - _y(done), "lost")
    picture.path((_x(0), _y(0)), (_x(KILLED), _y(done)), look="curve")
    picture.path((_x(KILLED), _y(done)), (_x(KILLED), _y(kept)), look="kill")
    picture.path((_x(BACK), _y(kept)), (_x(LASTS), _y(kept + LASTS - BACK)), look="curve")

    picture.text(_x(KILLED) - 10, _y(done) - 28, "kill -9", "strong", "end")
    picture.text(_x(KILLED) - 10, _y(done) - 10, "back to the checkpoint", "quiet", "end")
    picture.text(_x(BACK) + 8, _y(kept) + 22, "the same command resumes")
    picture.text(_x(BACK) + 8, _y(kept) + 40, "shaded: requested twice", "quiet")
    picture.bar(LEFT, 354, 8, 8, "c0")
    picture.text(
        LEFT + 16,
        363,
        f"a checkpoint: {FIRST_INTERVAL:g} s after each start, then every {interval:g} s (CHECKPOINT_INTERVAL)",
        "quiet",
    )
    return picture.svg()


def _every(interval: float, since: float, until: float) -> list[float]:
    return [since + interval * at for at in range(1, int((until - since) / interval) + 1)]


def _x(second: float) -> float:
    return round(LEFT + second * SECOND, 1)


def _y(urls: float) -> float:
    return round(BOTTOM - urls * HIGH / LASTS, 1)
