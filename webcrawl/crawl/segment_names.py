"""Where a builder keeps what, for those who only look."""

import re

SPIDER = "segments"  # whose state it is: no crawl may go on with it
FOLDER = "segments"  # below the JOBDIR of the first crawl
NAME = re.compile(r"segment-(\d{6,})\.csv(\.new)?")
POOL = "segments.pool"  # the files of the pool, in the state
