"""The JOBDIR of a crawl that names none."""

from __future__ import annotations

import re

JOB = "_job"  # the spider argument that scrapyd gives with every job: its identifier


def default_jobdir(spider: str, job: str = "") -> str:
    """A folder per spider, and per job of scrapyd: two jobs of one spider may run at the same time.

    Scheduled again under the same `jobid`, a job resumes.
    """
    return f"crawls/{_name(f'{spider}-{job}' if job else spider)}"


def _name(text: str) -> str:
    """Names of spiders and jobs may contain anything; a slash or a leading dot would lead elsewhere."""
    return re.sub(r"^\.|[^\w.+-]", "_", text)
