"""The process that runs one target's campaign for tests.fuzz: an input may kill it."""

import json
import logging
import mmap
import struct
import sys
from pathlib import Path

from tests.fuzzing import campaign
from tests.fuzzing.mutator import LONGEST
from tests.fuzzing.targets import TARGETS

HEAD = struct.Struct("<QQ")  # the input's number and length
ROOM = HEAD.size + LONGEST


def main(name: str, seed: str, seconds: str, notes: str) -> None:
    logging.disable()
    campaign.limit_memory()
    place = Path(notes)
    with place.open("r+b") as file, mmap.mmap(file.fileno(), ROOM) as board:
        count = 0

        def note(data: bytes) -> None:
            nonlocal count
            count += 1
            board[: HEAD.size + len(data)] = HEAD.pack(count, len(data)) + data

        def told(finding: campaign.Finding) -> None:
            print(
                json.dumps(
                    {
                        "kind": finding.kind,
                        "place": finding.place,
                        "told": finding.told,
                        "data": finding.data.hex(),
                    }
                ),
                flush=True,
            )

        runs = campaign.run(TARGETS[name], int(seed), seconds=float(seconds), told=told, note=note)
    print(json.dumps({"runs": runs}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
