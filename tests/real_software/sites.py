"""Software of Debian's packages, each served on a port of loopback from a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

DOC = Path("/usr/share/doc")
SHARE = Path("/usr/share")
HANDBOOK = DOC / "debian-handbook/html"
PHP = ("php-cli", "php-xml", "php-mbstring", "php-intl")
MEDIAWIKI = ("mediawiki", "php-sqlite3")
WORDPRESS = ("wordpress", "wordpress-theme-twentytwentythree", "mariadb-server", "php-mysql")
HOST = "127.0.0.1"
PASSWORD = "correct-horse-battery"  # noqa: S105 - of software that lives for a minute
WORDS = ("apple", "birch", "cedar", "daisy", "elder", "fern", "grape", "hazel", "iris", "juniper")
COMMITS = 30
DEADLINE = 120.0  # seconds for a server to answer
TO_END = 20.0  # seconds for a server to end


@dataclass(frozen=True)
class Site:
    """Software that is served. `serve` gets a folder and a port, and says where to begin."""

    name: str
    packages: tuple[str, ...]
    needs: Path  # a file of the package: without it the software is not installed
    serve: Callable[[Path, int, ExitStack], str]


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return one.getsockname()[1]


@contextmanager
def served(site: Site, folder: Path) -> Iterator[str]:
    """Serve the software; yield the URL to begin with."""
    with ExitStack() as stack:
        port = free_port()
        start = site.serve(folder, port, stack)
        _wait_for(start)
        yield start


def _started(stack: ExitStack, *words: object, **more) -> None:
    """Start a server, which ends with the stack."""
    log = stack.enter_context(open(more.pop("log"), "ab"))  # noqa: PTH123, SIM115 - so closed
    command = [str(word) for word in words]
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **more)

    def end() -> None:
        # PHP's workers outlive the process that was started
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(TO_END)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    stack.callback(end)


def _wait_for(url: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + DEADLINE
    while True:
        try:
            with opener.open(url, timeout=DEADLINE):
                return
        except OSError as error:
            if time.monotonic() > deadline or isinstance(error, urllib.error.HTTPError):
                raise
            time.sleep(0.2)


def _run(*words: object, **more) -> str:
    done = subprocess.run(
        [str(word) for word in words], check=False, capture_output=True, text=True, **more
    )
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _files(folder: Path, first: str) -> Callable[[Path, int, ExitStack], str]:
    """Return what serves files of a folder as they are."""

    def serve(scratch: Path, port: int, stack: ExitStack) -> str:
        words = ("-m", "http.server", port, "--bind", HOST, "--directory", folder)
        _started(stack, sys.executable, *words, log=scratch / "server.log")
        return f"http://{HOST}:{port}/{first}"

    return serve


# -- repositories


def _commits(commit: Callable[[int, Path], None], folder: Path) -> None:
    """Make files with a history."""
    for number in range(COMMITS):
        path = folder / WORDS[number % 5] / f"{WORDS[number % 10]}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{WORDS[number % 7]} {number}\n" * (number + 1))
        commit(number, path)


def _hgweb(folder: Path, port: int, stack: ExitStack) -> str:
    repository = folder / "repository"
    _run("hg", "init", repository)

    def commit(number: int, _: Path) -> None:
        _run("hg", "commit", "-A", "-u", "somebody", "-m", f"change {number}", cwd=repository)
        if number % 10 == 9:
            _run("hg", "tag", "-u", "somebody", f"v{number}", cwd=repository)

    _commits(commit, repository)
    _started(stack, "hg", "serve", "-a", HOST, "-p", port, cwd=repository, log=folder / "log")
    return f"http://{HOST}:{port}/"


def _fossil(folder: Path, port: int, stack: ExitStack) -> str:
    checkout, user = folder / "checkout", {**os.environ, "HOME": str(folder), "USER": "somebody"}
    checkout.mkdir()
    _run("fossil", "init", folder / "repository.fossil", env=user)
    _run("fossil", "open", folder / "repository.fossil", cwd=checkout, env=user)

    def commit(number: int, _: Path) -> None:
        _run("fossil", "addremove", cwd=checkout, env=user)
        words = ("commit", "-m", f"change {number}", "--no-warnings")
        _run("fossil", *words, cwd=checkout, env=user)

    _commits(commit, checkout)
    words = ("--localhost", "--port", port, folder / "repository.fossil")
    _started(stack, "fossil", "server", *words, env=user, log=folder / "log")
    return f"http://{HOST}:{port}/"


def _cgit(folder: Path, port: int, stack: ExitStack) -> str:
    repository = folder / "repository"
    author = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    _run("git", "init", "-q", repository)

    def commit(number: int, _: Path) -> None:
        _run("git", "add", "-A", cwd=repository)
        _run("git", *author, "commit", "-q", "-m", f"change {number}", cwd=repository)
        if number % 10 == 9:
            _run("git", "tag", f"v{number}", cwd=repository)

    _commits(commit, repository)
    config = folder / "cgitrc"
    config.write_text(
        "virtual-root=/\ncss=/cgit.css\nenable-index-links=1\n"
        f"repo.url=repository\nrepo.path={repository}/.git\n"
    )
    code = (
        "from twisted.internet import reactor\n"
        "from twisted.web import server, twcgi\n"
        "class Whole(twcgi.CGIScript):\n"
        "    isLeaf = True\n"
        "    def render(self, request):\n"
        "        request.postpath = [one.decode() for one in request.postpath]\n"
        "        return super().render(request)\n"
        "site = server.Site(Whole('/usr/lib/cgit/cgit.cgi'))\n"
        f"reactor.listenTCP({port}, site, interface='{HOST}')\n"
        "reactor.run()\n"
    )
    environment = {**os.environ, "CGIT_CONFIG": str(config)}
    _started(stack, sys.executable, "-c", code, env=environment, log=folder / "log")
    return f"http://{HOST}:{port}/"


# -- PHP


def _php(stack: ExitStack, root: Path, port: int, *words: object, **more: str) -> None:
    environment = {**os.environ, "PHP_CLI_SERVER_WORKERS": "4", **more}
    server = ("php", "-S", f"{HOST}:{port}", "-t", root, *words)
    _started(stack, *server, cwd=root, env=environment, log=root.parent / "log")


def _copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, ignore_dangling_symlinks=True)
    return target


def _dokuwiki(folder: Path, port: int, stack: ExitStack) -> str:
    root = folder / "wiki"
    _copied(SHARE / "dokuwiki", root)
    (root / "inc/preload.php").unlink()  # it leads to the package's own data
    shutil.copytree("/etc/dokuwiki", root / "conf", ignore_dangling_symlinks=True)
    (root / "conf/local.php").write_text(
        "<?php\n$conf['title']='Wiki';$conf['useacl']=0;$conf['savedir']='./data';\n"
    )
    shutil.copytree("/var/lib/dokuwiki/data", root / "data", dirs_exist_ok=True)
    pages = root / "data/pages"
    for number, word in enumerate(WORDS):
        others = "\n".join(f"  * [[{one}]] [[trees:{one}]]" for one in WORDS)
        for page in (pages / f"{word}.txt", pages / "trees" / f"{word}.txt"):
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"====== {word} ======\n{word} {number}\n\n{others}\n")
    (pages / "start.txt").write_text("".join(f"  * [[{word}]]\n" for word in WORDS))
    _php(stack, root, port)
    return f"http://{HOST}:{port}/doku.php"


def _mediawiki(folder: Path, port: int, stack: ExitStack) -> str:
    root = SHARE / "mediawiki"
    words = ("--dbtype", "sqlite", "--dbpath", folder / "data", "--confpath", folder)
    words += ("--server", f"http://{HOST}:{port}", "--scriptpath", "", "--pass", PASSWORD)
    _run("php", root / "maintenance/install.php", *words, "Wiki", "Admin", cwd=folder)
    configured = {**os.environ, "MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
    text = " ".join(f"[[{word.title()}]]" for word in WORDS)
    for title in ("Main Page", *(word.title() for word in WORDS)):
        page = f"{title} is here. {text} [[Category:Trees]]"
        script = root / "maintenance/edit.php"
        _run("php", script, title, input=page, env=configured, cwd=folder)
    (folder / "www").mkdir()
    for one in root.iterdir():
        if one.name != "LocalSettings.php":
            (folder / "www" / one.name).symlink_to(one)
    _php(stack, folder / "www", port, MW_CONFIG_FILE=configured["MW_CONFIG_FILE"])
    return f"http://{HOST}:{port}/index.php/Main_Page"


def _wordpress(folder: Path, port: int, stack: ExitStack) -> str:
    base, root = folder / "base", _copied(SHARE / "wordpress", folder / "www")
    address = folder / "base.sock"
    _run(
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={base}",
        "--auth-root-authentication-method=normal",
    )
    words = (f"--datadir={base}", f"--socket={address}", "--skip-networking", "--user=root")
    _started(stack, "mariadbd", "--no-defaults", *words, log=folder / "base.log")
    deadline = time.monotonic() + DEADLINE
    while not address.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("mariadbd does not answer")
        time.sleep(0.2)
    time.sleep(2)
    _run("mariadb", "-S", address, "-u", "root", "-e", "CREATE DATABASE wordpress")
    names = {"DB_NAME": "wordpress", "DB_USER": "root", "DB_PASSWORD": ""}
    names |= {"DB_HOST": f"localhost:{address}", "DISABLE_WP_CRON": True}
    names["WP_HTTP_BLOCK_EXTERNAL"] = True  # it would ask wordpress.org for news
    defined = "".join(f"define('{name}', {json.dumps(value)});\n" for name, value in names.items())
    (root / "wp-config.php").write_text(
        f"<?php\n{defined}$table_prefix = 'wp_';\n"
        "if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');\n"
        "require_once ABSPATH . 'wp-settings.php';\n"
    )
    _php(stack, root, port)
    start = f"http://{HOST}:{port}/"
    _wait_for(f"{start}wp-admin/install.php")
    given = {"weblog_title": "Trees", "user_name": "admin", "admin_password": PASSWORD}
    given |= {"admin_password2": PASSWORD, "admin_email": "somebody@example.org"}
    data = urllib.parse.urlencode({**given, "pw_weak": "on", "blog_public": "1"}).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{start}wp-admin/install.php?step=2", data) as answer:
        answer.read()
    posts = "".join(
        f"wp_insert_post(['post_title'=>'{word}','post_content'=>'{word} is here.',"
        f"'post_status'=>'publish','tags_input'=>['{WORDS[number % 4]}']]);"
        for number, word in enumerate(WORDS * 3)
    )
    _run("php", "-r", f"require '{root}/wp-load.php'; {posts}", cwd=root)
    return start


def _documents(name: str, package: str, folder: Path, first: str) -> Site:
    return Site(name, (package,), folder, _files(folder, first))


POSTGRESQL = max(DOC.glob("postgresql-doc-*/html"), default=DOC / "postgresql-doc")
SITES = (
    _documents("Apache's manual", "apache2-doc", DOC / "apache2-doc/manual", "en/index.html"),
    _documents("Git's documents", "git-doc", DOC / "git-doc", "index.html"),
    _documents("PostgreSQL's documents", "postgresql-doc", POSTGRESQL, "index.html"),
    _documents("Debian's handbook", "debian-handbook", HANDBOOK, "en-US/index.html"),
    Site("hgweb", ("mercurial",), Path("/usr/bin/hg"), _hgweb),
    Site("Fossil", ("fossil",), Path("/usr/bin/fossil"), _fossil),
    Site("cgit", ("cgit", "git"), Path("/usr/lib/cgit/cgit.cgi"), _cgit),
    Site("DokuWiki", ("dokuwiki", "php-cli", "php-xml"), SHARE / "dokuwiki/doku.php", _dokuwiki),
    Site("MediaWiki", (*MEDIAWIKI, *PHP), SHARE / "mediawiki/index.php", _mediawiki),
    Site("WordPress", (*WORDPRESS, *PHP), SHARE / "wordpress/index.php", _wordpress),
)
