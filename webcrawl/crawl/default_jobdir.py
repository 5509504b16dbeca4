"""The JOBDIR of a crawl that names none."""

from __future__ import annotations

import re

JOB = "_job"  # the spider argument that scrapyd gives with every job: its identifier


def default_jobdir(spider: str, job: str = "") -> str:
    """Return a folder per spider, and per job of scrapyd: two jobs of a spider may run at once.

    Scheduled again under the same `jobid`, a job resumes.
    """
    return f"crawls/{folder_name(f'{spider}-{job}' if job else spider)}"


def folder_name(text: str) -> str:
    """Return a name without what leads elsewhere in a path, such as a slash or a leading dot."""
    return re.sub(r"^\.|[^\w.+-]", "_", text)
