"""Why a command is not carried out."""


class CommandError(ValueError):
    """The command, its words or its value cannot be; the message is one line for whoever gave it."""
