"""Where Scrapy looks for commands: those of `tools` and those of `lab`."""

from pathlib import Path

__path__ = [str(Path(__file__).parent / room / "commands") for room in ("tools", "lab")]
