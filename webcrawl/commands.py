"""Where Scrapy looks for commands: those of `tools` and those of `lab`."""

from pathlib import Path

from scrapy.commands import ScrapyCommand

from webcrawl.base.program import open_missing
from webcrawl.tools.tool_command import ToolCommand

__path__ = [str(Path(__file__).parent / room / "commands") for room in ("tools", "lab")]

open_missing()  # nothing else of this package is run as early
# they run without Scrapy too, and so do not derive from its class
ScrapyCommand.register(ToolCommand)
