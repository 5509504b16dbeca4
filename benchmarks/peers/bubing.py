"""BUbiNG (Java): https://github.com/LAW-Unimi/BUbiNG, one agent, which programs/BubingCrawl.java
starts and stops.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.maven import JAVA, maven
from benchmarks.peers.peer import Does, Peer, Web, need, step, within

VERSION = "0.9.15"
HOME = f"bubing-{VERSION}"
PROGRAMS = Path(__file__).parent / "programs"
# Its own names Sux4J 4.3.0, which was never published. The others are tools of its developers.
DEPENDENCIES = f"""
<dependency><groupId>it.unimi.di.law</groupId><artifactId>bubing</artifactId><version>{VERSION}</version><exclusions>
<exclusion><groupId>it.unimi.dsi</groupId><artifactId>sux4j</artifactId></exclusion>
<exclusion><groupId>net.java.dev.javacc</groupId><artifactId>javacc</artifactId></exclusion>
<exclusion><groupId>org.cyclopsgroup</groupId><artifactId>jmxterm</artifactId></exclusion>
<exclusion><groupId>org.umlgraph</groupId><artifactId>umlgraph</artifactId></exclusion>
</exclusions></dependency>
<dependency><groupId>it.unimi.dsi</groupId><artifactId>sux4j</artifactId><version>5.0.0</version></dependency>
"""
PROPERTIES = r"""
rootDir={root}
seed=file:{seeds}
maxUrls={most}
maxUrlsPerSchemeAuthority={most}
dnsResolverClass=it.unimi.di.law.bubing.frontier.dns.JavaResolver
dnsThreads=4
fetchingThreads=64
parsingThreads=2
fetchFilter=true
scheduleFilter=SchemeEquals(http) and not PathEndsWithOneOf(.css\,.js\,.png)
parseFilter=true
followFilter=true
storeFilter=true
keepAliveTime=10s
schemeAuthorityDelay=0
ipDelay=0
bloomFilterPrecision=1E-8
socketTimeout=60s
connectionTimeout=60s
fetchDataBufferByteSize=200K
cookiePolicy=compatibility
cookieMaxByteSize=2000
userAgent=BUbiNG
robotsExpiration=1d
responseBodyMaxByteSize=2M
digestAlgorithm=MurmurHash3
startPaused=false
workbenchMaxByteSize=128Mi
virtualizerMaxByteSize=128Mi
urlCacheMaxByteSize=64Mi
sieveSize=1Mi
parserSpec=HTMLParser(MurmurHash3)
"""


def _build(folder: Path) -> None:
    need("java", "javac", "mvn")
    if not (folder / HOME).exists():
        maven(folder, "copy-dependencies", f"-DoutputDirectory={HOME}", dependencies=DEPENDENCIES)
    step(folder, "javac", "-cp", f"{HOME}/*", "-d", ".", str(PROGRAMS / "BubingCrawl.java"))


def _command(built: Path, work: Path, web: Web) -> list[str]:
    properties = work / "bubing.properties"
    properties.write_text(
        PROPERTIES.format(root=work / "crawl", seeds=web.seeds, most=10 * web.pages)
    )
    group = f"-Dit.unimi.di.law.bubing.jgroups.configurationFile={PROGRAMS / 'bubing-group.xml'}"
    logging = f"-Dlogback.configurationFile={PROGRAMS / 'bubing-logging.xml'}"
    program = ["-cp", f"{built}:{built / HOME}/*", "BubingCrawl", str(web.pages), str(properties)]
    return within(work, *JAVA, group, logging, *program)


PEERS = (
    Peer(
        "bubing",
        Does("yes", "WARC, gzip", "filtered, followed", "no", "per host, switched off"),
        _build,
        _command,
        fewer=2,
    ),
)
