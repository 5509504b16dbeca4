"""Why a command is not carried out."""


class CommandError(ValueError):
    """The command, its words or its value cannot be; the message is one line for whoever gave it."""


class NotRunning(Exception):  # noqa: N818 - reads as what it is
    """No crawl listens where it was asked for; the message is one line."""


class NoAnswer(CommandError):  # noqa: N818 - as above
    """The command may be carried out, and may be forgotten: nobody knows."""
