"""What can be wrong with a hive, each in one line for its operator."""


class HiveError(Exception):
    """The drone cannot work in this hive, or not with these settings."""


class ForeignMessage(HiveError):  # noqa: N818 - reads as what it is
    """What came by a stream is not of this hive, or is damaged."""


class Away(Exception):  # noqa: N818 - reads as what it is
    """The server does not answer, or not now: the drone goes on with its own hosts and tries again later."""


class Full(Away):
    """The server takes no more for now. Nothing of the letters was sent: they wait on the sender's disk."""


class NewEpoch(Exception):  # noqa: N818
    """The streams begin anew: what is not acknowledged is to be sent again, and places of the old ones mean nothing."""

    def __init__(self, epoch: str) -> None:
        super().__init__(f"the server's streams begin anew (epoch {epoch})")
        self.epoch = epoch


class LaterMap(Exception):  # noqa: N818
    """A letter was written by a later map of slots than ours: that one has to be known before the letter is read."""

    def __init__(self, generation: int) -> None:
        super().__init__(f"map {generation} of the slots is not known here")
        self.generation = generation
