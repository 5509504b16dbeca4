"""What can be wrong with a hive, each in one line for its operator."""


class HiveError(Exception):
    """The drone cannot work in this hive, or not with these settings."""


class ForeignMessage(HiveError):  # noqa: N818 - reads as what it is
    """What came by a stream is not of this hive, or is damaged."""
