"""What came of each piece: a line of JSON, written when the piece has ended."""

import json
import os
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Result:
    """The end of one piece; `figures` is what the program printed last, `why` what was wrong."""

    piece: str
    status: int
    begun: str  # ISO 8601
    seconds: float
    commit: str  # with a + if files were changed since
    command: str
    figures: dict = field(default_factory=dict)
    why: str = ""


class Results:
    """A file of results. The last one of a piece counts."""

    def __init__(self, path):
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.all = [Result(**json.loads(line)) for line in lines]

    def add(self, result):
        """Keeps it, whatever happens next."""
        self.all.append(result)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def last(self):
        return {result.piece: result for result in self.all}


def figures_of(output):
    """The last line that is a JSON object; nothing if there is none."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return {}


def why(output):
    """The line that says most about what was wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = [
        line
        for line in lines
        if line.startswith(("WRONG", "FAILED", "AssertionError", "TimeoutError", "E  "))
    ]
    return (found or lines or ["nothing was said"])[-1][:500]
