"""What a newcomer gets wrong: each is answered by one clear line, and an exit status that is not 0."""

import re

import pytest

from tests.support.commands import command

USES = {
    "crawl webb -a seeds=x.txt": r"'webb': no such spider; this project has walk, web",
    "crawl web": r"no seeds: .*-a seeds=FILE or a URL.*",
    "crawl web -a seeds=": r"no seeds: .*-a seeds=FILE or a URL.*",
    "crawl web -a seed=x.txt": r"-a seed=…: unknown argument; allowed are seeds, .*",
    "crawl web -a seeds=none.txt": r"none\.txt: No such file or directory",
    "crawl web -a seeds=shop.test": r"shop\.test: No such file .*\(a host needs its scheme: http://shop\.test\)",
    "crawl web -a seeds=x.txt -a scope=site": r"-a scope=site: must be any, seeds, domain, host",
    "crawl web -a seeds=x.txt -a limit=many": r"-a limit=many: must be a whole number from 1",
    "crawl web -a seeds=x.txt -a since=nowhere": r"-a since=nowhere: no such file or folder",
    "crawl web -a seeds=x.txt -s POLITENESS_FACTOR=fast": r"POLITENESS_FACTOR = 'fast': must be a number from 0 .*",
    "crawl web -a seeds=x.txt -s POLITENESS_POLICY=no.such.Class": r"POLITENESS_POLICY = 'no\.such\.Class': must be .*",
    "crawl web -a seeds=x.txt -s OUTPUTS=pdf": r"OUTPUTS = 'pdf': must be some of warc, cdxj, .*",
    "crawl web -a seeds=x.txt -s CONCURRENT_REQUESTS=0": r".*CONCURRENT_REQUESTS = 0.*",
    "crawl web -a seeds=x.txt -s JOBDIR=/proc/x": r"JOBDIR = /proc/x: cannot be created .*",
    "crawl web -a seeds=x.txt -s PRIVATE_NETWORKS_ALLOWED=home": r"PRIVATE_NETWORKS_ALLOWED = 'home': must be .*CIDR.*",
    "crawl web -a seeds=x.txt -s URL_INCLUDE=[": r"URL_INCLUDE = '\[': must be an RE2 expression.*",
    "crawl web -a seeds=x.txt -s DNS_NAMESERVERS=nowhere:x": r"DNS_NAMESERVERS = 'nowhere:x': must be .*host:port.*",
    "crawl web -a seeds=x.txt -s HOSTS_FILE=lost": r"HOSTS_FILE = 'lost': .*",
    "crawl web -a seeds=x.txt -s REVISIT_POLICY=always": r"REVISIT_POLICY = 'always': must be one of none, fixed, .*",
    "crawl web -a seeds=x.txt -s LINK_SOURCES=everything": r"LINK_SOURCES = 'everything': must be one or more of a, .*",
    "crawl web -a seeds=x.txt -s PURPOSE=fun": r"PURPOSE = 'fun': must be some of archive, search, .*",
    "crawl web -a seeds=x.txt -s BOT_KEY=nokey": r"BOT_KEY = 'nokey': .*scrapy identity new makes one.*",
    "hive web -n x -a seeds=x.txt": r"-n x: must be a whole number from 0 .*",
    "verify nothing": r"nothing: no such folder",
    "report nothing": r"nothing: no such folder",
    "why nothing http://shop.test/": r"nothing: no such folder",
    "export wacz nothing": r"nothing: no such folder",
    "search nothing words": r"nothing/index: no index: a crawl makes one if OUTPUTS names it",
    "process nothing": r"nothing: no such file",
    "ctl nothing status": r"nothing: no crawl is running there, .*",
}
USAGE = {  # with the lines of usage before it
    "verify": r"one folder: scrapy verify JOBDIR",
    "why": r"a folder and a URL: scrapy why JOBDIR URL.*",
    "crawl": r"exactly one spider is needed: .*",
    "crawl web -a seeds": r"Invalid -a value, use -a NAME=VALUE",
}


@pytest.mark.parametrize("words", USES)
def test_one_line_says_what_is_wrong(words, tmp_path):
    """Standard error has the line, and nothing else."""
    (tmp_path / "x.txt").write_text("http://127.0.0.1:9/\n")
    done = command("webcrawl", *words.split(), cwd=tmp_path)

    assert done.returncode in (1, 2)
    assert re.fullmatch(USES[words] + r"\n", done.stderr)


@pytest.mark.parametrize("words", USAGE)
def test_a_missing_word_is_named(words, tmp_path):
    """The last line says what is missing."""
    done = command("webcrawl", *words.split(), cwd=tmp_path)

    assert done.returncode == 2
    assert re.fullmatch(r".*: error: " + USAGE[words], done.stderr.splitlines()[-1])
