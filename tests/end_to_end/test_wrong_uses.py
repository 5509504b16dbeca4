"""What a stranger does wrong: each is answered in one clear line, and with an exit status that is
not 0.
"""

import pytest

from tests.support.commands import command

SITE = "http://a.test/"
NO_FOLDER = "nowhere: no such folder"
WRONG = {
    "crawl": "error: URLs or files are needed, or exactly one spider: webcrawl crawl NAME",
    "crawl web -a seeds=empty.txt -o folder": "To name the folder of the crawl, use -s JOBDIR=",
    "crawl -o folder": "error: URLs or files are needed, or exactly one spider: webcrawl crawl NAME",
    "crawl nosuch": "'nosuch': no such spider (this project has walk, web",
    "crawl example.org": "USER_AGENT = 'webcrawl/0.1': must be one that says where you can be reached",
    "crawl web": "no seeds: give -a seeds= a file or a URL, or several separated by commas",
    "crawl web -a seeds=": "no seeds: give -a seeds= a file or a URL, or several separated by commas",
    "crawl web -a seed=x": "-a seed=…: unknown argument; allowed are seeds, scope, limit, since, follow, languages",
    "crawl web -a seeds=missing.txt": "missing.txt: No such file or directory",
    "crawl web -a seeds=empty.txt": "empty.txt: is empty",
    "crawl web -a seeds=folder": "folder: is a directory",
    "crawl ftps://a.test/": "ftps://a.test/: is not a URL that can be fetched (scheme)",
    "crawl http://": "http://: is not a URL that can be fetched (syntax)",
    f"crawl {SITE} web": "error: 'web' is neither a URL nor a file",
    f"crawl {SITE} -a seeds=b.txt": f"{SITE} and -a seeds=b.txt: give the seeds in one place",
    f"crawl {SITE} -a scope": "error: Invalid -a value, use -a NAME=VALUE",
    f"crawl {SITE} -a scope=site": "-a scope=site: must be any, seeds, domain, host",
    f"crawl {SITE} -a limit=0": "-a limit=0: must be a whole number from 1",
    f"crawl {SITE} -a limit=٣": "-a limit=٣: must be a whole number from 1",
    "crawl web web": "error: URLs or files are needed, or exactly one spider: webcrawl crawl NAME",
    f"crawl {SITE} -a since=": "-a since=: must name an earlier crawl: its JOBDIR, an index file "
    "or cdx+http://…",
    f"crawl {SITE} -a since=nowhere": "-a since=nowhere: no such file or folder",
    f"crawl {SITE} --bogus": "error: unknown option --bogus",
    f"crawl {SITE} -O pages.doc": "Unrecognized output format 'doc'. Set a supported one",
    f"crawl {SITE} -o folder:jsonl": "FEEDS: folder: cannot be stored: it is a directory",
    f"crawl {SITE} -s NAME": "error: Invalid -s value, use -s NAME=VALUE",
    f"crawl {SITE} -s POLITENESS_FACTOR=fast": "POLITENESS_FACTOR = 'fast': must be a number from 0 to 100000",
    f"crawl {SITE} -s OUTPUTS=pdf": "or none (unknown: 'pdf')",
    f"crawl {SITE} -s JOBDIR=empty.txt": "(empty.txt is not a folder)",
    f"crawl {SITE} -s PRIVATE_NETWORKS_ALLOWED=localhost": "must be comma-separated networks in CIDR form",
    f"crawl {SITE} -s DNS_NAMESERVERS=nonsense:x": "DNS_NAMESERVERS = 'nonsense:x': must be comma-separated host:port",
    f"crawl {SITE} -s METRICS_PORT=99999": "METRICS_PORT = '99999': must be a port from 1 to 65535, also after",
    f"crawl {SITE} -s URL_FILTERS={{'no.Filter':1}}": "(no.Filter: No module named 'no')",
    f"crawl {SITE} -s BOT_FROM=me@a.test -s URL_FILTERS={{'mine.NoFilter':1}}": "URL_FILTERS: mine.NoFilter: a filter",
    f"crawl {SITE} -s ITEM_PIPELINES={{'no.X':1}}": "(no.X: there is no such module)",
    f"crawl {SITE} -s ITEM_PIPELINES={{'webcrawl.items.Paeg':1}}": "Paeg: the module has no Paeg; did you mean Page?)",
    f"crawl {SITE} -s CONCURRENT_REQUESTS=0": "CONCURRENT_REQUESTS = 0",
    f"crawl {SITE} -s URL_INCLUDE=[": "URL_INCLUDE = '[': must be an RE2 expression",
    f"crawl {SITE} -s HOSTS_FILE=lost": "HOSTS_FILE = 'lost': ",
    f"crawl {SITE} -s REVISIT_POLICY=always": "REVISIT_POLICY = 'always': must be one of none, fixed, ",
    f"crawl {SITE} -s LINK_SOURCES=everything": "LINK_SOURCES = 'everything': must be one or more of a, ",
    f"crawl {SITE} -s PURPOSE=fun": "PURPOSE = 'fun': must be some of archive, search, ",
    f"crawl {SITE} -s BOT_KEY=nokey": "create one with webcrawl identity new",
    "hive web": "no seeds: give -a seeds= a file or a URL, or several separated by commas",
    f"hive web -n x -a seeds={SITE}": "-n x: must be a whole number from 0 ",
    f"crwal {SITE}": "webcrawl has no command crwal: did you mean crawl?",
    "consolidate": "webcrawl has no command consolidate: -h lists all",
    "console": "webcrawl has no command console: -h lists all",
    "-L INFO": "webcrawl has no command INFO: -h lists all",
    "--nolog": "a command comes first: webcrawl -h lists them",
    f"crawl {SITE} -s ITEM_PIPELINES={{a.B:3}}": "ITEM_PIPELINES = {a.B:3}: must be a JSON object, with double quotes",
    "fetch -s EXTENSIONS=[] http://": "EXTENSIONS = []: must be a JSON object, with double quotes: -s 'EXTENSIONS={",
    SITE: f"webcrawl has no command {SITE}: try webcrawl crawl {SITE}",
    "report nowhere": NO_FOLDER,
    "verify nowhere": NO_FOLDER,
    "search nowhere words": NO_FOLDER,
    f"why nowhere {SITE}": NO_FOLDER,
    "why folder": "why JOBDIR URL, or --file URLS",
    "ctl nowhere status": "nowhere: no running crawl accepts commands there",
    "process nowhere": "nowhere: no such file",
    "export wacz nowhere": NO_FOLDER,
    f"hive {SITE}": f"to crawl from it, use: web -a seeds={SITE}",
    "hive empty.txt": "to crawl from it, use: web -a seeds=empty.txt",
    "hive status nowhere": "nowhere: is not a hive: hive.json is missing",
    "check nowhere": "nowhere: no such spider. The files of a crawl are checked by webcrawl verify nowhere",
}
GUESSES = {  # of users of git, docker, kubectl, wget, curl and HTTrack
    "status crawls/a": "try webcrawl ctl crawls/a status",
    "pause crawls/a": "try webcrawl ctl crawls/a pause",
    "exclude crawls/a b.test": "try webcrawl ctl crawls/a exclude b.test",
    "stop": "try webcrawl ctl JOBDIR stop",
    "resume crawls/a": "try webcrawl ctl crawls/a resume after a pause; after a stop, webcrawl crawl",
    "ctl pause crawls/a": "the folder comes first: webcrawl ctl JOBDIR pause",
    "a.test": "try webcrawl crawl a.test",
    "127.0.0.1:8000": "try webcrawl crawl 127.0.0.1:8000",
    "run a.test": "try webcrawl crawl URL|FILE…",
    "ps": "try webcrawl dashboard",
    "logs crawls/a": "try tail -f crawls/a/logs/crawl.log",
    "wacz crawls/a": "try webcrawl export wacz crawls/a",
    "simweb": "try webcrawl lab simweb",
    "resize crawls/a": "try webcrawl hive resize crawls/a",
    "hive stop crawls/a": "orders go by webcrawl ctl JOBDIR",
    "crawl a.test --depth 3": "unknown option --depth: -s URL_MAX_DEPTH=N",
    "crawl a.test -r": "unknown option -r: the whole host of a URL is crawled without it",
    "crawl a.test -P out": "unknown option -P: -o DIR",
    "crawl a.test --wait=2": "unknown option --wait: --delay S",
    "crawl a.test --limit-rate 10k": "unknown option --limit-rate: -s BANDWIDTH_MAX=500kB",
    "crawl a.test --resume": "unknown option --resume: run the same command again, which resumes the crawl",
    "crawl a.test --user-agnet me": "unknown option --user-agnet: did you mean --user-agent?",
    "crawl web -n 4": "a crawl by several processes: webcrawl hive web -n N -a seeds=FILE",
    "completion csh": "usage: webcrawl completion bash|zsh|fish",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_use(tmp_path, words):
    """The last line says what is wrong; above it is nothing but how the command is used."""
    (tmp_path / "empty.txt").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.py").write_text("class NoFilter:\n    pass\n")

    done = command("webcrawl", *words.replace("'", '"').split(" "), cwd=tmp_path)

    *above, last = done.stderr.splitlines()
    assert WRONG[words] in last
    assert done.returncode != 0
    assert not above or above[0].startswith("Usage")


@pytest.mark.parametrize("words", GUESSES)
def test_a_guess(tmp_path, words):
    """What other programs have and webcrawl has not is a wrong command line; the last line says
    what to type instead.
    """
    done = command("webcrawl", *words.split(" "), cwd=tmp_path)

    assert GUESSES[words] in done.stderr.splitlines()[-1]
    assert done.returncode == 2


@pytest.mark.parametrize("words", [["help", "why"], ["version"], ["-V"], ["completion", "bash"]])
def test_a_guess_that_works(tmp_path, words):
    """Help and version can be asked for as other programs have it, and shells complete."""
    done = command("webcrawl", *words, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "webcrawl" in done.stdout
