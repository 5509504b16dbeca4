"""A stand-in for `scrapy crawl`, which does what its script says: a word per run, the last one from
then on.

It listens to signals as a drone does. Its JOBDIR's parent holds the scripts.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

PATIENCE = 60.0
REASONS = {  # with which runs end at once
    "finish": "finished",
    "empty": "finished",
    "limit": "closespider_pagecount",
    "last-page": "closespider_pagecount",
}


def main(words):
    """Do the next word of the drone's script, with what a real drone would print and leave."""
    given = dict(word.partition("=")[::2] for word in words if "=" in word)
    jobdir = Path(given["JOBDIR"])
    jobdir.mkdir(exist_ok=True)
    script = jobdir.with_name(f"script-{given['HIVE_DRONE']}").read_text().split()
    runs = jobdir / "runs"
    run = len(runs.read_text().split()) if runs.exists() else 0
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopped.append(number))
    signal.signal(signal.SIGUSR1, lambda *_: say("checkpoint"))
    with runs.open("a") as file:
        file.write(f"{os.getpid()}\n")
    (jobdir / "words").write_text(json.dumps(words))
    say("a word to the operator")
    say("2026-11-21 12:00:00 [webcrawl.somewhere] WARNING: all is not well")
    do(script[min(run, len(script) - 1)], jobdir, stopped)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def do(word, jobdir, stopped):
    """Do a word of the script: end at once, or when a signal or the end of patience comes."""
    if word == "refuse":
        sys.exit("SETTING = 1: must be 2")
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while word not in REASONS and not stopped and time.monotonic() < end:
        time.sleep(0.01)
    while word == "deaf" and time.monotonic() < end:
        time.sleep(0.01)
    figures = {
        "reason": REASONS.get(word, "shutdown"),
        "work_left": word != "last-page",
        "pages": 7 * (word != "empty"),
        "queued": 2,
        "failures": 1,
        "bytes": 1000,
        "hosts": 3,
    }
    (jobdir / "stats.json").write_text(json.dumps(figures))
    if word == "fail":
        sys.exit(1)


def say(line):
    # not by sys.stdout: a signal may come in the middle of another line
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
