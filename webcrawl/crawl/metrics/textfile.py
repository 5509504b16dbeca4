"""The metrics as a file for node_exporter's textfile collector."""

from __future__ import annotations

from pathlib import Path


class TextFile:
    """Replaced as a whole, so that nobody reads half of it. Its temporary name does not end in .prom."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, data: bytes) -> None:
        """Raises OSError."""
        new = self.path.with_name(f"{self.path.name}.new")
        new.write_bytes(data)
        new.replace(self.path)

    def remove(self) -> None:
        """Removes the file when the crawl has ended: figures that nobody renews are none."""
        self.path.unlink(missing_ok=True)


def path_of_drone(path: str, drone: int) -> Path:
    """Each drone of a hive has a file of its own: `webcrawl.prom` becomes `webcrawl-3.prom`."""
    whole = Path(path)
    return whole.with_name(f"{whole.stem}-{drone}{whole.suffix}")
