"""Heritrix (Java): https://github.com/internetarchive/heritrix3, with the profile that it makes a
new job of.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from benchmarks.peers.maven import JAVA, maven
from benchmarks.peers.peer import Does, Peer, Web, within
from benchmarks.support.crawling import DNS_PORT

VERSION = "3.13.0"
HOME = f"heritrix-{VERSION}"
PROFILE = "org/archive/crawler/restlet/profile-crawler-beans.cxml"
OVERRIDES = """
metadata.operatorContactUrl=http://site0.test/
disposition.delayFactor=0
disposition.minDelayMs=0
crawlController.pauseAtStart=false
extractorHtml.extractJavascript=false
extractorHtml.ignoreFormActionUrls=true
fetchHttp.useHTTP11=true
fetchHttp.sendConnectionClose=false
"""
NO_REJECTS = '<!-- <property name="listLogicalOr" value="true" /> -->'
REJECTS = """<property name="regexList"><list>
<value>.*/(static|never)/.*</value><value>.*/favicon.ico</value>
</list></property>"""


def _build(folder: Path) -> None:
    if not (folder / HOME).exists():
        artifact = f"org.archive.heritrix:heritrix:{VERSION}:zip:dist"
        maven(folder, "unpack", f"-Dartifact={artifact}", "-DoutputDirectory=.")


def _command(built: Path, work: Path, web: Web) -> list[str]:
    """Write the job, and return the command that runs it."""
    home = built / HOME
    job = work / "jobs/web/crawler-beans.cxml"
    job.parent.mkdir(parents=True)
    job.write_text(_job(home / f"lib/heritrix-engine-{VERSION}.jar", web.seeds.read_text()))
    java = [
        *JAVA,
        f"-Ddns.server=127.0.0.1:{DNS_PORT}",
        f"-Dheritrix.home={work}",
        "-cp",
        f"{home}/lib/*",
    ]
    heritrix = ["org.archive.crawler.Heritrix", "-a", "peer", "-j", str(work / "jobs"), "-r", "web"]
    return within(work, *java, *heritrix)


def _job(engine: Path, seeds: str) -> str:
    """Return the profile, changed so that Heritrix fetches what the others fetch.

    Pictures, scripts, and what could be links in them are left out. Raise ValueError if the profile
    is another one than expected.
    """
    with zipfile.ZipFile(engine) as jar:
        profile = jar.read(PROFILE).decode()
    for old, new in (
        ("##..more?..##", OVERRIDES),
        ("http://example.example/example", seeds),
        (NO_REJECTS, REJECTS),
    ):
        if old not in profile:
            raise ValueError(f"the profile has no {old}")
        profile = profile.replace(old, new)
    return profile


PEERS = (
    Peer(
        "heritrix",
        Does("yes", "WARC, gzip", "scoped, followed", "recovery log", "per host, switched off"),
        _build,
        _command,
        fewer=2,
    ),
)
