"""The synthetic web as a command."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from webcrawl.lab.simweb import read

SETTINGS = {**os.environ, "SCRAPY_SETTINGS_MODULE": "tests.support.simweb_settings"}
PORTS = ["--port", "0", "--dns-port", "0", "--tls-port", "0", "--addresses", "2"]
PIPES = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
MODULE, SCRAPY = (
    [sys.executable, "-m", "webcrawl.lab.simweb"],
    [sys.executable, "-m", "scrapy", "lab", "simweb"],
)


@contextmanager
def started(words, *options):
    """The process, once it is ready, and the line that it printed."""
    process = subprocess.Popen(
        [*words, *PORTS, *options], cwd=ROOT, env=SETTINGS, **PIPES, text=True
    )
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


@pytest.mark.parametrize(("words", "number"), [(MODULE, signal.SIGTERM), (SCRAPY, signal.SIGINT)])
def test_it_serves_until_it_is_told_to_end(tmp_path, words, number):
    """It prints one line when it is ready, ends with status 0 on SIGINT and SIGTERM, and leaves a
    whole log.
    """
    log, seeds = tmp_path / "log.jsonl", tmp_path / "seeds.txt"
    with started(words, "--hosts", "3", "--pages", "9", "--log", log, "--seeds", seeds) as (
        process,
        line,
    ):
        port = re.search(r"http port (\d+)", line)[1]
        with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)) as client:
            client.request("GET", "/", headers={"Host": f"site2.test:{port}"})
            assert client.getresponse().status == 200
        process.send_signal(number)
        rest, errors = process.communicate(timeout=60)

    assert (process.returncode, rest, errors) == (0, "", "")
    assert f"scrapy crawl web -a seeds={seeds} -s DNS_NAMESERVERS=127.0.0.1:" in line
    assert seeds.read_text().splitlines() == [
        f"http://site{host}.test:{port}/" for host in range(3)
    ]
    assert [hit.url for hit in read(log)] == [f"http://site2.test:{port}/"]


def get(line, host="site0.test"):
    """The status of a page of the server that printed this line."""
    return fetched(line, host)[0]


def body(line):
    return fetched(line, "site0.test")[1]


def fetched(line, host):
    port = re.search(r"http port (\d+)", line)[1]
    with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)) as client:
        client.request("GET", "/", headers={"Host": f"{host}:{port}"})
        response = client.getresponse()
        return response.status, response.read()


def test_it_ends_with_its_input_if_asked_to():
    """With --until-eof it stops at the end of standard input, as on SIGTERM, and ignores input
    before that.
    """
    with started(MODULE, "--hosts", "2", "--pages", "2", "--until-eof") as (process, line):
        seeds = Path(re.search(r"seeds=(\S+)", line)[1])
        process.stdin.write("anything\n")
        process.stdin.flush()
        assert get(line) == 200
        process.stdin.close()

        assert process.wait(120) == 0
        assert not seeds.exists()


def test_the_zoo_is_open():
    """With --zoo and --large there are traps and a large site besides the ordinary hosts."""
    with started(MODULE, "--hosts", "1", "--pages", "2", "--zoo", "--large", "9", "--popular") as (
        _,
        line,
    ):
        assert [get(line, f"{name}.test") for name in ("trap0", "trap14", "large0", "trap15")] == [
            200,
            200,
            200,
            421,
        ]


def test_outages_are_planned():
    """With --outage a host fails from the given second on, as the plan says."""
    with started(MODULE, "--hosts", "1", "--pages", "2", "--outage", "0- host_410") as (_, line):
        assert get(line) == 410


def test_otherwise_its_input_means_nothing():
    """Without --until-eof it ignores the end of standard input, like a daemon."""
    with started(MODULE, "--hosts", "2", "--pages", "2") as (process, line):
        process.stdin.close()
        assert get(line) == 200
        process.terminate()

        assert process.wait(120) == 0


def test_seeds_that_nobody_asked_for_go_away():
    """The seed file is temporary and removed at the end, unless --seeds names it."""
    with started(MODULE, "--hosts", "2", "--pages", "2") as (process, line):
        seeds = Path(re.search(r"seeds=(\S+)", line)[1])
        assert len(seeds.read_text().splitlines()) == 2
        process.terminate()
        process.wait(120)

    assert not seeds.exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--hosts", "5", "--pages", "3"],
        ["--size", "big"],
        ["--latency", "nan"],
        ["--latency", "-1"],
        ["--kinds", "what"],
        ["--log", "/nowhere/log"],
        ["--port", "99999"],
        ["--dns-port", "-1"],
        ["--outage", "soon"],
        ["--large", "-1"],
        ["--changes", "-1"],
        ["--changes", "nan"],
        ["--time-scale", "0", "--changes", "1"],
    ],
)
@pytest.mark.parametrize(
    "words", [["webcrawl.lab.simweb"], *in_campaign(["scrapy", "lab", "simweb"])]
)
def test_an_impossible_option_is_one_line_and_status_1(words, options):
    """An impossible option is one line on standard error and exit status 1."""
    done = command(*words, *PORTS, *options, environment=SETTINGS)

    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert options[0] in done.stderr or options[1] in done.stderr


def test_a_port_that_is_taken_is_one_line():
    """A port in use is one line that names the reason."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = command("webcrawl.lab.simweb", *PORTS, "--port", port, environment=SETTINGS)

    assert done.returncode == 1
    assert "in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_pages_change():
    """With --changes pages change, a day of theirs in a second with --time-scale 86400; the root's
    text is another.
    """
    with started(
        MODULE, "--hosts", "1", "--pages", "2", "--changes", "50", "--time-scale", "8640000"
    ) as (_, line):
        assert len({body(line) for _ in range(5)}) > 1
