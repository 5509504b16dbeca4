"""A stopped crawl, and copies of it to be damaged."""

import shutil

import pytest

from tests.support.jobs import stopped


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    return stopped(tmp_path_factory.mktemp("stopped") / "job")


@pytest.fixture(name="copy")
def _copy(job, tmp_path):
    return shutil.copytree(job, tmp_path / "job")
